//! Runs a command in a guard of its own.
//!
//! The node starts its own program as that guard. A socket between the two shows each of them that the other
//! has ended. If the node closes the socket or is gone, the guard ends the tree. The node sees the socket close
//! when the last process of the guard has ended; by then the tree has ended, too.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use guard_openclaw::node::{Captured, Collector, Stream};
use guard_policy::environment::Variable;
use guard_supervisor::config::options::Options;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};

use super::runs::Lifeline;
use super::system_run::Order;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;
/// How long the guard of a run may take to end the tree.
const END_TIMEOUT: Duration = Duration::from_secs(20);
/// A question of a run expires this long before the gateway's deadline for the run.
const MARGIN: Duration = Duration::from_secs(2);
/// The exit status of a run that took too long (OpenClaw 2026.9.6).
const TIMED_OUT: i32 = 124;

/// Descriptors are inheritable only while this is held: another run's guard must not get them.
static STARTING: Mutex<()> = Mutex::new(());

/// The limits of a run: its time, and how much of its output is kept.
pub struct RunLimits {
    /// The node's id.
    pub node: String,
    /// How long the gateway waits.
    pub wait: Duration,
    /// How much output is kept, in bytes.
    pub output: usize,
}

/// Runs a command to its end. Blocks. `None` if it was cancelled meanwhile.
pub fn run(order: &Order, limits: &RunLimits, lifeline: &Lifeline) -> Option<Captured> {
    if lifeline.is_cut() {
        return None;
    }
    let started = Instant::now();
    let end = match start(order, limits) {
        Err(error) => Captured::failed(format!("openclaw-guard: cannot start the guard of the run: {error}")),
        Ok((child, ours)) => {
            lifeline.hold(&ours);
            let deadline = order.timeout.and_then(|timeout| started.checked_add(timeout));
            collect(child, &ours, deadline, Collector::new(limits.output))
        }
    };
    (!lifeline.is_cut()).then_some(end)
}

/// Starts the guard of a run. Returns it with the node's end of the socket.
fn start(order: &Order, limits: &RunLimits) -> io::Result<(Child, UnixStream)> {
    let environment = handed_over(c"environment", &encoded(&order.env))?;
    let approval = match &order.approval {
        Some(approval) => Some(handed_over(c"approval", &serde_json::to_vec(approval)?)?),
        None => None,
    };
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new("/proc/self/exe");
    command.arg0("openclaw-guard").args(arguments(order, limits));
    command.arg(format!("--environment-fd={}", environment.as_raw_fd()));
    command.arg(format!("--lifeline-fd={}", theirs.as_raw_fd()));
    command.args(approval.as_ref().map(|fd| format!("--approval-fd={}", fd.as_raw_fd())));
    command.arg("--").args(&order.argv).current_dir(&order.cwd);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let handed = [Some(environment.as_fd()), Some(theirs.as_fd()), approval.as_ref().map(AsFd::as_fd)];
    let child = {
        let _alone = STARTING.lock();
        inheritable(&handed, true)?;
        let child = command.spawn();
        inheritable(&handed, false)?;
        child?
    };
    Ok((child, ours))
}

fn inheritable(handed: &[Option<BorrowedFd<'_>>], is_so: bool) -> io::Result<()> {
    let flags = if is_so { FdFlags::empty() } else { FdFlags::CLOEXEC };
    handed.iter().flatten().try_for_each(|fd| fcntl_setfd(fd, flags)).map_err(io::Error::from)
}

/// A file in memory with this content.
fn handed_over(name: &std::ffi::CStr, content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = std::fs::File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    Ok(file.into())
}

fn encoded(env: &[Variable]) -> Vec<u8> {
    env.iter().flat_map(|(name, value)| [name.as_slice(), b"=", value, b"\0"].concat()).collect()
}

/// The options of the guard of a run.
fn arguments(order: &Order, limits: &RunLimits) -> Vec<String> {
    let Options { agent, session_key, policy, home, audit, exec_security, exec_ask, .. } = &order.options;
    let mut all =
        vec!["--quiet".to_owned(), "--untrusted-environment".to_owned(), "--kill-on-exit".to_owned()];
    let mut add = |name: &str, value: &str| all.push(format!("--{name}={value}"));
    add("agent", agent);
    add("run-id", &order.report.run_id);
    add("node-id", &limits.node);
    session_key.iter().for_each(|key| add("session-key", key));
    for (name, path) in [("policy", policy), ("home", home), ("audit", audit)] {
        path.iter().for_each(|path| add(name, &path.to_string_lossy()));
    }
    exec_security.iter().for_each(|security| add("exec-security", security.as_str()));
    exec_ask.iter().for_each(|ask| add("exec-ask", ask.as_str()));
    let wait = order.timeout.map_or(limits.wait, |timeout| timeout.min(limits.wait));
    add("ask-within", &wait.saturating_sub(MARGIN).as_millis().max(1).to_string());
    let switches = [
        ("--observe", order.options.observe),
        ("--unattended", order.options.unattended),
        ("--require-floor", order.options.require_floor),
    ];
    all.extend(switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name.to_owned()));
    all
}

