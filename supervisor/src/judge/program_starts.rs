//! What is known of the programs that the tree starts, between the question and the start and beyond.

use std::sync::Arc;

use parking_lot::Mutex;

use super::used_entries::UsedEntries;
use crate::config::node_run::{ApprovedStart, RunApproval};
use crate::exec::{ExecLocks, Scripts};
use crate::outside::Outside;

/// The starts of one session.
pub struct ProgramStarts {
    /// One exec of a process at a time.
    pub locks: ExecLocks,
    /// What was approved at OpenClaw's gateway, and has not started yet.
    approved_run: Mutex<RunApproval>,
    /// The scripts that were approved.
    pub scripts: Scripts,
    /// What is known of commands outside the guard.
    pub outside: Arc<Outside>,
    /// The saved entries that have let programs start.
    pub used_entries: UsedEntries,
}

impl Default for ProgramStarts {
    /// No approved run, and no commands outside.
    fn default() -> ProgramStarts {
        ProgramStarts::new(Arc::new(Outside::nothing()), None)
    }
}

impl ProgramStarts {
    /// Starts with what was approved at OpenClaw's gateway before the first program.
    pub fn new(outside: Arc<Outside>, approval: Option<RunApproval>) -> ProgramStarts {
        ProgramStarts {
            locks: ExecLocks::default(),
            approved_run: Mutex::new(approval.unwrap_or_default()),
            scripts: Scripts::default(),
            outside,
            used_entries: UsedEntries::default(),
        }
    }

    /// Takes the approval of the first program. A later start finds no approval, even if this one has failed.
    pub fn take_first(&self) -> Option<ApprovedStart> {
        self.approved_run.lock().first.take()
    }

    /// Whether a later start may have been approved.
    pub fn has_approved_code(&self) -> bool {
        self.approved_run.lock().code.is_some()
    }

    /// Takes the approval of the command in the first program's code, if it is for this start. Returns whether it is.
    pub fn take_approved_code(&self, is_it: impl FnOnce(&ApprovedStart) -> bool) -> bool {
        self.approved_run.lock().code.take_if(|code| is_it(code)).is_some()
    }
}
