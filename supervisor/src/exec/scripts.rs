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
//! A name at which nothing was found stays empty for the program, unless the program or a child of it puts something there:
//! what others put there was not asked about.
//!
//! Why: docs/decisions.md, "An interpreter reads the script that was approved."

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_approvals::Digest;
use guard_openclaw::peer::proc::Tid;
use guard_openclaw::peer::process_tree::Tree;
use parking_lot::Mutex;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

pub use super::bound_file::{BareName, Named};
use super::bound_file::{BoundFile, Meant};
use super::exec_time::ExecTime;
use super::script_paths::spelled;
use super::sealed_script::SealedScript;
use crate::caller::Caller;
use crate::resolve::{Identity, Object, link_to, real_path};

/// The maximum total size of all copies. Beyond it no script is approved.
const MAX_TOTAL_BYTES: u64 = 512 << 20;

/// What was approved under a name, assigned to a process.
#[derive(Clone, Debug)]
struct HeldFile {
    bound: Arc<BoundFile>,
    /// The start of the program that it was approved for.
    birth: Option<ExecTime>,
    /// Whether its process had children then. If the process is a subreaper (prctl(2)), one of those children can leave
    /// it a new child, and nobody can tell which children are the program's.
    has_older_children: bool,
    /// Whether that program has opened it.
    is_read: bool,
    /// Whether that program has changed it, if it may.
    is_changed: bool,
}

impl HeldFile {
    /// Whether a process belongs to the program: the one that the file is assigned to, or one below it. `below` is the
    /// first process below the assigned one on the way there.
    fn is_of_program(&self, below: Option<(Tid, u64)>) -> bool {
        match (&self.birth, below) {
            (Some(_), Some(_)) if self.has_older_children => false,
            (Some(birth), Some((child, started))) => birth.is_before(child, started),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

#[derive(Debug)]
struct ProcessCopies {
    /// Field 22 of proc_pid_stat(5): it differs for another process with the same number.
    started: u64,
    scripts: Vec<HeldFile>,
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
        let bound = Arc::new(BoundFile::new(script, copy)?);
        self.hold(process, started, tree, &bound)?;
        drop(alone);
        if bound.is_there() { Ok(()) } else { Err(Errno::ACCESS) }
    }

    /// Keeps a name of the caller's as it was found: empty, or a directory.
    ///
    /// # Errors
    /// EACCES if something else is there by now; ESRCH if the caller is gone.
    pub fn bind_name(&self, caller: &Caller<'_>, tree: &Tree, name: BareName) -> Result<(), Errno> {
        let process = caller.process()?;
        let started = started(tree, process).ok_or(Errno::SRCH)?;
        caller.check()?;
        self.is_used.store(true, Ordering::Release);
        let Some(bound) = BoundFile::bare(name).map(Arc::new) else { return Ok(()) };
        self.hold(process, started, tree, &bound)?;
        if bound.is_there() { Ok(()) } else { Err(Errno::ACCESS) }
    }

    /// Drops what was bound for a start of the caller's that came to nothing: the next approval is for something else.
    ///
    /// # Errors
    /// ESRCH if the caller is gone.
    pub fn start_anew(&self, caller: &Caller<'_>) -> Result<(), Errno> {
        let process = caller.process()?;
        if let Some(known) = self.processes.lock().get_mut(&process) {
            known.scripts.retain(|held| held.birth.is_some());
        }
        Ok(())
    }

    /// Whether no script was ever approved: then no file is replaced by a copy.
    pub fn is_empty(&self) -> bool {
        !self.is_used.load(Ordering::Acquire)
    }

    /// An existing copy with this digest: a hundred processes of one script share one.
    fn copy_of(&self, approved: Digest) -> Option<Arc<SealedScript>> {
        let processes = self.processes.lock();
        let mut copies =
            processes.values().flat_map(|known| &known.scripts).filter_map(|held| held.bound.copy());
        copies.find(|copy| copy.sha256 == approved).cloned()
    }

    fn hold(&self, process: Tid, started: u64, tree: &Tree, bound: &Arc<BoundFile>) -> Result<(), Errno> {
        let mut processes = self.processes.lock();
        processes.retain(|process, known| self::started(tree, *process) == Some(known.started));
        let held = processes.values().flat_map(|known| &known.scripts);
        let copies = held.filter_map(|held| held.bound.copy()).chain(bound.copy());
        let lengths: BTreeMap<_, _> = copies.map(|copy| (Arc::as_ptr(copy), copy.length)).collect();
        if lengths.values().sum::<u64>() > MAX_TOTAL_BYTES {
            return Err(Errno::NOMEM);
        }
        let known = processes.entry(process).or_insert(ProcessCopies { started, scripts: Vec::new() });
        // A new approval replaces earlier ones under the same names. Within one approval, a file may have several
        // names.
        known.scripts.retain(|HeldFile { bound: other, birth, .. }| {
            let is_other_file =
                (other.file.is_none() || other.file != bound.file) && other.path != bound.path;
            other.name != bound.name && (birth.is_none() || is_other_file)
        });
        known.scripts.push(HeldFile {
            bound: Arc::clone(bound),
            birth: None,
            has_older_children: false,
            is_read: false,
            is_changed: false,
        });
        Ok(())
    }

    /// Marks the start of a program for which scripts were approved: what the previous program opened, and its
    /// children, no longer count.
    pub fn begin(&self, process: Tid) {
        let mut processes = self.processes.lock();
        let Some(known) = processes.get_mut(&process) else { return };
        // A name without a file was the earlier program's argument.
        known.scripts.retain(|held| held.birth.is_none() || held.bound.copy().is_some());
        for held in known.scripts.iter_mut().filter(|held| held.birth.is_none()) {
            held.birth = Some(ExecTime::read(process));
            held.has_older_children = has_children(process);
        }
    }

    /// The copy that the caller reads instead of this file, freshly opened: for the script itself, or for a file that
    /// replaced it.
    ///
    /// # Errors
    /// ENOTDIR if the script has become a directory; ENOENT if nothing was there when the program was approved; the
    /// kernel's; ESRCH if the caller is gone.
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
        let is_file = object.kind() == FileType::RegularFile;
        let found = self.find(caller, tree, |bound| {
            bound.meant_by_file(identity, path).filter(|_| is_file || bound.is_nothing())
        })?;
        found.map(|(_, copy)| copy).map_or(Ok(None), |copy| Object::from_fd(copy).map(Some))
    }

    /// The copy that the caller reads by the name under which its script was approved, wherever the name leads by now.
    /// Also returns the real path that the script had when it was approved.
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
        let found = self.find(caller, tree, |bound| bound.meant_by_name(&name))?;
        found.map_or(Ok(None), |(path, copy)| Ok(Some((path, Object::from_fd(copy)?))))
    }

