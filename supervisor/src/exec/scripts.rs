//! Scripts that were approved by what they hold: their interpreters get just that.
//!
//! The kernel starts an interpreter, and the interpreter opens the script by its name, later. Whatever stands there by
//! then, a program for which a human has approved a script reads what was approved, from a sealed copy: by that name, by
//! the script's real path, and where it is that file. Where the program leaves the opening to a child of it (timeout),
//! the first that opens it reads the copy.
//!
//! Some interpreters look at the name before they open anything: node follows links by itself, and python runs what lies
//! in a directory. So until the script is opened the tree cannot move its names away, and nothing is ever below them.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use super::verify::Identity;
use super::ways::{is_below, spelled, ways};
use crate::approval::Digest;
use crate::caller::Caller;
use crate::kernel::{Tid, errno};
use crate::resolve::{Object, link_to, real_path};
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
    /// The name that the interpreter opens, from the root.
    pub name: Vec<u8>,
    /// The script.
    pub file: File,
}

/// A script and the copy of what it held.
#[derive(Debug)]
pub struct Copied {
    file: Identity,
    path: Vec<u8>,
    name: Vec<u8>,
    /// The entries that must stay until it is opened; none where the name is another file to each process.
    ways: Vec<Vec<u8>>,
    length: u64,
    copy: File,
}

/// A copy for a process.
#[derive(Clone, Debug)]
struct Held {
    copied: Arc<Copied>,
    /// Whether it was opened.
    is_read: bool,
}

/// The copies for one process.
#[derive(Debug)]
struct Process {
    /// Field 22 of proc_pid_stat(5): another process with the same number has another.
    started: u64,
    scripts: Vec<Held>,
}

/// The copies that are to be read, for whom.
#[derive(Debug, Default)]
pub struct Scripts(Mutex<HashMap<Tid, Process>>);

/// What a path is to a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meant {
    Itself,
    /// As if the script were a directory.
    Below,
}

impl Copied {
    /// Copies a script, if it holds what was approved.
    ///
    /// # Errors
    /// EACCES when it holds something else; the kernel's; ESRCH when the caller is gone.
    pub fn of(caller: &Caller<'_>, script: Named, approved: Digest) -> Result<Copied, Errno> {
        let Named { path, name, file: script } = script;
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
        let ways = ways(&name).unwrap_or_default();
        Ok(Copied { file, path, name, ways, length, copy })
    }

    /// Whether its names lead to it as they did: they cannot be changed any more.
    fn is_there(&self) -> bool {
        let Some(last) = self.ways.last() else { return true };
        ways(&self.name).as_ref() == Some(&self.ways)
            && rustix::fs::lstat(&last[..]).is_ok_and(|stat| Identity::of(&stat) == self.file)
    }

    fn meant_by(&self, path: &[u8], own: &[u8]) -> Option<Meant> {
        if path == own { Some(Meant::Itself) } else { is_below(path, own).then_some(Meant::Below) }
    }

    fn meant_by_name(&self, name: &[u8]) -> Option<Meant> {
        self.meant_by(name, &self.name)
    }

    fn meant_by_file(&self, file: Identity, path: &[u8]) -> Option<Meant> {
        if file == self.file { Some(Meant::Itself) } else { self.meant_by(path, &self.path) }
    }
}

impl Scripts {
    /// The caller's process is to read the copy wherever it opens that file to read.
    ///
    /// # Errors
    /// EACCES when its names lead elsewhere by now; ESRCH when it is gone; ENOMEM when the copies take too much.
    pub fn bind(&self, caller: &Caller<'_>, tree: &Tree, copied: Copied) -> Result<(), Errno> {
        let process = caller.status()?.tgid;
        let started = started(tree, process).ok_or(Errno::SRCH)?;
        caller.check()?;
        let copied = Arc::new(copied);
        self.hold(process, started, tree, &copied)?;
        if copied.is_there() { Ok(()) } else { Err(Errno::ACCESS) }
    }

    fn hold(&self, process: Tid, started: u64, tree: &Tree, copied: &Arc<Copied>) -> Result<(), Errno> {
        let mut processes = self.processes();
        processes.retain(|process, known| self::started(tree, *process) == Some(known.started));
        let held = processes.values().flat_map(|known| &known.scripts);
        let lengths: BTreeMap<_, _> =
            held.map(|held| (Arc::as_ptr(&held.copied), held.copied.length)).collect();
        if lengths.values().sum::<u64>() + copied.length > MOST {
            return Err(Errno::NOMEM);
        }
        let known = processes.entry(process).or_insert(Process { started, scripts: Vec::new() });
        // What was approved before under one of its names is not what was approved now.
        known.scripts.retain(|Held { copied: other, .. }| {
            other.file != copied.file && other.path != copied.path && other.name != copied.name
        });
        known.scripts.push(Held { copied: Arc::clone(copied), is_read: false });
        Ok(())
    }

