//! The supervisor's main thread: brings everything up, tells the front of the command's end, leaves with the tree.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use guard_shim::{Failure, Report, Stage};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use super::{News, Order, ending, pipe, reaper};
use crate::audit::Context;
use crate::guard::Guard;
use crate::kernel::fork::{Side, split};
use crate::kernel::listener::Listener;
use crate::kernel::requests;
use crate::pool::Pool;
use crate::report::{Manner, Reporter, print};
use crate::resolve::Resolver;
use crate::text::shown;
use crate::tree::Tree;

/// The status of a guard that failed.
const FAILED: u8 = 125;

/// Runs the supervisor; never returns.
pub fn main(order: Order, front: Pid, to_front: OwnedFd) -> ! {
    let mut to_front = File::from(to_front);
    let status = supervise(order, front, &mut to_front).unwrap_or_else(|problem| {
        print(&format!("openclaw-guard: {problem}"));
        Some(FAILED)
    });
    if let Some(status) = status {
        // A front that was killed needs no status.
        let _ = News::Ended(status).send(&mut to_front);
    }
    std::process::exit(0)
}

/// Returns when the tree is gone; a status is one that the front was not told.
fn supervise(order: Order, front: Pid, to_front: &mut File) -> Result<Option<u8>, String> {
    let Order { name, plan, policy, floor, audit, observe, lines, kill_on_exit } = order;
    let say = |what: &'static str| move |error: std::io::Error| format!("cannot {what}: {error}");
    let (ours, theirs) = guard_shim::channel().map_err(say("make a channel"))?;
    let (news, to_supervisor) = pipe().map_err(|error| error.to_string())?;
    let reaper = match split().map_err(|error| format!("cannot start the reaper: {error}"))? {
        Side::Child => {
            drop((ours, news));
            reaper::main(plan, theirs, to_supervisor)
        }
        Side::Parent(reaper) => reaper.as_raw(),
    };
    drop((plan, theirs, to_supervisor));
    become_supervisor().map_err(say("set up the supervisor"))?;

    let listener = match guard_shim::receive_listener(ours.as_fd()) {
        Ok(listener) => listener,
        Err(Failure::Child(report)) => return Ok(Some(explain(&name, report))),
        Err(error) => return Err(error.to_string()),
    };
    let supervisor = rustix::process::getpid().as_raw_nonzero().get();
    let tree = Tree { reaper, supervisor, front: front.as_raw_nonzero().get() };
    let manner = Manner { lines, observe, allowed: false };
    let context = Context { session: session_name(), agent: policy.agent().to_owned() };
    let reporter = Reporter::start(manner, audit, context, tree).map_err(say("start a thread"))?;
    let resolver = Resolver::new().map_err(|error| format!("cannot open /: {error}"))?;
    let guard = Arc::new(Guard::new(policy, resolver, tree, reporter.clone(), observe, floor));
    let _pool = Pool::start(Arc::new(Listener::new(listener)), guard).map_err(say("start the workers"))?;
    guard_shim::release(ours.as_fd()).map_err(say("release the command"))?;

    let refused = guard_shim::read_report(ours.as_fd());
    drop(ours);
    let mut news = File::from(news);
    while let Some(message) = News::receive(&mut news) {
        match message {
            News::Started(_) => drop(message.send(&mut *to_front)),
            News::Ended(status) => {
                let status = refused.map_or(status, |report| explain(&name, report));
                reporter.flush();
                reporter.quiet();
                reporter.flush();
                let _ = News::Ended(status).send(&mut *to_front);
                // Whoever waits for the end of the command's output must not wait for us.
                let_go_of_stdio([false, false, true]);
                if kill_on_exit {
                    end_tree(&tree, news);
                    break;
                }
            }
        }
    }
    reporter.flush();
    Ok(None)
}

/// Kills the tree until the reaper has nothing left.
fn end_tree(tree: &Tree, news: File) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let again = PollTimeout::try_from(Duration::from_millis(10)).unwrap_or(PollTimeout::ZERO);
    loop {
        ending::kill_members(tree);
        if poll(&mut [PollFd::new(news.as_fd(), PollFlags::POLLIN)], again).is_ok_and(|ready| ready > 0) {
            return;
        }
    }
}

/// Out of the operator's session, without capabilities, unreadable to the tree.
fn become_supervisor() -> std::io::Result<()> {
    rustix::process::setsid()?;
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    for signal in
        [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGPIPE, Signal::SIGXFSZ, Signal::SIGTSTP]
    {
        requests::ignore(signal)?;
    }
    let_go_of_stdio([true, true, false]);
    drop_capabilities()?;
    nix::sys::prctl::set_dumpable(false)?;
    // The supervisor holds descriptors of every caller for a moment.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let wide = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, wide);
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    Ok(())
}

/// What the broker does must be refused where the kernel would have refused it to the caller, who has none either.
fn drop_capabilities() -> std::io::Result<()> {
    use caps::CapSet;
    for set in [CapSet::Ambient, CapSet::Inheritable, CapSet::Effective, CapSet::Permitted] {
        caps::clear(None, set).map_err(std::io::Error::other)?;
    }
    Ok(())
}

/// Replaces descriptors 0, 1 and 2 by /dev/null: held open they would keep pipes of the operator from ending.
pub fn let_go_of_stdio(which: [bool; 3]) {
    let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else {
        return;
    };
    let [input, output, error] = which;
    // A descriptor that cannot be replaced stays what it is.
    if input {
        let _ = rustix::stdio::dup2_stdin(&null);
    }
    if output {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
    if error {
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Says why the command did not start, and with what status the guard ends.
fn explain(name: &OsString, report: Report) -> u8 {
    if report.stage != Stage::Exec {
        print(&format!("openclaw-guard: {report}{}", advice(report)));
        return FAILED;
    }
    let error = rustix::io::Errno::from_raw_os_error(report.errno);
    print(&format!("openclaw-guard: {}: {}", shown(name.as_bytes()), std::io::Error::from(error)));
    match report.errno {
        libc::ENOENT | libc::ENOTDIR => 127,
        _ => 126,
    }
}

/// What the operator can do about a child that could not be set up.
fn advice(report: Report) -> &'static str {
    match (report.stage, report.errno) {
        (Stage::Filter, libc::EBUSY) => {
            " (another guard or supervisor is in force here already: run outside of it)"
        }
        (Stage::Filter, libc::EINVAL) => " (Linux 5.19 or newer is needed)",
        _ => "",
    }
}

/// Enough to tell one run from another.
fn session_name() -> String {
    let mut bytes = [0; 8];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
