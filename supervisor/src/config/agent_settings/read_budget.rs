//! How much of settings is read in one go. An earlier run may have left many repositories with long settings, and each write
//! near them waits until they are read.

use std::cell::Cell;

/// How many bytes are read: several of the longest settings.
const MAX_BYTES: u64 = 8 << 20;
/// How many values are looked at, of all settings together: more than a large project has.
const MAX_VALUES: usize = 100_000;

/// How deep values may nest: deeper than anybody writes. The reader calls itself once for each level, on the small
/// stack of a worker.
pub const MAX_NESTING: usize = 64;

/// Why a text is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Values nest deeper than anybody writes.
    Deep,
    /// There are more values than may be looked at.
    Many,
}

/// How many projects in one directory may need all of their budget.
const PROJECTS: usize = 16;

/// What may still be read. Settings beyond it are unread, so their project is closed.
#[derive(Debug)]
pub struct ReadBudget {
    bytes: Cell<u64>,
    values: Cell<usize>,
}

impl Default for ReadBudget {
    fn default() -> ReadBudget {
        ReadBudget { bytes: Cell::new(MAX_BYTES), values: Cell::new(MAX_VALUES) }
    }
}

impl ReadBudget {
    /// For all projects in a directory, each of which has a budget of its own.
    pub fn of_all() -> ReadBudget {
        ReadBudget { bytes: Cell::new(MAX_BYTES * PROJECTS as u64), values: Cell::new(MAX_VALUES * PROJECTS) }
    }

    /// Takes what was used of a project's budget.
    pub fn take_used(&self, project: &ReadBudget) {
        self.take_bytes(MAX_BYTES - project.bytes.get());
        self.values.set(self.values.get().saturating_sub(MAX_VALUES - project.values.get()));
    }

    /// Whether nothing more may be read.
    pub fn is_empty(&self) -> bool {
        self.bytes.get() == 0 || self.values.get() == 0
    }

    /// How many bytes are left.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Takes bytes that were read.
    pub fn take_bytes(&self, count: u64) {
        self.bytes.set(self.bytes.get().saturating_sub(count));
    }

    /// Takes values.
    ///
    /// # Errors
    /// Fewer values are left than `count`. Then the budget is empty.
    pub fn take_values(&self, count: usize) -> Result<(), Beyond> {
        let left = self.values.get().checked_sub(count);
        self.values.set(left.unwrap_or(0));
        left.map(drop).ok_or(Beyond::Many)
    }
}
