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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_approvals::Digest;
use guard_openclaw::peer::proc::Tid;
use guard_openclaw::peer::process_tree::Tree;
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use super::script_paths::{is_below, script_paths, spelled};
use crate::caller::Caller;
use crate::kernel::errno;
use crate::resolve::{Identity, Object, link_to, real_path};

/// A longer script cannot be approved.
pub const MAX_BYTES: u64 = 64 << 20;
/// What all copies may take. Beyond that no script is approved.
const MAX_TOTAL_BYTES: u64 = 512 << 20;

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

/// What a script held: sealed, so that nobody can change it.
#[derive(Debug)]
struct SealedScript {
    sha256: Digest,
    length: u64,
    file: File,
}

/// A script and the copy of what it held.
#[derive(Debug)]
struct Copied {
    file: Identity,
    path: Vec<u8>,
    name: Vec<u8>,
    /// The entries that must stay until it is opened; none where the name is another file to each process.
    ways: Vec<Vec<u8>>,
    copy: Arc<SealedScript>,
}

/// A copy for a process.
#[derive(Clone, Debug)]
struct HeldCopy {
    copied: Arc<Copied>,
    /// When the program was there that it was approved for.
    birth: Option<ExecTime>,
    /// Whether that has opened it.
    is_read: bool,
}

/// When a program took the place of another, whose children go on.
#[derive(Clone, Debug)]
struct ExecTime {
    /// As [`ProcessCopies::started`].
    at: u64,
    /// The children of that time, where the kernel tells them (CONFIG_PROC_CHILDREN).
    before: Option<Vec<Tid>>,
}

impl ExecTime {
    /// Now; the process is stopped.
    fn read(process: Tid) -> ExecTime {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let ticks = procfs::ticks_per_second();
        let at = now.tv_sec as u64 * ticks + now.tv_nsec as u64 * ticks / 1_000_000_000;
        let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let pids = |text: String| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        ExecTime { at, before: children.ok().map(pids) }
    }

    /// Whether a child of the process came after it.
    fn is_before(&self, child: Tid, started: u64) -> bool {
        let is_new = || self.before.as_ref().is_some_and(|before| !before.contains(&child));
        started > self.at || (started == self.at && is_new())
    }
}

/// The copies for one process.
#[derive(Debug)]
struct ProcessCopies {
    /// Field 22 of proc_pid_stat(5): another process with the same number has another.
    started: u64,
    scripts: Vec<HeldCopy>,
}

/// The copies that are to be read, for whom.
#[derive(Debug, Default)]
pub struct Scripts {
    processes: Mutex<HashMap<Tid, ProcessCopies>>,
    /// One copy is made at a time: together they take no more than they may.
    copying: Mutex<()>,
    /// Whether there was ever one. Most guards never ask for any.
    is_used: AtomicBool,
}

/// What a path is to a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meant {
    Itself,
    /// As if the script were a directory.
    Below,
}

impl SealedScript {
    /// Copies a script, if it holds what was approved.
    ///
    /// # Errors
    /// EACCES when it holds something else; the kernel's; ESRCH when the caller is gone.
    fn copy(caller: &Caller<'_>, script: &File, approved: Digest) -> Result<SealedScript, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create(c"script", flags)?);
        let source =
            rustix::fs::open(link_to(script.as_fd()), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        // One that grows meanwhile is another one.
        let length =
            std::io::copy(&mut File::from(source).take(MAX_BYTES), &mut file).map_err(errno::from_io)?;
        file.flush().map_err(errno::from_io)?;
        fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
        if Digest::of_file(&file, || caller.check())? != approved {
            return Err(Errno::ACCESS);
        }
        Ok(SealedScript { sha256: approved, length, file })
    }
}

impl Copied {
    fn new(script: Named, copy: Arc<SealedScript>) -> Result<Copied, Errno> {
        let Named { path, name, file } = script;
        let file = Identity::from_stat(&rustix::fs::fstat(file)?);
        // A name that is another file to each process leads to the real path all the same.
        let found = script_paths(&name).or_else(|| script_paths(&path)).unwrap_or_default();
        Ok(Copied { file, path, name, ways: found, copy })
    }

