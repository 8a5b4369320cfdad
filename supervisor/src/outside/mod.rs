//! Elevated: `openclaw-guard run-outside -- CMD` runs one approved command outside the guard.
//!
//! The guard recognises the start of this program with that argument by the program's file. `exec/elevated.rs` checks
//! the gates and asks a human; `exec/outside_program.rs` finds the program. A yes leaves a pass for the process, which
//! becomes a client in the tree (`cli/src/outside`). The client opens [`CHANNEL`]; `syscall/outside.rs` takes its
//! descriptors 0, 1 and 2 and sends the order to the process outside (`process/outside.rs`), over the messages of
//! `wire`. This module has what is known of all that.
//!
//! Why: docs/decisions.md, "What runs outside is started by a process that never was inside."

pub mod wire;

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use guard_openclaw::peer::proc::Tid;
use guard_policy::{ElevatedLevel, ElevatedSender, Policy};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};

pub use wire::CHANNEL;

use crate::audit::report::Reporter;
use crate::audit::{SessionChange, SessionEvent};
use crate::resolve::{Identity, Object};

/// The subcommand.
pub const SUBCOMMAND: &[u8] = b"run-outside";
/// How many passes are kept before those of processes that have ended are dropped.
const MANY_PASSES: usize = 64;
/// How long a pass is valid. A client asks for its channel at once; a pass that is held back would run what nobody
/// expects any more.
const PASS_LIFETIME: Duration = Duration::from_secs(30);

/// What a process that has become a client gets.
#[derive(Debug)]
pub enum Pass {
    /// No command, and a sentence that says why.
    Refused(String),
    /// Its command.
    Run(Box<Approved>),
}

/// A command that was approved, in the form in which it is run.
#[derive(Debug)]
pub struct Approved {
    /// The arguments.
    pub argv: Vec<Vec<u8>>,
    /// The whole environment.
    pub environment: Vec<Vec<u8>>,
    /// The program.
    pub program: OwnedFd,
    /// The current directory.
    pub directory: OwnedFd,
    /// Which argument is the name of a script, and a copy of it.
    pub script: Option<(usize, OwnedFd)>,
    /// The real path of the program, for the log.
    pub path: Vec<u8>,
    /// Its arguments, shortened.
    pub shown: Vec<Vec<u8>>,
}

/// Why a guard runs nothing outside, whatever its policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unavailable {
    /// The guard runs no process for commands outside: `elevated.enabled` was false at its start.
    NotAtStart,
    /// `--observe`
    Observes,
    /// `--unattended`, and `learn`.
    AsksNobody,
}

/// What a session knows of commands outside.
#[derive(Debug)]
pub struct Outside {
    /// This program. The descriptor keeps its inode number from being used again.
    own: Option<(Identity, OwnedFd)>,
    sender: ElevatedSender,
    level: Option<ElevatedLevel>,
    set: Mutex<Option<ElevatedLevel>>,
    link: Result<OwnedFd, Unavailable>,
    environment: Vec<Vec<u8>>,
    path: Vec<u8>,
    passes: Mutex<HashMap<Tid, KeptPass>>,
    running: Mutex<HashMap<u64, Running>>,
    logging: Mutex<()>,
    next: AtomicU64,
}

#[derive(Debug)]
struct KeptPass {
    /// When the process has started.
    start: u64,
    since: Instant,
    pass: Pass,
}

/// A command that runs, for the log.
#[derive(Debug)]
pub struct Running {
    /// The client.
    pub pid: Tid,
    /// The program.
    pub path: Vec<u8>,
    /// Its arguments.
    pub argv: Vec<Vec<u8>>,
}

