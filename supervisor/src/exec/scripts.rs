//! Scripts that were approved by what they hold: their interpreters get just that.
//!
//! The kernel starts an interpreter, and the interpreter opens the script by its name, later. Whatever stands there by
//! then, a program for which a human has approved a script reads what was approved, from a sealed copy: by that name, by
//! the script's real path, and where it is that file. An interpreter that follows links by itself before it opens
//! anything (node) finds what they lead to by then; that is another file to the policy, too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use super::verify::Identity;
use crate::approval::Digest;
use crate::caller::Caller;
use crate::kernel::{Tid, errno};
use crate::resolve::{Object, link_to};
use crate::tree::Tree;

/// A longer script is approved by what it holds, and its interpreter opens what is there.
pub const LONGEST: u64 = 64 << 20;
/// What all copies may take. Beyond that no script is approved.
const MOST: u64 = 512 << 20;

/// A script as an interpreter is told of it.
#[derive(Debug)]
pub struct Named {
    /// The real path.
    pub path: Vec<u8>,
    /// The name that the interpreter opens.
    pub written: Vec<u8>,
    /// From where, if it is relative.
    pub cwd: Identity,
    /// The script.
    pub file: File,
}

/// A script and the copy of what it held.
#[derive(Debug)]
pub struct Copied {
    file: Identity,
    path: Vec<u8>,
    written: Vec<u8>,
    cwd: Identity,
    length: u64,
    copy: File,
}

/// The copies for one process.
#[derive(Debug)]
struct Process {
    /// Field 22 of proc_pid_stat(5): another process with the same number has another.
    started: u64,
    copies: Vec<Copied>,
}

/// The copies that are to be read, for whom.
#[derive(Debug, Default)]
pub struct Scripts(Mutex<HashMap<Tid, Process>>);

impl Copied {
    /// Copies a script, if it holds what was approved.
    ///
    /// # Errors
    /// EACCES when it holds something else; the kernel's; ESRCH when the caller is gone.
    pub fn of(caller: &Caller<'_>, script: Named, approved: Digest) -> Result<Copied, Errno> {
        let Named { path, written, cwd, file: script } = script;
        let file = Identity::of(&rustix::fs::fstat(&script)?);
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut copy = File::from(memfd_create(c"script", flags)?);
        let source =
            rustix::fs::open(link_to(script.as_fd()), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        // One that grows meanwhile is another one.
        let length =
            std::io::copy(&mut File::from(source).take(LONGEST), &mut copy).map_err(errno::from_io)?;
        copy.flush().map_err(errno::from_io)?;
        fcntl_add_seals(&copy, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
        if Digest::of_file(&copy, || caller.check())? != approved {
            return Err(Errno::ACCESS);
        }
        Ok(Copied { file, path, written, cwd, length, copy })
    }
}

impl Scripts {
    /// The caller's process is to read the copy wherever it opens that file to read.
    ///
    /// # Errors
    /// ESRCH when it is gone; ENOMEM when the copies take too much.
    pub fn bind(&self, caller: &Caller<'_>, tree: &Tree, copied: Copied) -> Result<(), Errno> {
        let process = caller.status()?.tgid;
        let started = started(tree, process).ok_or(Errno::SRCH)?;
        caller.check()?;
        let mut processes = self.processes();
        processes.retain(|process, known| self::started(tree, *process) == Some(known.started));
        let held: u64 = processes.values().flat_map(|known| &known.copies).map(|copied| copied.length).sum();
        if held + copied.length > MOST {
            return Err(Errno::NOMEM);
        }
        let known = processes.entry(process).or_insert(Process { started, copies: Vec::new() });
        known.copies.retain(|other| other.file != copied.file);
        known.copies.push(copied);
        Ok(())
    }

    /// What the caller reads instead of this file, open anew: the file itself, or one that has taken its place.
    ///
    /// # Errors
    /// The kernel's; ESRCH when the caller is gone.
    pub fn instead(
        &self,
        caller: &Caller<'_>,
        tree: &Tree,
        object: &Object,
        path: &[u8],
    ) -> Result<Option<Object>, Errno> {
        let identity = Identity::of(&object.stat);
        let found = self.find(caller, tree, |copied| copied.file == identity || copied.path == path)?;
        found.map(|(_, copy)| copy).map_or(Ok(None), |copy| Object::of(copy).map(Some))
    }

    /// What the caller reads by the name under which its script was approved, wherever that leads by now; with the real
    /// path that it had then.
    ///
    /// # Errors
    /// As [`Scripts::instead`].
    pub fn by_name(
        &self,
        caller: &Caller<'_>,
        tree: &Tree,
        dirfd: i32,
        written: &[u8],
    ) -> Result<Option<(Vec<u8>, Object)>, Errno> {
        if self.processes().is_empty() || !(written.starts_with(b"/") || dirfd == libc::AT_FDCWD) {
            return Ok(None);
        }
        let here = Identity::of(&rustix::fs::fstat(caller.directory(libc::AT_FDCWD)?)?);
        let is_named =
            |copied: &Copied| copied.written == written && (written.starts_with(b"/") || copied.cwd == here);
        let found = self.find(caller, tree, is_named)?;
        found.map_or(Ok(None), |(path, copy)| Ok(Some((path, Object::of(copy)?))))
    }

    /// The first of the caller's copies that is meant: its real path, and the copy open anew.
    fn find(
        &self,
        caller: &Caller<'_>,
        tree: &Tree,
        is_meant: impl Fn(&Copied) -> bool,
    ) -> Result<Option<(Vec<u8>, OwnedFd)>, Errno> {
        let processes = self.processes();
        // Most opens are of something else: then nothing need be known of the caller.
        if !processes.values().flat_map(|known| &known.copies).any(&is_meant) {
            return Ok(None);
        }
        let process = caller.status()?.tgid;
        let Some(known) = processes.get(&process) else { return Ok(None) };
        let Some(copied) = known.copies.iter().find(|copied| is_meant(copied)) else { return Ok(None) };
        if started(tree, process) != Some(known.started) {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let copy = rustix::fs::open(link_to(copied.copy.as_fd()), flags, Mode::empty())?;
        Ok(Some((copied.path.clone(), copy)))
    }

    fn processes(&self) -> MutexGuard<'_, HashMap<Tid, Process>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn started(tree: &Tree, process: Tid) -> Option<u64> {
    tree.line(process).next().map(|process| process.starttime)
}
