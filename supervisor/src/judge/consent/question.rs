//! The question that a human is asked about a held call.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use guard_approvals::{
    Always, AskedFile, AskedHost, Exec, FileChange, Manager, Process, Question, Reach, Repeat, Subject,
    WhichFile,
};
use guard_openclaw::peer::proc::Tid;
use guard_openclaw::peer::process_tree::Tree;
use guard_policy::approval::{AlwaysContext, OnDisk, always, edited_below};
use guard_policy::{Access, Outcome, Policy, Reason, Request, decide};

use super::reach::{command, directories_above, reach};
use super::unusual::unusual;
use crate::caller::Caller;
use crate::config::answered_writes::AnsweredWrites;
use crate::config::known_programs::KnownPrograms;
use crate::config::realpath::Links;
use crate::judge::made_directories::MadeDirectories;
use crate::syscall::number::name;

/// Why "always" is not offered for what would run outside the guard.
const EACH_TIME: &str = "it would run outside the guard, so it is asked about each time";

/// The guard's part of a question.
pub struct Background<'g> {
    /// The policy that asks.
    pub policy: &'g Policy,
    /// The name of the session.
    pub session: &'g str,
    /// The tree of the caller.
    pub tree: &'g Tree,
    /// The directories that the tree has made.
    pub made: &'g MadeDirectories,
    /// The programs that a human has allowed in the project.
    pub known: &'g KnownPrograms,
    /// Where answers are kept, if anybody is asked.
    pub answers: Option<&'g Manager>,
    /// Where answers have let the tree write. The policy in force may not know all of it yet.
    pub written: &'g AnsweredWrites,
}

impl AlwaysContext for Background<'_> {
    fn on_disk(&self, path: &[u8]) -> OnDisk {
        on_disk(path)
    }

    fn leads_through(&self, path: &[u8]) -> Vec<Vec<u8>> {
        Links::default().trail(path)
    }

    fn is_let_write(&self, path: &[u8]) -> bool {
        if self.written.has(path) {
            return true;
        }
        let Some(answers) = self.answers else { return false };
        let verdict = decide(self.policy, &Request::File { path, access: Access::WRITE });
        let rule = verdict.reason.asking();
        let inside = directories_above(self.made, path);
        verdict.outcome == Outcome::Ask
            && answers.lets_write(AskedFile { path, inside: &inside, rule: &rule })
    }
}

impl Background<'_> {
    /// The caller and its ancestors, if all of them are known for certain.
    fn lineage(&self, caller: &Caller<'_>) -> Option<Vec<Process>> {
        let lineage = self.tree.lineage(caller.process().ok()?)?;
        // The caller has not ended meanwhile, so its number was its own all the time.
        caller.check().ok()?;
        Some(lineage.into_iter().map(shown).collect())
    }
}

fn shown(process: procfs::process::Stat) -> Process {
    Process { pid: process.pid, started: process.starttime, name: process.comm }
}

/// A question about an access to a file at a real path, and about the change, if the file would run outside the guard.
pub fn about_file(
    background: &Background<'_>,
    caller: &Caller<'_>,
    (path, access, change): (&[u8], Access, Option<FileChange>),
    reason: &Reason<'_>,
) -> Question {
    let call = name(caller.call().number);
    let subject = Subject::File { path: path.to_vec(), access, call, change };
    let question = about(background, caller, subject, reason, &[Request::File { path, access }]);
    let lineage = background.lineage(caller);
    let reach = reach(background.policy, background.made, (path, access, call), lineage.as_deref());
    // The processes that the question shows also decide how far an answer may reach.
    Question { asked_by: lineage.unwrap_or(question.asked_by), reach, ..question }
}

/// A question about a program. `asked` are the policy queries for the files that need a human, `reason` is the reason
/// for the first.
pub fn about_exec(
    background: &Background<'_>,
    caller: &Caller<'_>,
    exec: Exec,
    reason: &Reason<'_>,
    asked: &[Request<'_>],
) -> Question {
    about(background, caller, Subject::Exec(Box::new(exec)), reason, asked)
}

/// A question about a host that a process wants to reach. `None` if the process is not in the tree any more: then nobody
/// could tell who asks.
pub fn about_host(
    background: &Background<'_>,
    process: Tid,
    host: AskedHost,
    reason: &Reason<'_>,
    always: Always,
) -> Option<Question> {
    let lineage: Vec<_> = background.tree.lineage(process)?.into_iter().map(shown).collect();
    let reach = Reach { command: command(&lineage).cloned(), ..Reach::default() };
    Some(Question {
        agent: background.policy.agent().to_owned(),
        session: background.session.to_owned(),
        subject: Subject::Host(host),
        which: WhichFile::default(),
        asked_by: lineage,
        unusual: Vec::new(),
        reason: reason.clone().into_owned(),
        always,
        edited_below: None,
        repeat: Repeat::Allowed,
        reach: Some(reach),
    })
}

/// A question about a command outside the guard. The answer is for this one call, and is never saved.
pub fn about_outside(
    background: &Background<'_>,
    caller: &Caller<'_>,
    exec: Exec,
    reason: &Reason<'_>,
    asked: &[Request<'_>],
) -> Question {
    let question = about_exec(background, caller, exec, reason, asked);
    Question { always: Always::Never(EACH_TIME.to_owned()), repeat: Repeat::AskedEachTime, ..question }
}

/// What is at a path. It only decides which answers are offered.
fn on_disk(path: &[u8]) -> OnDisk {
    match std::fs::metadata(OsStr::from_bytes(path)) {
        Ok(found) if found.is_dir() => OnDisk::Directory,
        Ok(found) if found.is_file() => OnDisk::File,
        _ => OnDisk::Other,
    }
}

fn about(
    background: &Background<'_>,
    caller: &Caller<'_>,
    subject: Subject,
    reason: &Reason<'_>,
    asked: &[Request<'_>],
) -> Question {
    let Background { policy, session, tree, known, made: _, answers: _, written: _ } = background;
    let pid = caller.process().unwrap_or(caller.tid());
    let asked_by = tree.line(pid).map(shown);
    // For a file, the reason says whether it is asked about each time: `asked` knows neither the content of a git
    // configuration, nor what the tree made itself.
    let is_program = matches!(subject, Subject::Exec(_));
    let each_time = reason.is_persistence()
        || is_program && asked.iter().any(|request| policy.repeats(request) == Repeat::AskedEachTime);
    let inputs: Vec<_> = match &subject {
        Subject::Exec(exec) => exec.inputs.iter().map(|input| input.kind).collect(),
        Subject::File { .. } | Subject::Host(_) => Vec::new(),
    };
    let always = match reason.is_persistence() {
        true => Always::Never(EACH_TIME.to_owned()),
        false => always(policy, asked, background).with_inputs(inputs),
    };
    Question {
        agent: policy.agent().to_owned(),
        session: (*session).to_owned(),
        unusual: unusual(policy, known, &subject),
        subject,
        which: WhichFile::default(),
        asked_by: asked_by.collect(),
        reason: reason.clone().into_owned(),
        edited_below: edited_below(policy, &always),
        always,
        repeat: if each_time { Repeat::AskedEachTime } else { Repeat::Allowed },
        reach: None,
    }
}
