//! Disks that stop or disturb a writer.

use std::cell::Cell;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use guard_policy::store::{Added, NewEntry, Store};
use rustix::fs::Mode;
use rustix::process::{Signal, getpid, kill_process};

use crate::approvals_store::directory::Owner;
use crate::approvals_store::disk::{Disk, Kernel};
use crate::approvals_store::{NAME, new_id};

pub fn text(state: &Path) -> String {
    std::fs::read_to_string(state.join(NAME)).expect("a store")
}

pub fn add(store: &mut Store, pattern: &str) -> Added {
    store.add("main", NewEntry::new(pattern).expect("a pattern"), 1, &mut new_id)
}

/// Where in a step a writer is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    Before,
    Within,
    After,
}

pub const MOMENTS: [Moment; 3] = [Moment::Before, Moment::Within, Moment::After];

/// A disk that stops a writer at one step.
pub struct Stopping {
    step: usize,
    moment: Moment,
    is_deadly: bool,
    steps: Cell<usize>,
}

impl Stopping {
    pub fn at(step: usize, moment: Moment, is_deadly: bool) -> Stopping {
        Stopping { step, moment, is_deadly, steps: Cell::new(0) }
    }

    fn stop<T>(&self) -> io::Result<T> {
        if self.is_deadly {
            kill_process(getpid(), Signal::KILL).expect("a signal");
        }
        Err(io::Error::other("stopped by the test"))
    }

    fn step<T>(
        &self,
        half: impl FnOnce() -> io::Result<()>,
        whole: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() != self.step {
            return whole();
        }
        match self.moment {
            Moment::Before => {}
            Moment::Within => half()?,
            Moment::After => drop(whole()?),
        }
        self.stop()
    }
}

fn nothing() -> io::Result<()> {
    Ok(())
}

impl Disk for Stopping {
    fn create(&self, directory: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
        self.step(nothing, || Kernel.create(directory, name))
    }

    fn own(&self, file: &OwnedFd, owner: Owner, mode: Mode) -> io::Result<()> {
        self.step(nothing, || Kernel.own(file, owner, mode))
    }

    fn write(&self, file: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
        self.step(|| Kernel.write(file, &bytes[..bytes.len() / 2]), || Kernel.write(file, bytes))
    }

    fn sync(&self, file: &OwnedFd) -> io::Result<()> {
        self.step(nothing, || Kernel.sync(file))
    }

    fn rename(&self, directory: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
        self.step(nothing, || Kernel.rename(directory, from, to))
    }

    fn sync_directory(&self, directory: BorrowedFd<'_>) -> io::Result<()> {
        self.step(nothing, || Kernel.sync_directory(directory))
    }

    fn remove(&self, directory: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.step(nothing, || Kernel.remove(directory, name))
    }
}

/// A disk on which another writer, which takes no lock, writes during a change.
pub struct Meddled<'a> {
    pub state: &'a Path,
    /// How many more times the other writer writes.
    pub left: Cell<usize>,
}

impl Disk for Meddled<'_> {
    fn write(&self, file: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
        if self.left.get() > 0 {
            self.left.set(self.left.get() - 1);
            let mut theirs = Store::parse("", &text(self.state), &mut new_id).expect("a store").store;
            add(&mut theirs, &format!("/theirs/{}", self.left.get()));
            std::fs::write(self.state.join(NAME), theirs.to_text())?;
        }
        Kernel.write(file, bytes)
    }
}
