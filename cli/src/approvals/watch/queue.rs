//! What waits, of all guards and all that ask on the socket.

use std::collections::BTreeMap;

use guard_approvals::decision::{Decision, GrantWidth};
use guard_approvals::routes::guard_socket::{Approval, QuestionState, Saved};
use guard_approvals::routes::openclaw_socket::{ApprovalRequest, Word};
use tokio::sync::oneshot;

/// Names what waits: who asks, and the id that they gave it. A guard that asks by its own socket and by OpenClaw's is the
/// same process with the same id: one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub pid: u32,
    pub id: String,
}

/// Something that waits.
#[derive(Debug)]
pub struct QueueRow {
    /// What a guard says of it: this holds, where there is also what was asked on the socket.
    pub approval: Option<Approval>,
    /// What was asked on the socket.
    pub asked: Option<ApprovalRequest>,
    /// Milliseconds since 1970.
    pub since_ms: u64,
    /// Another one with each change of what is shown, and never that of another row: an answer is for what was seen.
    pub version: u64,
    connections: BTreeMap<u64, oneshot::Sender<Word>>,
    order: u64,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueChange {
    /// It waits now.
    Appeared(Key),
    /// It does not any more: how it ended, where that is known.
    Ended(Key, String),
}

/// By what way an answer goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerRoute {
    /// The guard is to be told.
    Guard(Decision),
    /// It was answered on the socket.
    Socket,
}

/// Why an answer is not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotAnswer {
    #[error("it does not wait any more")]
    Gone,
    #[error("whoever asks on the socket knows allow-once, allow-always and deny only")]
    NoWord,
    #[error("always is unavailable: {0}")]
    NoAlways(String),
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

    /// One of them.
    pub fn get(&self, key: &Key) -> Option<&QueueRow> {
        self.rows.get(key)
    }

    /// What has changed since this was asked last.
    pub fn changes(&mut self) -> Vec<QueueChange> {
        std::mem::take(&mut self.changes)
    }

    /// A guard says all that waits there.
    pub fn listed(&mut self, guard: u32, approvals: Vec<Approval>) {
        let waits = |id: &String| approvals.iter().any(|approval| approval.id == *id);
        let of_guard = self.rows.iter().filter(|(key, row)| key.pid == guard && row.approval.is_some());
        let gone: Vec<_> = of_guard.map(|(key, _)| key.clone()).filter(|key| !waits(&key.id)).collect();
        gone.into_iter().for_each(|key| self.remove(&key, "ended"));
        approvals.into_iter().for_each(|approval| self.requested(guard, approval));
    }

    /// Something waits in a guard.
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

    /// Something does not wait in a guard any more. Whoever asked the same on the socket is let go without an answer.
    pub fn ended(&mut self, guard: u32, id: &str, state: &QuestionState) {
        self.remove(&Key { pid: guard, id: id.to_owned() }, &how(state));
    }

    /// A guard has gone, with all that waited there. What it asked on the socket waits as long as it is asked.
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

    /// Somebody asks on the socket.
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
            // Others were asked something else under this id: they are not answered by what is shown now.
            row.connections.clear();
            row.asked = Some(asked);
            // What a guard says of it is what is shown.
            if row.approval.is_none() {
                row.version = version;
            }
        }
        row.connections.insert(connection, answer);
    }

    /// A connection has ended.
    pub fn dropped(&mut self, key: &Key, connection: u64) {
        let Some(row) = self.rows.get_mut(key) else { return };
        if row.connections.remove(&connection).is_some()
            && row.connections.is_empty()
            && row.approval.is_none()
        {
            self.remove(key, "withdrawn");
        }
    }

    /// Answers: on the socket at once, or says that a guard is to be told.
    ///
    /// # Errors
    /// Where that cannot be answered; nothing has changed then.
    pub fn answer(&mut self, key: &Key, decision: Decision) -> Result<AnswerRoute, CannotAnswer> {
        let row = self.rows.get_mut(key).ok_or(CannotAnswer::Gone)?;
        row.can(decision)?;
        if row.approval.is_some() {
            return Ok(AnswerRoute::Guard(decision));
        }
        let word = word(decision).ok_or(CannotAnswer::NoWord)?;
        for (_, answer) in std::mem::take(&mut row.connections) {
            // One that has gone needs none.
            let _ = answer.send(word);
        }
        self.remove(key, &decision.to_string());
        Ok(AnswerRoute::Socket)
    }

    /// One that no row has had.
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
    /// Whether it can be answered so.
    ///
    /// # Errors
    /// Why not.
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
            _ => Ok(()),
        }
    }
}

fn word(decision: Decision) -> Option<Word> {
    match decision {
        Decision::AllowOnce => Some(Word::AllowOnce),
        Decision::AllowAlways(GrantWidth::Narrow) => Some(Word::AllowAlways),
        Decision::Deny => Some(Word::Deny),
        Decision::AllowFor(_) | Decision::AllowAlways(GrantWidth::Directory) => None,
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
