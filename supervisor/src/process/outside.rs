//! The process that starts approved commands outside the guard. It is forked before the guard gives up any right or
//! takes on any restriction. So it has no filter, no Landlock domain and no no_new_privs, but it has the operator's
//! capabilities and limits.
//!
//! Why: docs/decisions.md, "What runs outside is started by a process that never was inside."

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::fcntl::AtFlags;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, sigprocmask};
use nix::unistd::Pid;
use rustix::process::{WaitOptions, waitpid};
use rustix::pty::OpenptFlags;
use rustix::termios::OptionalActions;

use super::ending::reap_all;
use super::leader::{end_of, ended_children};
use super::message::{CommandEnd, Stopped};
use crate::kernel::fork::{Side, quit, quit_with, split};
use crate::outside::wire::{ClientMessage, Order, Received, RunEnd, receive_with, send_with};

/// Starts what the supervisor orders, until the supervisor is gone.
pub fn main(link: OwnedFd) -> ! {
    // No signal may end this process. Each command gets its mask reset.
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    let _ = rustix::process::setsid();
    // The orphans of a command are not the front's to wait for.
    let _ = nix::sys::prctl::set_child_subreaper(true);
    let _ = nix::sys::prctl::set_dumpable(false);
    super::detach_stdio([true, true, true]);
    let mut keep = [link.as_raw_fd()];
    if guard_shim::close_all_but(&mut keep).is_err() {
        quit();
    }
    let Ok(children) = ended_children() else { quit() };
    loop {
        let mut ready =
            [PollFd::new(link.as_fd(), PollFlags::POLLIN), PollFd::new(children.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::NONE).is_err() {
            continue;
        }
        while let Ok(Some(_)) = children.read_signal() {}
        let _ = reap_all(WaitOptions::empty());
        if !ready[0].any().unwrap_or(true) {
            continue;
        }
        match Order::receive(link.as_fd()) {
            Received::Order(order) => match split() {
                Ok(Side::Child) => {
                    drop(children);
                    monitor(*order, &link)
                }
                // If the fork has failed, the channel closes with the order, which the client takes for a failure.
                Ok(Side::Parent(_)) | Err(_) => drop(order),
            },
            Received::Nothing => {}
            Received::End => quit(),
        }
    }
}

/// The terminal of a command, and which of its descriptors are on it.
struct Terminal {
    slave: OwnedFd,
    replaces: [bool; 3],
}

/// Leads the session of one command: starts it, tells its client what becomes of it, and passes on what the client says.
fn monitor(order: Order, link: &OwnedFd) -> ! {
    let (id, channel) = (order.id, order.channel.try_clone());
    let Ok(channel) = channel else { quit() };
    let end = run(order, &channel, link).unwrap_or(CommandEnd::Status(super::running_command::FAILED));
    let (message, status) = match end {
        CommandEnd::Status(status) => (ClientMessage::Status(status), i32::from(status)),
        CommandEnd::Signal(signal) => (ClientMessage::Signalled(signal), 128 + signal),
    };
    // The end is logged before the client ends, so that whoever reads the log after that finds the line.
    let _ = send_with(link.as_fd(), &RunEnd { id, status }.encode(), &[]);
    let _ = send_with(channel.as_fd(), &message.encode(), &[]);
    quit()
}

fn run(order: Order, channel: &OwnedFd, link: &OwnedFd) -> Option<CommandEnd> {
    rustix::process::setsid().ok()?;
    let terminal = match terminal(&order.stdio).ok()? {
        Some((master, terminal)) => {
            rustix::process::ioctl_tiocsctty(&terminal.slave).ok()?;
            send_with(channel.as_fd(), &ClientMessage::Terminal.encode(), &[master.as_fd()]).ok()?;
            Some(terminal)
        }
        None => None,
    };
    let children = ended_children().ok()?;
    let command = match split().ok()? {
        Side::Child => command(order, terminal.as_ref()),
        Side::Parent(command) => {
            // The first signal may come before the command has set its group itself.
            let _ = nix::unistd::setpgid(command, command);
            command
        }
    };
    // The command's pipes must close when the command closes them.
    drop(order);
    let end = follow(command, channel, link, &children);
    if let Some(terminal) = &terminal {
        // What the command has left behind in the foreground hears of the end, when this session's leader ends.
        let _ = rustix::termios::tcsetpgrp(&terminal.slave, rustix::process::getpid());
    }
    Some(end)
}

/// Makes a terminal for the command if one of these descriptors is a terminal. The new terminal has the modes and the
/// size of that one.
fn terminal(stdio: &[OwnedFd; 3]) -> Result<Option<(OwnedFd, Terminal)>, rustix::io::Errno> {
    let replaces = stdio.each_ref().map(rustix::termios::isatty);
    let Some(outer) = stdio.iter().zip(replaces).find(|(_, is)| *is).map(|(fd, _)| fd) else {
        return Ok(None);
    };
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags)?;
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
    let mut modes = rustix::termios::tcgetattr(outer)?;
    if !replaces[0] {
        // The client leaves the modes of its terminal alone, so that terminal makes the line ends.
        modes.output_modes.remove(rustix::termios::OutputModes::OPOST);
    }
    rustix::termios::tcsetattr(&slave, OptionalActions::Now, &modes)?;
    rustix::termios::tcsetwinsize(&slave, rustix::termios::tcgetwinsize(outer)?)?;
    Ok(Some((master, Terminal { slave, replaces })))
}