/// Reads the output until the tree is gone.
fn collect(
    mut child: Child,
    socket: &UnixStream,
    deadline: Option<Instant>,
    mut output: Collector,
) -> Captured {
    let mut streams = [
        child.stdout.take().map(|pipe| (Stream::Stdout, OwnedFd::from(pipe))),
        child.stderr.take().map(|pipe| (Stream::Stderr, OwnedFd::from(pipe))),
    ];
    let mut is_there = true;
    let (mut timed_out, mut last, mut is_orderly) = (false, None, false);
    let mut buffer = vec![0; CHUNK];
    while is_there || streams.iter().any(Option::is_some) {
        let now = Instant::now();
        if !timed_out && deadline.is_some_and(|deadline| now >= deadline) {
            timed_out = true;
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
        if timed_out && last.is_none() {
            last = Some(now + END_TIMEOUT);
        }
        // A process that outlives its guard, which should not happen, must not keep the node waiting.
        if last.is_some_and(|last| now >= last) {
            break;
        }
        let wake = if timed_out { last } else { deadline };
        let (ready, is_told) = wait(is_there.then_some(socket), &streams, wake.map(|wake| wake - now));
        is_orderly |= is_told;
        if ready[0] {
            is_there = false;
            // The tree has ended: the rest of its output is in the pipes.
            last.get_or_insert(Instant::now() + END_TIMEOUT);
        }
        for (slot, is_ready) in streams.iter_mut().zip([ready[1], ready[2]]) {
            if let (Some((stream, pipe)), true) = (&slot, is_ready) {
                match rustix::io::read(pipe, &mut buffer) {
                    Ok(0) => *slot = None,
                    Ok(count) => output.append(*stream, &buffer[..count]),
                    Err(rustix::io::Errno::INTR) => {}
                    Err(_) => *slot = None,
                }
            }
        }
    }
    let _ = socket.shutdown(std::net::Shutdown::Both);
    if timed_out {
        let _ = child.kill();
    }
    let status = child.wait().ok();
    let code = status.as_ref().and_then(ExitStatus::code);
    let is_killed = !timed_out && !is_orderly && status.is_some_and(|status| status.signal().is_some());
    let mut end = output.end(if timed_out { Some(TIMED_OUT) } else { code }, timed_out);
    if is_killed {
        end.error =
            Some("openclaw-guard: the guard of the run was killed, and its processes with it".to_owned());
    }
    end
}

/// Waits for the end of the tree, for output, or for the time to pass. Returns which of the socket and the two
/// streams are ready, and whether the guard has told that the command has ended.
fn wait(
    socket: Option<&UnixStream>,
    streams: &[Option<(Stream, OwnedFd)>; 2],
    timeout: Option<Duration>,
) -> ([bool; 3], bool) {
    let mut fds = Vec::new();
    let mut which = Vec::new();
    for (at, fd) in [
        socket.map(AsFd::as_fd),
        streams[0].as_ref().map(|(_, fd)| fd.as_fd()),
        streams[1].as_ref().map(|(_, fd)| fd.as_fd()),
    ]
    .into_iter()
    .enumerate()
    {
        if let Some(fd) = fd {
            fds.push(PollFd::new(fd, PollFlags::POLLIN));
            which.push(at);
        }
    }
    // Rounded up, so that the time has passed afterwards.
    let timeout = timeout.map_or(PollTimeout::NONE, |timeout| {
        (timeout + Duration::from_millis(1)).try_into().unwrap_or(PollTimeout::MAX)
    });
    let mut ready = [false; 3];
    if poll(&mut fds, timeout).is_ok() {
        for (fd, at) in fds.iter().zip(which) {
            ready[at] = fd.any().unwrap_or(true);
        }
    }
    // The guard sends a byte when the command has ended. If there is no byte, the socket is ready because it is
    // closed.
    let is_told =
        ready[0] && socket.is_some_and(|mut socket| socket.read(&mut [0; 64]).is_ok_and(|count| count > 0));
    ready[0] &= !is_told;
    (ready, is_told)
}