    /// Marks a file that the caller opens for writing, replaces or removes: if the program may change the file, it
    /// reads what is there from now on. A change counts only if the program or a child that it started makes it.
    pub fn changed(&self, caller: &Caller<'_>, tree: &Tree, file: Option<Identity>, path: &[u8]) {
        if self.is_empty() {
            return;
        }
        let is_meant = |held: &HeldFile| held.bound.is_until_changed && held.bound.is_changed_by(file, path);
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
                held.is_changed |= held.is_of_program(below);
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
            let last = held.bound.name.rsplit(|&byte| byte == b'/').next();
            written.split(|&byte| byte == b'/').any(|part| Some(part) == last)
        })
    }

    /// Whether this entry must stay, because it leads to an approved script that is not opened yet, or to a name that
    /// another program was approved with.
    pub fn await_entry(&self, caller: &Caller<'_>, tree: &Tree, path: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let awaits = |held: &&HeldFile| {
            let is_awaited = if held.bound.copy().is_some() { !held.is_read } else { !held.is_changed };
            is_awaited && held.bound.is_led_to_by(path)
        };
        let waiting: Vec<_> = self
            .processes
            .lock()
            .iter()
            .map(|(process, known)| {
                let held: Vec<HeldFile> = known.scripts.iter().filter(awaits).cloned().collect();
                (*process, known.started, held)
            })
            .filter(|(_, _, held)| !held.is_empty())
            .collect();
        if waiting.is_empty() {
            return false;
        }
        let line: Vec<_> = caller.process().map_or_else(
            |_| Vec::new(),
            |process| tree.line(process).map(|stat| (stat.pid, stat.starttime)).collect(),
        );
        waiting.into_iter().any(|(process, started, held)| {
            let at = line.iter().position(|one| *one == (process, started));
            let below = at.and_then(|at| at.checked_sub(1)).map(|at| line[at]);
            // A program may do what it likes with names that it was given, and so may its children.
            let is_own =
                |held: &HeldFile| held.bound.copy().is_none() && at.is_some() && held.is_of_program(below);
            self::started(tree, process) == Some(started) && held.iter().any(|held| !is_own(held))
        })
    }

    /// Finds the caller's matching copy: its real path, and the copy freshly opened. The copy is the caller's own, or
    /// an ancestor's. An ancestor's counts if nobody has opened it yet, or if the ancestor has older children.
    fn find(
        &self,
        caller: &Caller<'_>,
        tree: &Tree,
        meant: impl Fn(&BoundFile) -> Option<Meant>,
    ) -> Result<Option<(Vec<u8>, OwnedFd)>, Errno> {
        let is_meant = |held: &HeldFile| meant(&held.bound).is_some();
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
            let is_for = |held: &HeldFile| match below {
                None => !held.is_changed,
                Some(_) if held.has_older_children => !held.is_changed && held.birth.is_some(),
                Some(_) => !held.is_read && !held.is_changed && held.is_of_program(below),
            };
            let Some(held) = scripts.find(|held| is_for(held) && is_meant(held)) else {
                continue;
            };
            let Some(copy) = held.bound.copy().cloned() else { return Err(Errno::NOENT) };
            if meant(&held.bound) == Some(Meant::Below) {
                return Err(Errno::NOTDIR);
            }
            // Every process below one with older children reads the copy, and none of them ends the wait for the
            // program.
            held.is_read |= held.birth.is_some() && (below.is_none() || !held.has_older_children);
            let held = HeldFile { is_read: held.birth.is_some(), ..held.clone() };
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let copy = rustix::fs::open(link_to(copy.file.as_fd()), flags, Mode::empty())?;
            let path = held.bound.path.clone();
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

/// Whether a single-threaded process has children. True if the kernel does not say (CONFIG_PROC_CHILDREN).
fn has_children(process: Tid) -> bool {
    // While children end, the list may lack some of the others, but not all.
    std::fs::read(format!("/proc/{process}/task/{process}/children")).map_or(true, |list| !list.is_empty())
}

fn started(tree: &Tree, process: Tid) -> Option<u64> {
    tree.line(process).next().map(|process| process.starttime)
}
