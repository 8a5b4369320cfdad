//! What a human is asked, and who asks.

use std::time::Duration;

use guard_policy::analysis::quoted;
use guard_policy::approval::Saving;
pub use guard_policy::approval::{Always, Repeat};
use guard_policy::{Access, Reason};
use tokio::time::Instant;
use uuid::Uuid;

use super::asked_host::AskedHost;
use super::code_input::CodeInput;
use super::digest::Digest;

/// The id of a held call's question.
pub type Id = Uuid;

/// The maximum length of a question, in bytes. Longer ones are not asked, because nobody could read what they approve.
/// OpenClaw 2026.9.6 has the same limit.
pub const MAX_LEN: usize = 262_144;

/// What a held call wants to do, before anybody is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The agent that makes the call.
    pub agent: String,
    /// The guard's session.
    pub session: String,
    /// The action to approve.
    pub subject: Subject,
    /// Identifies the file, if the question is about one.
    pub which: WhichFile,
    /// The calling process first, then its parents up to the guard.
    pub asked_by: Vec<Process>,
    /// What a human should notice, one remark each: `push --force replaces what others have at the remote`.
    pub unusual: Vec<String>,
    /// Why the call is asked: the rule that applies.
    pub reason: Reason<'static>,
    /// What "always" would save.
    pub always: Always,
    /// The widest directory for which the pattern that "always" saves may be edited. `None` if it may not.
    pub edited_below: Option<String>,
    /// Whether an approval may hold for later calls.
    pub repeat: Repeat,
    /// How far an answer may reach beyond equal calls. `None` for a program, for code, and for a socket.
    pub reach: Option<Reach>,
}

/// How far an answer to a question about a file may reach. For a host, only `command` is set, because the hosts that
/// one command asks about share a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The directory that an answer may cover: the file's directory, the directory that is read, or the one that is
    /// about to be made.
    pub directory: Option<AskedDirectory>,
    /// The directories that the file is in. A directory that is only read counts as being in itself.
    pub inside: Vec<AskedDirectory>,
    /// The command that the caller belongs to: the process below the first process of the session, or that process
    /// itself. `None` if the processes above the caller are not all known for certain.
    pub command: Option<Process>,
}

/// A directory, distinguished from others that get its name later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AskedDirectory {
    /// The real path.
    pub path: Vec<u8>,
    /// Which directory it is.
    pub which: WhichDirectory,
}

/// Identifies the file that has a name, so that no other file is taken for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WhichFile {
    /// The device and inode numbers of the directory that has the name. `None` if it is not known.
    pub directory: Option<(u64, u64)>,
    /// The device and inode numbers of the file. `None` if there is no file.
    pub file: Option<(u64, u64)>,
    /// When the file was made, in milliseconds since 1970. `None` where the file system does not say.
    pub born_ms: Option<u64>,
}

impl WhichFile {
    /// Whether an answer to a question about this file, asked at `asked_ms`, also counts for `now`, the state of the
    /// name now. It does if the name has the same file, no file, or a file made since the question. Any other file is
    /// older than the question and was moved to the name.
    pub fn is_meant(&self, now: &WhichFile, asked_ms: u64) -> bool {
        let is_it = (self.file, self.born_ms) == (now.file, now.born_ms);
        let is_newer = now.born_ms.is_some_and(|born| born >= asked_ms);
        self.directory == now.directory && (is_it || now.file.is_none() || is_newer)
    }
}

/// Which directory has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhichDirectory {
    /// A directory that exists.
    There {
        /// The file system's device number.
        device: u64,
        /// The inode number, which the file system may give out again.
        inode: u64,
        /// When it was made, in milliseconds since 1970. `None` where the file system does not say.
        born_ms: Option<u64>,
        /// Whether the tree has made it.
        is_made: bool,
    },
    /// A directory that the tree is about to make.
    New,
}

