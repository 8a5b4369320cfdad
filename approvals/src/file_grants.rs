//! Answers about files that cover more than equal calls: a file or a directory, for one command or for a time.
//!
//! They are kept in memory only, and apply only where the policy asks by the same rule. They never override a denial,
//! nor a question of another rule.

use std::time::Duration;

use guard_policy::Access;
use tokio::time::Instant;

use super::decision::{Decision, GrantWidth, Span};
use super::question::{
    AskedDirectory, PendingRequest, Process, Question, Reach, Subject, WhichDirectory, WhichFile,
};

/// The maximum number of kept answers of one kind. If there are more, the one that ends first is dropped, or the oldest
/// if none has an end; its calls are asked about again.
pub const MAX_FILE_GRANTS: usize = 1024;

/// The bits that an answer may be for. The right to map code has questions of its own.
const BITS: [Access; 2] = [Access::READ, Access::WRITE];

/// A file that the policy asks about.
#[derive(Clone, Copy, Debug)]
pub struct AskedFile<'a> {
    /// The real path.
    pub path: &'a [u8],
    /// The directories that it is in.
    pub inside: &'a [AskedDirectory],
    /// The rule that asks, as [`Question::rule`] has it.
    pub rule: &'a str,
}

/// An answer for later calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileGrant {
    agent: String,
    session: String,
    rule: String,
    access: Access,
    /// The file that was asked about.
    path: Vec<u8>,
    which: WhichFile,
    /// When the question was asked, in milliseconds since 1970.
    asked_ms: u64,
    /// The directory, if the answer is for all of it.
    directory: Option<AskedDirectory>,
    /// The process id and start time of the command, if the answer is for one.
    command: Option<(i32, u64)>,
    /// When the answer ends. `None` if it lasts as long as the guard.
    pub until: Option<Instant>,
    /// The answer.
    pub decision: Decision,
}

impl FileGrant {
    /// The grant that an answer to a question makes for later calls. `None` if the answer is for these calls only, or
    /// if the question does not offer it.
    pub fn new(request: &PendingRequest, decision: Decision, now: Instant) -> Option<FileGrant> {
        let question = &request.question;
        let (Decision::AllowFor(width, span) | Decision::DenyFor(width, span)) = decision else {
            return None;
        };
        let Subject::File { path, access, .. } = &question.subject else { return None };
        let reach = question.reach.as_ref()?;
        let directory = match width {
            GrantWidth::Narrow => None,
            GrantWidth::Directory => Some(reach.directory.clone()?),
        };
        let command = match span {
            Span::Command => Some(reach.command.as_ref().map(Process::identity)?),
            Span::Session | Span::Minutes(_) => None,
        };
        Some(FileGrant {
            agent: question.agent.clone(),
            session: question.session.clone(),
            rule: question.rule(),
            access: *access,
            path: path.clone(),
            which: question.which,
            asked_ms: request.created_ms,
            directory,
            command,
            until: until(span, now),
            decision,
        })
    }

    /// Whether the answer is for one command.
    pub fn is_for_command(&self) -> bool {
        self.command.is_some()
    }

    /// Whether the answer is for this path and rule, whichever file has the path and whoever uses it.
    fn covers(&self, file: &AskedFile<'_>) -> bool {
        let is_there = || match &self.directory {
            None => self.path == file.path,
            Some(directory) => file.inside.iter().any(|other| is_same(directory, other)),
        };
        self.rule == file.rule && is_there()
    }

    /// Whether the answer is for this question's file and caller.
    fn applies(&self, question: &Question, file: &AskedFile<'_>, reach: &Reach) -> bool {
        // `command` is set only if all processes above the caller are known for certain.
        let is_below = |command: (i32, u64)| {
            let is_it = |process: &Process| process.identity() == command;
            reach.command.is_some() && question.asked_by.iter().any(is_it)
        };
        self.agent == question.agent
            && self.session == question.session
            && self.command.is_none_or(is_below)
            && self.covers(file)
            && (self.directory.is_some() || self.which.is_meant(&question.which, self.asked_ms))
    }

    fn is_same_but_time(&self, other: &FileGrant) -> bool {
        let FileGrant { until, .. } = other;
        FileGrant { until: *until, ..self.clone() } == *other
    }
}

/// When an answer for this span ends.
pub fn until(span: Span, now: Instant) -> Option<Instant> {
    match span {
        Span::Command | Span::Session => None,
        Span::Minutes(minutes) => Some(now + Duration::from_secs(60 * u64::from(minutes.get()))),
    }
}

