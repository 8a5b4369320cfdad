//! All pending questions, of every guard and of the approvals socket.

use std::collections::BTreeMap;

use guard_approvals::decision::{Decision, GrantWidth};
use guard_approvals::routes::guard_socket::{Approval, QuestionState, Saved};
use guard_approvals::routes::openclaw_socket::{ApprovalRequest, Word};
use tokio::sync::oneshot;

/// Identifies a row: the asking process and the question's id. A guard that asks on its own socket and on
/// OpenClaw's has the same process id and question id on both sockets, so both make one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub pid: u32,
    pub id: String,
}

/// A pending question.
#[derive(Debug)]
pub struct QueueRow {
    /// The question as the guard lists it. It takes precedence over `asked`.
    pub approval: Option<Approval>,
    /// The question as it was asked on the approvals socket.
    pub asked: Option<ApprovalRequest>,
    /// When it was asked, in milliseconds since 1970.
    pub since_ms: u64,
    /// Changes whenever the shown text changes; no two rows ever have the same version. An answer names the
    /// version that the human saw.
    pub version: u64,
    connections: BTreeMap<u64, oneshot::Sender<Word>>,
    order: u64,
}

/// A change of the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueChange {
    /// The question is now pending.
    Appeared(Key),
    /// The question is no longer pending; the text says how it ended.
    Ended(Key, String),
}

/// Where an answer goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerRoute {
    /// Send the decision to the guard.
    Guard(Decision),
    /// The socket's peer has been answered already.
    Socket,
}

/// Why a row cannot be given this answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotAnswer {
    #[error("the question is no longer pending")]
    Gone,
    #[error("the asker on the socket accepts only allow-once, allow-always and deny")]
    NoWord,
    #[error("always is unavailable: {0}")]
    NoAlways(String),
    #[error("that answer is not offered for this question")]
    NotOffered,
}

/// All rows.
#[derive(Debug, Default)]
pub struct Queue {
    rows: BTreeMap<Key, QueueRow>,
    newest: u64,
    versions: u64,
    changes: Vec<QueueChange>,
}