impl Outside {
    /// A session with this sender and level. `link` leads to the process outside.
    pub fn new(
        sender: ElevatedSender,
        level: Option<ElevatedLevel>,
        link: Result<OwnedFd, Unavailable>,
    ) -> Outside {
        let own = rustix::fs::open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let own = own.and_then(|own| Ok((Identity::from_stat(&rustix::fs::fstat(&own)?), own)));
        let variables = std::env::vars_os().filter(|(name, _)| name != "PWD" && name != "OLDPWD");
        let line = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            [name.as_bytes(), b"=", value.as_bytes()].concat()
        };
        Outside {
            own: own.ok(),
            sender,
            level,
            set: Mutex::default(),
            link,
            environment: variables.map(line).collect(),
            path: std::env::var_os("PATH").map(OsStringExt::into_vec).unwrap_or_default(),
            passes: Mutex::default(),
            running: Mutex::default(),
            logging: Mutex::default(),
            next: AtomicU64::new(1),
        }
    }

    /// A session in which nothing runs outside.
    pub fn nothing() -> Outside {
        Outside::new(ElevatedSender::local(), None, Err(Unavailable::NotAtStart))
    }

    /// The level in force: the one that was set for the session, else the one on the command line, else the policy's.
    pub fn level(&self, policy: &Policy) -> ElevatedLevel {
        self.set.lock().or(self.level).unwrap_or_else(|| policy.elevated().default_level())
    }

    /// Sets the level of this session.
    pub fn set_level(&self, level: ElevatedLevel) {
        *self.set.lock() = Some(level);
    }

    /// Whether the start of a program asks for a command outside: this program's own file, with the subcommand and a
    /// command.
    pub fn is_asked(&self, program: &Object, argv: &[Vec<u8>]) -> bool {
        let is_own = self.own.as_ref().is_some_and(|(own, _)| Identity::from_stat(&program.stat) == *own);
        is_own && words(argv).is_some()
    }

    /// Leaves a pass for the process, which has just become a client and has not run yet.
    pub fn admit(&self, pid: Tid, pass: Pass) {
        let Some(start) = start_of(pid) else { return };
        let mut passes = self.passes.lock();
        if passes.len() >= MANY_PASSES {
            passes.retain(|pid, kept| {
                start_of(*pid) == Some(kept.start) && kept.since.elapsed() < PASS_LIFETIME
            });
        }
        // Each pass may hold copies of files.
        if passes.len() < MANY_PASSES {
            passes.insert(pid, KeptPass { start, since: Instant::now(), pass });
        }
    }

    /// Takes the pass of the process, if it has one. A pass can be taken only once.
    pub fn take_pass(&self, pid: Tid) -> Option<Pass> {
        let kept = self.passes.lock().remove(&pid).filter(|kept| start_of(pid) == Some(kept.start))?;
        let is_late = matches!(kept.pass, Pass::Run(_)) && kept.since.elapsed() >= PASS_LIFETIME;
        Some(if is_late { Pass::Refused("the yes has expired: ask again".to_owned()) } else { kept.pass })
    }

    /// Drops the pass of a process that has become another program.
    pub fn forget(&self, pid: Tid) {
        let mut passes = self.passes.lock();
        if !passes.is_empty() {
            passes.remove(&pid);
        }
    }

    /// Starts the thread that logs how commands end.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn follow(self: &Arc<Outside>, reporter: Reporter) -> std::io::Result<()> {
        let Ok(link) = &self.link else { return Ok(()) };
        let link = link.try_clone()?;
        let this = Arc::clone(self);
        let follow = move || {
            let mut ready = [PollFd::new(link.as_fd(), PollFlags::POLLIN)];
            loop {
                let is_ready = poll(&mut ready, PollTimeout::NONE).is_ok_and(|count| count > 0);
                if is_ready && !this.log_ends(&reporter) {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("outside".into()).spawn(follow).map(drop)
    }

    /// Logs how commands have ended, as far as that is known now. Returns whether more may come.
    pub fn log_ends(&self, reporter: &Reporter) -> bool {
        let Ok(link) = &self.link else { return false };
        // Only one thread logs at a time. So when a thread finds nothing more, everything that was received is logged.
        let _one = self.logging.lock();
        loop {
            match wire::receive_now(link.as_fd()) {
                Ok(bytes) if bytes.is_empty() => return false,
                Ok(bytes) => self.log_end(&bytes, reporter),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return true,
                Err(_) => return false,
            }
        }
    }

    fn log_end(&self, bytes: &[u8], reporter: &Reporter) {
        let Some(end) = wire::RunEnd::decode(bytes) else { return };
        let Some(Running { pid, path, argv }) = self.running.lock().remove(&end.id) else { return };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let argv = argv.iter().map(|word| text(word)).collect();
        let event = SessionEvent::OutsideEnd { path: text(&path), argv, status: end.status };
        reporter.session_changed(SessionChange { event, by: Some(pid) });
    }

    /// Who the session is with.
    pub fn sender(&self) -> &ElevatedSender {
        &self.sender
    }

    /// The connection to the process outside, or why there is none.
    pub fn link(&self) -> Result<BorrowedFd<'_>, Unavailable> {
        self.link.as_ref().map(AsFd::as_fd).map_err(|why| *why)
    }

    /// The operator's variables, without the directory.
    pub fn environment(&self) -> &[Vec<u8>] {
        &self.environment
    }

    /// The operator's PATH.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Notes a command that is about to run. Returns its number.
    pub fn begin(&self, running: Running) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.running.lock().insert(id, running);
        id
    }

    /// Drops a command that did not start.
    pub fn cancel(&self, id: u64) {
        self.running.lock().remove(&id);
    }
}

/// The command that these arguments of this program ask for; `None` if they ask for something else, such as help.
pub fn words(argv: &[Vec<u8>]) -> Option<&[Vec<u8>]> {
    match argv {
        [_, task, dashes, words @ ..] if task == SUBCOMMAND && dashes == b"--" => Some(words),
        [_, task, words @ ..] if task == SUBCOMMAND => {
            Some(words).filter(|words| words.first().is_some_and(|word| !word.starts_with(b"-")))
        }
        _ => None,
    }
}

/// When a process has started, in clock ticks since boot.
fn start_of(pid: Tid) -> Option<u64> {
    procfs::process::Process::new(pid).ok()?.stat().ok().map(|stat| stat.starttime)
}

/// A copy of a file that nobody can change.
///
/// # Errors
/// The kernel's; EFBIG if it is too long.
pub fn sealed(file: &File) -> Result<File, rustix::io::Errno> {
    use std::io::Read;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    use crate::kernel::errno::from_io;
    let mut copy = File::from(memfd_create(c"outside", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    let source = rustix::fs::open(
        crate::resolve::link_to(file.as_fd()),
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    std::io::copy(&mut File::from(source).take(MAX_COPY + 1), &mut copy).map_err(from_io)?;
    if rustix::fs::fstat(&copy)?.st_size as u64 > MAX_COPY {
        return Err(rustix::io::Errno::FBIG);
    }
    fcntl_add_seals(&copy, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(copy)
}

/// The longest program or script of the tree's that is run.
const MAX_COPY: u64 = 64 << 20;
