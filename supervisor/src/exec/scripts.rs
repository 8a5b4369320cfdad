//! Serves interpreters a sealed copy of each script that was approved by its content.
//!
//! The kernel starts an interpreter, which opens the script by its name later. Whatever is there by then, the program
//! reads the approved content from a sealed copy: under that name, under the script's real path, and wherever it opens
//! that file. If the program leaves the opening to a child (timeout), the first child that opens it reads the copy.
//!
//! Some interpreters look at the name before they open anything: node follows links by itself, and python runs what
//! lies in a directory. So until the script is opened, the tree cannot move its names away, and nothing ever exists
//! below them.
//!
//! Why: docs/decisions.md, "An interpreter reads the script that was approved."

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_approvals::Digest;
use guard_openclaw::peer::proc::Tid;
use guard_openclaw::peer::process_tree::Tree;
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::script_paths::{is_below, script_paths, spelled};
use super::sealed_script::SealedScript;
use crate::caller::Caller;
use crate::resolve::{Identity, Object, link_to, real_path};

/// The maximum total size of all copies. Beyond it no script is approved.
const MAX_TOTAL_BYTES: u64 = 512 << 20;

/// A script as passed to an interpreter.
#[derive(Debug)]
pub struct Named {
    /// The real path.
    pub path: Vec<u8>,
    /// The absolute name that the interpreter opens.
    pub name: Vec<u8>,
    /// The script.
    pub file: File,
    /// Whether it may be data that the program changes and reads again: once the program or a child of it has opened it
    /// for writing or replaced it, it reads what stands there.
    pub is_until_changed: bool,
}

/// A script and the sealed copy of its content.
#[derive(Debug)]
struct Copied {
    file: Identity,
    path: Vec<u8>,
    name: Vec<u8>,
    /// The entries that must stay until it is opened; empty if the name means another file to each process.
    ways: Vec<Vec<u8>>,
    copy: Arc<SealedScript>,
    is_until_changed: bool,
}

/// A copy assigned to a process.
#[derive(Clone, Debug)]
struct HeldCopy {
    copied: Arc<Copied>,
    /// The start of the program that it was approved for.
    birth: Option<ExecTime>,
    /// Whether that program has opened it.
    is_read: bool,
    /// Whether that program has changed it, and may.
    is_changed: bool,
}

/// The time at which a program replaced another one, whose children go on.
#[derive(Clone, Debug)]
struct ExecTime {
    /// As [`ProcessCopies::started`].
    at: u64,
    /// The process's children at that time, if the kernel lists them (CONFIG_PROC_CHILDREN).
    before: Option<Vec<Tid>>,
}

impl ExecTime {
    /// Reads the current time; the process is stopped.
    fn read(process: Tid) -> ExecTime {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let ticks = procfs::ticks_per_second();
        let at = now.tv_sec as u64 * ticks + now.tv_nsec as u64 * ticks / 1_000_000_000;
        let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let pids = |text: String| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        ExecTime { at, before: children.ok().map(pids) }
    }

    /// Whether the child was created after this time.
    fn is_before(&self, child: Tid, started: u64) -> bool {
        let is_new = || self.before.as_ref().is_some_and(|before| !before.contains(&child));
        started > self.at || (started == self.at && is_new())
    }
}

/// The copies for one process.
#[derive(Debug)]
struct ProcessCopies {
    /// Field 22 of proc_pid_stat(5): it differs for another process with the same number.
    started: u64,
    scripts: Vec<HeldCopy>,
}

/// The copies to serve, by process.
#[derive(Debug, Default)]
pub struct Scripts {
    processes: Mutex<HashMap<Tid, ProcessCopies>>,
    /// Only one copy is made at a time, so that the total stays within its limit.
    copying: Mutex<()>,
    /// Whether a script was ever approved. Most guards never ask about any.
    is_used: AtomicBool,
}

/// How a path relates to a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meant {
    Itself,
    /// A path below the script, as if the script were a directory.
    Below,
}

impl Copied {
    fn new(script: Named, copy: Arc<SealedScript>) -> Result<Copied, Errno> {
        let Named { path, name, file, is_until_changed } = script;
        let file = Identity::from_stat(&rustix::fs::fstat(file)?);
        // If the name means another file to each process, the real path still leads to it.
        let found = script_paths(&name).or_else(|| script_paths(&path)).unwrap_or_default();
        Ok(Copied { file, path, name, ways: found, copy, is_until_changed })
    }