    /// What the caller reads instead of this file, open anew: the file itself, or one that has taken its place.
    ///
    /// # Errors
    /// ENOTDIR where the script has become a directory; the kernel's; ESRCH when the caller is gone.
    pub fn instead(
        &self,
        caller: &Caller<'_>,
        tree: &Tree,
        object: &Object,
        path: &[u8],
    ) -> Result<Option<Object>, Errno> {
        let identity = Identity::of(&object.stat);
        let found = self.find(caller, tree, |copied| copied.meant_by_file(identity, path))?;
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
        let is_absolute = written.starts_with(b"/");
        if !(is_absolute || dirfd == libc::AT_FDCWD) || !self.may_name(written) {
            return Ok(None);
        }
        let here =
            if is_absolute { Vec::new() } else { real_path(caller.directory(libc::AT_FDCWD)?.as_fd())? };
        let name = spelled(&here, written);
        let found = self.find(caller, tree, |copied| copied.meant_by_name(&name))?;
        found.map_or(Ok(None), |(path, copy)| Ok(Some((path, Object::of(copy)?))))
    }

    /// Whether a path has a script's last component somewhere: most have not, and no more need be known of them.
    fn may_name(&self, written: &[u8]) -> bool {
        let processes = self.processes();
        let mut scripts = processes.values().flat_map(|known| &known.scripts);
        scripts.any(|held| {
            let last = held.copied.name.rsplit(|&byte| byte == b'/').next();
            written.split(|&byte| byte == b'/').any(|part| Some(part) == last)
        })
    }

    /// Whether an approved script that nobody has opened yet is found by this entry, or below it: then it must stay.
    pub fn await_entry(&self, tree: &Tree, path: &[u8]) -> bool {
        let awaits = |held: &Held| {
            !held.is_read && held.copied.ways.iter().any(|way| way == path || is_below(way, path))
        };
        let waiting: Vec<_> = self
            .processes()
            .iter()
            .filter(|(_, known)| known.scripts.iter().any(awaits))
            .map(|(process, known)| (*process, known.started))
            .collect();
        waiting.into_iter().any(|(process, started)| self::started(tree, process) == Some(started))
    }

    /// The caller's copy that is meant: its real path, and the copy open anew. It is the caller's own, or one of a parent
    /// of it that nobody has opened yet.
    fn find(
        &self,
        caller: &Caller<'_>,
        tree: &Tree,
        meant: impl Fn(&Copied) -> Option<Meant>,
    ) -> Result<Option<(Vec<u8>, OwnedFd)>, Errno> {
        let is_meant = |held: &Held| meant(&held.copied).is_some();
        // Most opens are of something else: then nothing need be known of the caller.
        if !self.processes().values().flat_map(|known| &known.scripts).any(is_meant) {
            return Ok(None);
        }
        let process = caller.status()?.tgid;
        let line: Vec<_> = tree.line(process).map(|stat| (stat.pid, stat.starttime)).collect();
        caller.check()?;
        let mut processes = self.processes();
        for &(pid, started) in &line {
            let is_own = pid == process;
            let Some(known) = processes.get_mut(&pid).filter(|known| known.started == started) else {
                continue;
            };
            let mut scripts = known.scripts.iter_mut();
            let Some(held) = scripts.find(|held| (is_own || !held.is_read) && is_meant(held)) else {
                continue;
            };
            if meant(&held.copied) == Some(Meant::Below) {
                return Err(Errno::NOTDIR);
            }
            held.is_read = true;
            let held = held.clone();
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let copy = rustix::fs::open(link_to(held.copied.copy.as_fd()), flags, Mode::empty())?;
            let path = held.copied.path.clone();
            if let Some((own, started)) = line.first().filter(|_| !is_own).copied() {
                let known = processes.entry(own).or_insert(Process { started, scripts: Vec::new() });
                if known.started != started {
                    *known = Process { started, scripts: Vec::new() };
                }
                known.scripts.push(held);
            }
            return Ok(Some((path, copy)));
        }
        Ok(None)
    }

    fn processes(&self) -> MutexGuard<'_, HashMap<Tid, Process>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn started(tree: &Tree, process: Tid) -> Option<u64> {
    tree.line(process).next().map(|process| process.starttime)
}