/// The action to approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A program is started.
    Exec(Box<Exec>),
    /// A file is accessed.
    File {
        /// The real path.
        path: Vec<u8>,
        /// The kind of access.
        access: Access,
        /// The system call, without its variants: `open`, `unlink`, `rename`.
        call: &'static str,
        /// If the file would run outside the guard: how the call changes it.
        change: Option<FileChange>,
    },
    /// Another host is reached.
    Host(AskedHost),
}

/// How a call changes a file that would run outside the guard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileChange {
    /// What a human is shown, line by line, without control characters.
    pub lines: Vec<String>,
    /// The digest of what the call puts at the file's path, and of what was there before. `None` if the guard cannot
    /// know beforehand what the call puts there.
    pub content: Option<Digest>,
}

/// The start of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// All arguments, from `argv[0]`.
    pub argv: Vec<Vec<u8>>,
    /// The program's file.
    pub executable: Executable,
    /// The script, if the program is an interpreter and the script is bound by content.
    pub script: Option<BoundScript>,
    /// The scripts that interpret that script: first the one in its `#!` line, last the one whose `#!` line names the
    /// program.
    pub through: Vec<BoundScript>,
    /// Other files that may run and that the tree may write: the program's loader, and files among the arguments. If the
    /// program has no script, the guard cannot tell which argument it runs.
    pub files: Vec<BoundScript>,
    /// Other sources from which the program runs code or may do so. Nothing binds their content.
    pub inputs: Vec<CodeInput>,
    /// The real path of the current directory.
    pub cwd: Vec<u8>,
    /// The digest of the whole environment, by [`Digest::of_environment`].
    pub environment: Digest,
    /// The variables that can change what the program does (`LD_PRELOAD=…`), judged by name. Only those that the
    /// command did not inherit from the operator.
    pub program_variables: Vec<Vec<u8>>,
    /// Whether it would run outside the guard.
    pub is_outside: bool,
}

impl Exec {
    /// Returns the notice for a card's first lines, if something runs that nobody is shown.
    pub fn notice(&self) -> Option<String> {
        let notices: Vec<String> = self.inputs.iter().filter_map(CodeInput::notice).collect();
        (!notices.is_empty()).then(|| notices.join("; "))
    }
}

/// A program's file, by path, inode and content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Executable {
    /// The real path.
    pub path: Vec<u8>,
    /// The file system's device number.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
    /// The digest of its content.
    pub sha256: Digest,
}

/// A script, as its interpreter will read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoundScript {
    /// The real path.
    pub path: Vec<u8>,
    /// The digest of its content.
    pub sha256: Digest,
}

/// A process. The start time distinguishes it from a later process with the same pid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub pid: i32,
    /// The start time in clock ticks since boot (field 22 of proc_pid_stat(5)).
    pub started: u64,
    /// The command name.
    pub name: String,
}

impl Process {
    /// The pid and the start time. A process may take another name, and stays the same.
    pub(crate) fn identity(&self) -> (i32, u64) {
        (self.pid, self.started)
    }
}

/// A question with its id and its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    /// The id of the question.
    pub id: Id,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it expires, in milliseconds since 1970. For display only: `deadline` is what counts.
    pub expires_ms: u64,
    /// When it expires if nobody answers.
    pub deadline: Instant,
    /// The question.
    pub question: Question,
}

impl PendingRequest {
    /// Creates a request whose time starts now. The timeout is capped at one year.
    pub fn new(id: Id, question: Question, timeout: Duration, now: Instant, now_ms: u64) -> PendingRequest {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
        let timeout = timeout.min(YEAR);
        PendingRequest {
            id,
            created_ms: now_ms,
            expires_ms: now_ms.saturating_add(timeout.as_millis() as u64),
            deadline: now + timeout,
            question,
        }
    }
}

impl Question {
    /// The rule that asks.
    pub fn rule(&self) -> String {
        self.reason.asking()
    }

    /// The program's arguments as one line; `None` for a file and for a host.
    pub fn command(&self) -> Option<String> {
        match &self.subject {
            Subject::Exec(exec) => Some(command(exec)),
            Subject::File { .. } | Subject::Host(_) => None,
        }
    }