    /// Whether its names still lead to it: after this they can no longer be changed.
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
    /// Makes the caller's process read the approved content wherever it opens that file to read.
    ///
    /// # Errors
    /// EACCES if the content differs, or its names lead elsewhere by now; ESRCH if the caller is gone; ENOMEM if the
    /// copies exceed their limit; the kernel's.
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
        // Set this before the names are checked: from now on the broker sees every removal.
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

    /// Whether no script was ever approved: then no file is replaced by a copy.
    pub fn is_empty(&self) -> bool {
        !self.is_used.load(Ordering::Acquire)
    }

    /// An existing copy with this digest: a hundred processes of one script share one.
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
        // A new approval replaces earlier ones under the same names.
        known.scripts.retain(|HeldCopy { copied: other, .. }| {
            other.file != copied.file && other.path != copied.path && other.name != copied.name
        });
        known.scripts.push(HeldCopy {
            copied: Arc::clone(copied),
            birth: None,
            is_read: false,
            is_changed: false,
        });
        Ok(())
    }

    /// Marks the start of a program for which scripts were approved: what the previous program opened, and its
    /// children, no longer count.
    pub fn begin(&self, process: Tid) {
        let mut processes = self.processes.lock();
        let scripts = processes.get_mut(&process).into_iter().flat_map(|known| &mut known.scripts);
        for held in scripts.filter(|held| held.birth.is_none()) {
            held.birth = Some(ExecTime::read(process));
        }
    }

    /// The copy that the caller reads instead of this file, freshly opened: for the script itself, or for a file that
    /// replaced it.
    ///
    /// # Errors
    /// ENOTDIR if the script has become a directory; the kernel's; ESRCH if the caller is gone.
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

    /// The copy that the caller reads by the name under which its script was approved, wherever that leads by now. Also
    /// returns the real path that the script had then.
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

    /// Marks a file that the caller opens for writing, replaces or removes: if its program may change it, it reads what
    /// stands there from now on. What others do does not count, nor what was there before the program.
    pub fn changed(&self, caller: &Caller<'_>, tree: &Tree, file: Option<Identity>, path: &[u8]) {
        if self.is_empty() {
            return;
        }
        let is_meant = |held: &HeldCopy| {
            held.copied.is_until_changed
                && (file.is_some_and(|file| file == held.copied.file)
                    || held.copied.path == path
                    || held.copied.ways.iter().any(|way| way == path || is_below(way, path)))
        };
        if !self.processes.lock().values().flat_map(|known| &known.scripts).any(is_meant) {
            return;
        }
        let Ok(process) = caller.process() else { return };
        let line: Vec<_> = tree.line(process).map(|stat| (stat.pid, stat.starttime)).collect();
        if caller.check().is_err() {
            return;
        }
        let mut processes = self.processes.lock();
        let mut child = None;
        for &(pid, started) in &line {
            let below = child.replace((pid, started));
            let known = processes.get_mut(&pid).filter(|known| known.started == started);
            for held in known.into_iter().flat_map(|known| &mut known.scripts).filter(|held| is_meant(held)) {
                held.is_changed |= match (&held.birth, below) {
                    (Some(birth), Some((child, started))) => birth.is_before(child, started),
                    (Some(_), None) => true,
                    (None, _) => false,
                };
            }
        }
    }

    /// Whether a path contains a script's last component. Most do not, and need no further check.
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

    /// Whether an approved script that is not opened yet is found by this entry, or below it: then the entry must stay.
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

    /// Finds the caller's matching copy: its real path, and the copy freshly opened. It is the caller's own, or an
    /// ancestor's that nobody has opened yet.
    fn find(
        &self,
        caller: &Caller<'_>,
        tree: &Tree,
        meant: impl Fn(&Copied) -> Option<Meant>,
    ) -> Result<Option<(Vec<u8>, OwnedFd)>, Errno> {
        let is_meant = |held: &HeldCopy| meant(&held.copied).is_some();
        // Most opens are of something else: then nothing about the caller is needed.
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
                (None, _) => !held.is_changed,
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