    /// Whether its names lead to it as they did: they cannot be changed any more.
    fn is_there(&self) -> bool {
        let Some(last) = self.ways.last() else { return true };
        script_paths(&self.name).or_else(|| script_paths(&self.path)).as_ref() == Some(&self.ways)
            && rustix::fs::lstat(&last[..]).is_ok_and(|stat| Identity::from_stat(&stat) == self.file)
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
    /// The caller's process is to read what was approved wherever it opens that file to read.
    ///
    /// # Errors
    /// EACCES when it holds something else, or its names lead elsewhere by now; ESRCH when the caller is gone; ENOMEM when
    /// the copies take too much; the kernel's.
    pub fn bind(
        &self,
        caller: &Caller<'_>,
        tree: &Tree,
        script: Named,
        approved: Digest,
    ) -> Result<(), Errno> {
        let process = caller.process()?;
        let started = started(tree, process).ok_or(Errno::SRCH)?;
        caller.check()?;
        // Before the names are looked at: nothing is removed by the kernel any more without being seen here.
        self.is_used.store(true, Ordering::Release);
        let alone = self.copying.lock();
        let copy = match self.copy_of(approved) {
            Some(copy) => copy,
            None => Arc::new(SealedScript::copy(caller, &script.file, approved)?),
        };
        let copied = Arc::new(Copied::new(script, copy)?);
        self.hold(process, started, tree, &copied)?;
        drop(alone);
        if copied.is_there() { Ok(()) } else { Err(Errno::ACCESS) }
    }

    /// Whether no script was ever approved: then no file is another than it seems.
    pub fn is_empty(&self) -> bool {
        !self.is_used.load(Ordering::Acquire)
    }

    /// One that is there already: a hundred processes of one script need no more.
    fn copy_of(&self, approved: Digest) -> Option<Arc<SealedScript>> {
        let processes = self.processes.lock();
        let mut copies = processes.values().flat_map(|known| &known.scripts).map(|held| &held.copied.copy);
        copies.find(|copy| copy.sha256 == approved).cloned()
    }

    fn hold(&self, process: Tid, started: u64, tree: &Tree, copied: &Arc<Copied>) -> Result<(), Errno> {
        let mut processes = self.processes.lock();
        processes.retain(|process, known| self::started(tree, *process) == Some(known.started));
        let held = processes.values().flat_map(|known| &known.scripts);
        let copies = held.map(|held| &held.copied.copy).chain([&copied.copy]);
        let lengths: BTreeMap<_, _> = copies.map(|copy| (Arc::as_ptr(copy), copy.length)).collect();
        if lengths.values().sum::<u64>() > MAX_TOTAL_BYTES {
            return Err(Errno::NOMEM);
        }
        let known = processes.entry(process).or_insert(ProcessCopies { started, scripts: Vec::new() });
        // What was approved before under one of its names is not what was approved now.
        known.scripts.retain(|HeldCopy { copied: other, .. }| {
            other.file != copied.file && other.path != copied.path && other.name != copied.name
        });
        known.scripts.push(HeldCopy { copied: Arc::clone(copied), birth: None, is_read: false });
        Ok(())
    }

    /// The program is there for which scripts were approved: what the one before it has opened, and its children are,
    /// says nothing.
    pub fn begin(&self, process: Tid) {
        let mut processes = self.processes.lock();
        let scripts = processes.get_mut(&process).into_iter().flat_map(|known| &mut known.scripts);
        for held in scripts.filter(|held| held.birth.is_none()) {
            held.birth = Some(ExecTime::read(process));
        }
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
        if self.is_empty() {
            return Ok(None);
        }
        let identity = Identity::from_stat(&object.stat);
        let found = self.find(caller, tree, |copied| copied.meant_by_file(identity, path))?;
        found.map(|(_, copy)| copy).map_or(Ok(None), |copy| Object::from_fd(copy).map(Some))
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
        found.map_or(Ok(None), |(path, copy)| Ok(Some((path, Object::from_fd(copy)?))))
    }

    /// Whether a path has a script's last component somewhere: most have not, and no more need be known of them.
    fn may_name(&self, written: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let processes = self.processes.lock();
        let mut scripts = processes.values().flat_map(|known| &known.scripts);
        scripts.any(|held| {
            let last = held.copied.name.rsplit(|&byte| byte == b'/').next();
            written.split(|&byte| byte == b'/').any(|part| Some(part) == last)
        })
    }

    /// Whether an approved script that nobody has opened yet is found by this entry, or below it: then it must stay.
    pub fn await_entry(&self, tree: &Tree, path: &[u8]) -> bool {
        let awaits = |held: &HeldCopy| {
            !held.is_read && held.copied.ways.iter().any(|way| way == path || is_below(way, path))
        };
        let waiting: Vec<_> = self
            .processes
            .lock()
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
        let is_meant = |held: &HeldCopy| meant(&held.copied).is_some();
        // Most opens are of something else: then nothing need be known of the caller.
        if !self.processes.lock().values().flat_map(|known| &known.scripts).any(is_meant) {
            return Ok(None);
        }
        let process = caller.process()?;
        let line: Vec<_> = tree.line(process).map(|stat| (stat.pid, stat.starttime)).collect();
        caller.check()?;
        let mut processes = self.processes.lock();
        let mut child = None;
        for &(pid, started) in &line {
            let is_own = pid == process;
            let below = child.replace((pid, started));
            let Some(known) = processes.get_mut(&pid).filter(|known| known.started == started) else {
                continue;
            };
            let mut scripts = known.scripts.iter_mut();
            let is_for = |held: &HeldCopy| match (below, &held.birth) {
                (None, _) => true,
                (Some((child, started)), Some(birth)) => !held.is_read && birth.is_before(child, started),
                (Some(_), None) => false,
            };
            let Some(held) = scripts.find(|held| is_for(held) && is_meant(held)) else {
                continue;
            };
            if meant(&held.copied) == Some(Meant::Below) {
                return Err(Errno::NOTDIR);
            }
            held.is_read = held.birth.is_some();
            let held = held.clone();
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let copy = rustix::fs::open(link_to(held.copied.copy.file.as_fd()), flags, Mode::empty())?;
            let path = held.copied.path.clone();
            if let Some((own, started)) = line.first().filter(|_| !is_own).copied() {
                let known = processes.entry(own).or_insert(ProcessCopies { started, scripts: Vec::new() });
                if known.started != started {
                    *known = ProcessCopies { started, scripts: Vec::new() };
                }
                known.scripts.push(held);
            }
            return Ok(Some((path, copy)));
        }
        Ok(None)
    }
}

fn started(tree: &Tree, process: Tid) -> Option<u64> {
    tree.line(process).next().map(|process| process.starttime)
}