/// Whether a directory is the one that an answer was for. If that directory did not exist when the question was asked,
/// any directory that the tree has made at its path since then counts.
fn is_same(granted: &AskedDirectory, found: &AskedDirectory) -> bool {
    let is_it = match (granted.which, found.which) {
        (
            WhichDirectory::There { device, inode, born_ms, is_made: _ },
            WhichDirectory::There { device: other_device, inode: other_inode, born_ms: other_born, .. },
        ) => (device, inode, born_ms) == (other_device, other_inode, other_born),
        (WhichDirectory::New, WhichDirectory::There { is_made, .. }) => is_made,
        (_, WhichDirectory::New) => false,
    };
    granted.path == found.path && is_it
}

/// Answers of one kind: those that allow, or those that deny.
#[derive(Debug, Default)]
pub struct FileGrants(Vec<FileGrant>);

impl FileGrants {
    /// Keeps an answer. If the same one is already kept, the later end applies.
    pub fn insert(&mut self, grant: FileGrant) {
        if let Some(known) = self.0.iter_mut().find(|known| known.is_same_but_time(&grant)) {
            known.until = known.until.zip(grant.until).map(|(known, until)| known.max(until));
            return;
        }
        if self.0.len() >= MAX_FILE_GRANTS {
            let ends = |(_, grant): &(usize, &FileGrant)| (grant.until.is_none(), grant.until);
            let first = self.0.iter().enumerate().min_by_key(ends).map(|(at, _)| at);
            first.map(|at| self.0.remove(at));
        }
        self.0.push(grant);
    }

    /// An answer that allows everything that a question asks for. If the bits have different answers, returns the one that
    /// ends first. Call [`FileGrants::forget`] first, as this does not check the time.
    pub fn allowing(&self, question: &Question) -> Option<&FileGrant> {
        let found = self.matching(question)?;
        let each: Option<Vec<&FileGrant>> = found.into_iter().collect();
        each?.into_iter().min_by_key(|grant| (grant.until.is_none(), grant.until))
    }

    /// An answer that denies a part of what a question asks for.
    pub fn denying(&self, question: &Question) -> Option<&FileGrant> {
        self.matching(question)?.into_iter().flatten().next()
    }

    /// For each bit that the question asks for, an answer that is for this bit, if there is one.
    fn matching(&self, question: &Question) -> Option<Vec<Option<&FileGrant>>> {
        let Subject::File { path, access, .. } = &question.subject else { return None };
        let reach = question.reach.as_ref()?;
        let rule = question.rule();
        let file = AskedFile { path, inside: &reach.inside, rule: &rule };
        let answer = |bit: Access| {
            let mut all = self.0.iter().filter(|grant| grant.access.contains(bit));
            all.find(|grant| grant.applies(question, &file, reach))
        };
        Some(BITS.into_iter().filter(|bit| access.contains(*bit)).map(answer).collect())
    }

    /// Whether any kept answer is for writing this file, whichever agent or command it is for.
    pub fn lets_write(&self, file: &AskedFile<'_>) -> bool {
        self.0.iter().any(|grant| grant.access.contains(Access::WRITE) && grant.covers(file))
    }

    /// Whether a rename or a link may give a file a name at which the policy asks about this bit. It may not if an answer
    /// for a directory would then give the file the bit. Removes the answers that are for the new name alone.
    pub fn lets_move(&mut self, bit: Access, old: Option<AskedFile<'_>>, new: AskedFile<'_>) -> bool {
        let gains = |grant: &FileGrant| {
            grant.access.contains(bit) && grant.covers(&new) && !old.is_some_and(|old| grant.covers(&old))
        };
        self.0.retain(|grant| grant.directory.is_some() || !gains(grant));
        !self.0.iter().any(gains)
    }

    /// Keeps only answers for files that the policy still asks about by the same rule.
    pub fn retain(&mut self, asks: impl Fn(&[u8], Access) -> Option<String>) {
        self.0.retain(|grant| asks(&grant.path, grant.access).as_ref() == Some(&grant.rule));
    }

    /// Removes the answers that have ended by `now`.
    pub fn forget(&mut self, now: Instant) {
        self.0.retain(|grant| grant.until.is_none_or(|until| until > now));
    }

    /// Removes all answers.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of kept answers.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