/// Waits for the end of the command.
fn follow(
    command: Pid,
    channel: &OwnedFd,
    link: &OwnedFd,
    children: &nix::sys::signalfd::SignalFd,
) -> CommandEnd {
    let (mut has_client, mut has_guard) = (true, true);
    loop {
        while let Some(state) = changed(command) {
            if let Some(end) = end_of(state) {
                return end;
            }
            if let Some(signal) = state.stopping_signal().filter(|signal| Stopped::SIGNALS.contains(signal)) {
                let _ = send_with(channel.as_fd(), &ClientMessage::Stopped(signal).encode(), &[]);
            }
        }
        let mut ready = vec![PollFd::new(children.as_fd(), PollFlags::POLLIN)];
        if has_client {
            ready.push(PollFd::new(channel.as_fd(), PollFlags::POLLIN));
        }
        if has_guard {
            // The supervisor's end closes when the supervisor ends.
            ready.push(PollFd::new(link.as_fd(), PollFlags::empty()));
        }
        if poll(&mut ready, PollTimeout::NONE).is_err() {
            continue;
        }
        let is_ready = |at: usize| ready.get(at).is_some_and(|one| one.any().unwrap_or(true));
        let (of_client, of_guard) =
            (has_client && is_ready(1), has_guard && is_ready(1 + usize::from(has_client)));
        while let Ok(Some(_)) = children.read_signal() {}
        if of_client {
            has_client = pass_on(command, channel);
        }
        if of_guard {
            has_guard = false;
        }
        if (of_client && !has_client) || of_guard {
            for signal in [Signal::SIGHUP, Signal::SIGCONT] {
                let _ = killpg(command, signal);
            }
        }
    }
}

/// The next change of the command's state.
fn changed(command: Pid) -> Option<rustix::process::WaitStatus> {
    let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
    let (_, state) = waitpid(rustix::process::Pid::from_raw(command.as_raw()), options).ok().flatten()?;
    Some(state)
}

/// Passes on what the client says. Returns whether the client is still there.
fn pass_on(command: Pid, channel: &OwnedFd) -> bool {
    let Ok((bytes, _)) = receive_with(channel.as_fd()) else { return false };
    if let Some(ClientMessage::Pass(signal)) = ClientMessage::decode(&bytes)
        && let Ok(signal) = Signal::try_from(signal)
    {
        // The command has not been reaped, so its number cannot be that of another group.
        let _ = killpg(command, signal);
    }
    !bytes.is_empty()
}

/// Becomes the command.
fn command(order: Order, terminal: Option<&Terminal>) -> ! {
    let Order { mut argv, environment, program, directory, script, stdio, .. } = order;
    let set_up = || -> std::io::Result<()> {
        rustix::process::setpgid(None, None)?;
        if let Some(terminal) = terminal {
            // SIGTTOU is blocked, so this does not stop the process.
            rustix::termios::tcsetpgrp(&terminal.slave, rustix::process::getpid())?;
        }
        rustix::process::fchdir(&directory)?;
        let on_terminal = |at: usize| terminal.filter(|terminal| terminal.replaces[at]);
        let [input, output, error] =
            std::array::from_fn(|at| on_terminal(at).map_or(stdio[at].as_fd(), |own| own.slave.as_fd()));
        rustix::stdio::dup2_stdin(input)?;
        rustix::stdio::dup2_stdout(output)?;
        rustix::stdio::dup2_stderr(error)?;
        guard_shim::reset_signals(&[])
    };
    let mut result = set_up();
    if let (Ok(()), Some((at, copy))) = (&result, &script) {
        result = rustix::io::fcntl_setfd(copy, rustix::io::FdFlags::empty()).map_err(Into::into);
        let name = CString::new(format!("/proc/self/fd/{}", copy.as_raw_fd()));
        if let (Some(argument), Ok(name)) = (argv.get_mut(*at), name) {
            *argument = name;
        }
    }
    let error = match result {
        Ok(()) => match nix::unistd::execveat(&program, c"", &argv, &environment, AtFlags::AT_EMPTY_PATH) {
            Ok(never) => match never {},
            Err(error) => error.into(),
        },
        Err(error) => error,
    };
    let name = argv.first().map(|word| guard_policy::text::shown(word.to_bytes())).unwrap_or_default();
    eprintln!("openclaw-guard: cannot run {name} outside the guard: {error}");
    quit_with(126)
}
