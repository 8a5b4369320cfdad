//! What a human is asked, and by whom.

use std::time::Duration;

use guard_policy::analysis::quoted;
use guard_policy::approval::Saving;
pub use guard_policy::approval::{Always, Repeat};
use guard_policy::{Access, Reason};
use tokio::time::Instant;
use uuid::Uuid;

use super::digest::Digest;

/// The name of a held call's question.
pub type Id = Uuid;

/// A longer question is not asked: nobody could read what they approve. In bytes, as OpenClaw 2026.9.6 limits what it
/// shows.
pub const MAX_LEN: usize = 262_144;

/// What a held call wants, before anybody is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// For which agent.
    pub agent: String,
    /// The session of the guard.
    pub session: String,
    /// What would be done.
    pub subject: Subject,
    /// Who asks: the caller first, then its parents up to the guard.
    pub asked_by: Vec<Process>,
    /// The rule that was missed.
    pub because: Reason<'static>,
    /// What "always" would save.
    pub always: Always,
    /// Whether a yes may hold for later calls.
    pub repeat: Repeat,
}

/// What would be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A program starts.
    Exec(Box<Exec>),
    /// A file is used.
    File {
        /// The real path.
        path: Vec<u8>,
        /// How.
        access: Access,
        /// By which system call, without its forms: `open`, `unlink`, `rename`.
        call: &'static str,
    },
}

/// The start of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// All arguments, from `argv[0]`.
    pub argv: Vec<Vec<u8>>,
    /// The file.
    pub executable: Executable,
    /// Where the program is an interpreter and its script is bound by content: the script.
    pub script: Option<BoundScript>,
    /// The scripts that interpret that one, from the one that its first line names to the one that names the program.
    pub through: Vec<BoundScript>,
    /// The real path of the current directory.
    pub cwd: Vec<u8>,
    /// Of the whole environment, by [`Digest::of_environment`].
    pub environment: Digest,
    /// What of it can make another program of this one (`LD_PRELOAD=…`), as far as the names tell: what no command
    /// inherits from the operator, and which somebody has set since.
    pub telling: Vec<Vec<u8>>,
}

/// A program's file, as it was found and as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Executable {
    /// The real path.
    pub path: Vec<u8>,
    /// The file system's device number.
    pub device: u64,
    /// The file's number there.
    pub inode: u64,
    /// Of its content.
    pub sha256: Digest,
}

/// A script, as its interpreter will read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoundScript {
    /// The real path.
    pub path: Vec<u8>,
    /// Of its content.
    pub sha256: Digest,
}

/// A process, as long as it lives: pids are used again, with another start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// Field 22 of proc_pid_stat(5).
    pub started: u64,
    /// Its command name.
    pub name: String,
}

/// A question with its name and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    /// Its name.
    pub id: Id,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// Milliseconds since 1970; for people. What counts is `deadline`.
    pub expires_ms: u64,
    /// When it ends without an answer.
    pub deadline: Instant,
    /// What is asked.
    pub question: Question,
}

impl PendingRequest {
    /// A request that begins now. A time longer than a year is a year.
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
    /// The program's arguments as a line; None for a file.
    pub fn command(&self) -> Option<String> {
        match &self.subject {
            Subject::Exec(exec) => Some(command(exec)),
            Subject::File { .. } => None,
        }
    }

    /// What it takes in memory, about.
    pub fn size(&self) -> usize {
        let own = match &self.subject {
            Subject::Exec(exec) => {
                let argv: usize =
                    exec.argv.iter().map(|argument| argument.len() + size_of::<Vec<u8>>()).sum();
                let scripts = exec.script.iter().chain(&exec.through);
                let script: usize = scripts.map(|script| script.path.len() + size_of::<BoundScript>()).sum();
                let telling: usize =
                    exec.telling.iter().map(|string| string.len() + size_of::<Vec<u8>>()).sum();
                argv + telling + exec.cwd.len() + exec.executable.path.len() + script
            }
            Subject::File { path, .. } => path.len(),
        };
        let because = self.because.path.len() + self.because.text.len() + self.because.rule().len();
        let asked_by: usize =
            self.asked_by.iter().map(|process| process.name.len() + size_of::<Process>()).sum();
        let always = match &self.always {
            Always::Saves { narrow, directory } => narrow.iter().chain(directory).map(size).sum(),
            Always::Never(why) => why.len(),
        };
        size_of::<Question>() + own + because + asked_by + always + self.agent.len() + self.session.len()
    }
}

fn size(saving: &Saving) -> usize {
    let own = match saving {
        Saving::Entry(entry) => entry.pattern.len() + entry.arg_pattern.len(),
        Saving::Rule(rule) => rule.pattern.len(),
    };
    size_of::<Saving>() + own
}

/// A program's arguments as a line, cut where nobody would read on.
fn command(exec: &Exec) -> String {
    const MAX_LINE_LEN: usize = 1024;
    let words: Vec<_> = exec.argv.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let line = quoted(&words);
    match line.char_indices().nth(MAX_LINE_LEN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