impl Queue {
    /// The rows, the oldest first.
    pub fn rows(&self) -> Vec<(&Key, &QueueRow)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| row.order);
        rows
    }

    /// The row of this key.
    pub fn get(&self, key: &Key) -> Option<&QueueRow> {
        self.rows.get(key)
    }

    /// Returns the changes since the last call.
    pub fn changes(&mut self) -> Vec<QueueChange> {
        std::mem::take(&mut self.changes)
    }

    /// Takes over a guard's complete list.
    pub fn listed(&mut self, guard: u32, approvals: Vec<Approval>) {
        let waits = |id: &String| approvals.iter().any(|approval| approval.id == *id);
        let of_guard = self.rows.iter().filter(|(key, row)| key.pid == guard && row.approval.is_some());
        let gone: Vec<_> = of_guard.map(|(key, _)| key.clone()).filter(|key| !waits(&key.id)).collect();
        gone.into_iter().for_each(|key| self.remove(&key, "ended"));
        approvals.into_iter().for_each(|approval| self.requested(guard, approval));
    }

    /// Adds or updates a question of a guard.
    pub fn requested(&mut self, guard: u32, approval: Approval) {
        let since = approval.created_at_ms;
        let version = self.version();
        let row = self.row(Key { pid: guard, id: approval.id.clone() }, since);
        if row.approval.as_ref() != Some(&approval) {
            row.approval = Some(approval);
            row.since_ms = since;
            row.version = version;
        }
    }

    /// Removes a question of a guard. Connections that asked the same on the socket are closed without an answer.
    pub fn ended(&mut self, guard: u32, id: &str, state: &QuestionState) {
        self.remove(&Key { pid: guard, id: id.to_owned() }, &how(state));
    }

    /// Removes the questions of a guard that has gone. Questions that are also asked on the socket stay while a
    /// connection asks them.
    pub fn gone(&mut self, guard: u32) {
        let keys: Vec<_> = self.rows.keys().filter(|key| key.pid == guard).cloned().collect();
        for key in keys {
            let version = self.version();
            let Some(row) = self.rows.get_mut(&key) else { continue };
            if row.approval.take().is_some() {
                row.version = version;
            }
            if row.connections.is_empty() {
                self.remove(&key, "the guard has ended");
            }
        }
    }

    /// Adds or updates a question that was asked on the socket.
    pub fn asked(
        &mut self,
        key: Key,
        asked: ApprovalRequest,
        connection: u64,
        answer: oneshot::Sender<Word>,
        now_ms: u64,
    ) {
        let version = self.version();
        let row = self.row(key, now_ms);
        if row.asked.as_ref() != Some(&asked) {
            // These connections asked something else under this id: an answer to the new question must not reach them.
            row.connections.clear();
            row.asked = Some(asked);
            // Where the guard lists the question, its description is what is shown.
            if row.approval.is_none() {
                row.version = version;
            }
        }
        row.connections.insert(connection, answer);
    }

    /// Forgets a connection; a question that no one else asks is withdrawn.
    pub fn dropped(&mut self, key: &Key, connection: u64) {
        let Some(row) = self.rows.get_mut(key) else { return };
        if row.connections.remove(&connection).is_some()
            && row.connections.is_empty()
            && row.approval.is_none()
        {
            self.remove(key, "withdrawn");
        }
    }

    /// Answers a row: on the socket at once, or by returning the decision for the guard.
    ///
    /// # Errors
    /// When the row does not permit this answer; the queue is then unchanged.
    pub fn answer(&mut self, key: &Key, decision: Decision) -> Result<AnswerRoute, CannotAnswer> {
        let row = self.rows.get_mut(key).ok_or(CannotAnswer::Gone)?;
        row.can(decision)?;
        if row.approval.is_some() {
            return Ok(AnswerRoute::Guard(decision));
        }
        let word = word(decision).ok_or(CannotAnswer::NoWord)?;
        for (_, answer) in std::mem::take(&mut row.connections) {
            // The connection may have gone.
            let _ = answer.send(word);
        }
        self.remove(key, &decision.to_string());
        Ok(AnswerRoute::Socket)
    }

    /// A version that no row has had.
    fn version(&mut self) -> u64 {
        self.versions += 1;
        self.versions
    }

    fn row(&mut self, key: Key, since_ms: u64) -> &mut QueueRow {
        let (newest, changes) = (&mut self.newest, &mut self.changes);
        self.rows.entry(key).or_insert_with_key(|key| {
            *newest += 1;
            changes.push(QueueChange::Appeared(key.clone()));
            QueueRow {
                approval: None,
                asked: None,
                since_ms,
                version: 0,
                connections: BTreeMap::new(),
                order: *newest,
            }
        })
    }

    fn remove(&mut self, key: &Key, how: &str) {
        if self.rows.remove(key).is_some() {
            self.changes.push(QueueChange::Ended(key.clone(), how.to_owned()));
        }
    }
}

impl QueueRow {
    /// Whether the row permits this decision.
    ///
    /// # Errors
    /// Why the row does not permit it.
    pub fn can(&self, decision: Decision) -> Result<(), CannotAnswer> {
        let Some(approval) = &self.approval else {
            return word(decision).map(drop).ok_or(CannotAnswer::NoWord);
        };
        match (decision, &approval.always) {
            (Decision::AllowAlways(_), Saved::Never { never }) => Err(CannotAnswer::NoAlways(never.clone())),
            (Decision::AllowAlways(GrantWidth::Directory), Saved::Saves { directory, .. })
                if directory.is_empty() =>
            {
                Err(CannotAnswer::NoAlways("there is no wider rule for its directory".to_owned()))
            }
            (Decision::AllowFor(..) | Decision::DenyFor(..), _) if !approval.takes(decision) => {
                Err(CannotAnswer::NotOffered)
            }
            _ => Ok(()),
        }
    }
}

fn word(decision: Decision) -> Option<Word> {
    match decision {
        Decision::AllowOnce => Some(Word::AllowOnce),
        Decision::AllowAlways(GrantWidth::Narrow) => Some(Word::AllowAlways),
        Decision::Deny => Some(Word::Deny),
        Decision::AllowFor(..) | Decision::DenyFor(..) | Decision::AllowAlways(GrantWidth::Directory) => None,
    }
}

fn how(state: &QuestionState) -> String {
    match state {
        QuestionState::Pending => "pending".to_owned(),
        QuestionState::Resolved { decision, .. } => decision.clone(),
        QuestionState::Expired => "expired".to_owned(),
        QuestionState::NoRoute => "no route".to_owned(),
        QuestionState::Failed => "not asked".to_owned(),
        QuestionState::Withdrawn => "withdrawn".to_owned(),
    }
}