    /// The approximate memory it uses, in bytes.
    pub fn size(&self) -> usize {
        let own = match &self.subject {
            Subject::Exec(exec) => {
                let argv: usize =
                    exec.argv.iter().map(|argument| argument.len() + size_of::<Vec<u8>>()).sum();
                let scripts = exec.script.iter().chain(&exec.through).chain(&exec.files);
                let script: usize = scripts.map(|script| script.path.len() + size_of::<BoundScript>()).sum();
                let program_variables: usize =
                    exec.program_variables.iter().map(|string| string.len() + size_of::<Vec<u8>>()).sum();
                let inputs: usize =
                    exec.inputs.iter().map(|input| input.path.len() + size_of::<CodeInput>()).sum();
                argv + program_variables + exec.cwd.len() + exec.executable.path.len() + script + inputs
            }
            Subject::File { path, change, .. } => {
                let lines = change.iter().flat_map(|change| &change.lines);
                path.len() + lines.map(|line| line.len() + size_of::<String>()).sum::<usize>()
            }
            Subject::Host(host) => {
                let domain = host.domain.as_ref().map_or(0, String::len);
                let by = host.by.to_string().len();
                host.authority.len() + by + domain + size_of_val(host.addresses.as_slice())
            }
        };
        let reason = self.reason.path.len() + self.reason.text.len() + self.reason.rule().len();
        let asked_by: usize =
            self.asked_by.iter().map(|process| process.name.len() + size_of::<Process>()).sum();
        let unusual: usize = self.unusual.iter().map(|remark| remark.len() + size_of::<String>()).sum();
        let always = match &self.always {
            Always::Saves { narrow, directory } => narrow.iter().chain(directory).map(size).sum(),
            Always::Never(why) => why.len(),
        };
        let directories = self.reach.iter().flat_map(|reach| reach.directory.iter().chain(&reach.inside));
        let reach: usize =
            directories.map(|directory| directory.path.len() + size_of::<AskedDirectory>()).sum();
        size_of::<Question>()
            + own
            + reason
            + asked_by
            + unusual
            + always
            + reach
            + self.edited_below.as_ref().map_or(0, String::len)
            + self.agent.len()
            + self.session.len()
    }
}

fn size(saving: &Saving) -> usize {
    let own = match saving {
        Saving::Entry(entry) => entry.pattern.len() + entry.arg_pattern.len(),
        Saving::Rule(rule) => rule.pattern.len(),
        Saving::Origin(origin) => origin.len(),
    };
    size_of::<Saving>() + own
}

/// The program's arguments as one line, cut at a length nobody would read.
fn command(exec: &Exec) -> String {
    const MAX_LINE_LEN: usize = 1024;
    let words: Vec<_> = exec.argv.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let line = quoted(&words);
    match line.char_indices().nth(MAX_LINE_LEN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_for_the_file_and_for_what_is_made_there_later() {
        let which = |directory: u64, file: Option<u64>, born_ms| WhichFile {
            directory: Some((1, directory)),
            file: file.map(|inode| (1, inode)),
            born_ms,
        };
        let asked = which(7, Some(10), Some(500));
        for (now, is_meant) in [
            (asked, true),
            (which(7, None, None), true),
            (which(7, Some(11), Some(1000)), true),
            // This file existed before the question, so it was moved to the name.
            (which(7, Some(11), Some(999)), false),
            (which(7, Some(10), Some(600)), false),
            (which(7, Some(11), None), false),
            (which(8, Some(10), Some(500)), false),
            (which(8, None, None), false),
        ] {
            assert_eq!(asked.is_meant(&now, 1000), is_meant, "{now:?}");
        }
        let free = which(7, None, None);
        assert!(free.is_meant(&which(7, Some(11), Some(1000)), 1000));
        assert!(!free.is_meant(&which(7, Some(11), Some(1)), 1000));
    }
}
