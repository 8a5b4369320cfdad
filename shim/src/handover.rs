//! The channel between the child and the supervisor: the listener, the word to go, and reports of failure.
//!
//! The child's end is closed by a successful exec, which is how the supervisor learns of it.
//!
//! A filter may hold `sendmsg`, and before the supervisor has the listener nobody could answer. Then the listener is
//! sent by a [`Courier`]: a process that is forked before the filter is loaded, and that shares the child's descriptors.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal};

const LISTENER: u8 = b'L';
const GO: u8 = b'G';

/// What the child was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Stage {
    /// Taking the terminal.
    Terminal = 1,
    /// Closing descriptors.
    Descriptors,
    /// Setting resource limits.
    Limits,
    /// Resetting signals.
    Signals,
    /// Setting no_new_privs.
    NoNewPrivileges,
    /// Dropping capabilities.
    Capabilities,
    /// Entering the Landlock domain.
    Floor,
    /// Loading the filter.
    Filter,
    /// Sending the listener.
    Handover,
    /// Waiting for the supervisor's word.
    Release,
    /// Starting the command.
    Exec,
}

impl Stage {
    const ALL: [Stage; 11] = [
        Stage::Terminal,
        Stage::Descriptors,
        Stage::Limits,
        Stage::Signals,
        Stage::NoNewPrivileges,
        Stage::Capabilities,
        Stage::Floor,
        Stage::Filter,
        Stage::Handover,
        Stage::Release,
        Stage::Exec,
    ];

    /// The stage as an operator would say it.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Stage::Terminal => "take the terminal",
            Stage::Descriptors => "close inherited descriptors",
            Stage::Limits => "set resource limits",
            Stage::Signals => "reset signals",
            Stage::NoNewPrivileges => "set no_new_privs",
            Stage::Capabilities => "drop capabilities",
            Stage::Floor => "enter the Landlock domain",
            Stage::Filter => "load the seccomp filter",
            Stage::Handover => "hand over the listener",
            Stage::Release => "wait for the supervisor",
            Stage::Exec => "start the command",
        }
    }
}

/// Why the child did not become the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guarded child could not {}: {}", stage.describe(), io::Error::from_raw_os_error(*errno))]
pub struct LaunchReport {
    /// What it was doing.
    pub stage: Stage,
    /// The kernel's answer.
    pub errno: i32,
}

impl LaunchReport {
    fn encode(self) -> [u8; 6] {
        let [a, b, c, d] = self.errno.to_ne_bytes();
        [b'E', self.stage as u8, a, b, c, d]
    }

    fn decode(message: &[u8]) -> Option<LaunchReport> {
        let [b'E', stage, a, b, c, d] = *message else { return None };
        let stage = Stage::ALL.into_iter().find(|known| *known as u8 == stage)?;
        Some(LaunchReport { stage, errno: i32::from_ne_bytes([a, b, c, d]) })
    }
}

/// Why the supervisor got no listener.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The child failed before it had one, and says so.
    #[error(transparent)]
    Child(LaunchReport),
    /// The child ended without a word.
    #[error("the guarded child ended before its filter was loaded")]
    Gone,
    /// The channel carried something else.
    #[error("the guarded child sent something else than its listener")]
    Garbled,
    /// The channel itself failed.
    #[error("the channel to the guarded child failed")]
    Channel(#[from] io::Error),
}

/// A channel: the supervisor's end, and the child's.
///
/// The supervisor closes its copy of the child's end after the fork, or it would never see the end of the file.
pub fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Wait for the listener of the child's filter.
pub fn receive_listener(channel: BorrowedFd<'_>) -> Result<OwnedFd, Failure> {
    let mut bytes = [0; 8];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = retry(|| {
        let mut into = [IoSliceMut::new(&mut bytes)];
        rustix::net::recvmsg(channel, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC)
    })?;
    let listener = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match (&bytes[..received.bytes], listener) {
        ([LISTENER], Some(listener)) => Ok(listener),
        ([], _) => Err(Failure::Gone),
        (message, _) => Err(LaunchReport::decode(message).map_or(Failure::Garbled, Failure::Child)),
    }
}

/// Tell the child that its notifications are being answered: it may start the command.
pub fn release(channel: BorrowedFd<'_>) -> io::Result<()> {
    retry(|| rustix::io::write(channel, &[GO]))?;
    Ok(())
}

/// Wait until the child has become the command, which is `None`, or has failed.
///
/// A child that was killed meanwhile is `None` too: its wait status tells.
#[must_use]
pub fn read_report(channel: BorrowedFd<'_>) -> Option<LaunchReport> {
    let mut bytes = [0; 8];
    let length = retry(|| rustix::io::read(channel, &mut bytes)).ok()?;
    LaunchReport::decode(&bytes[..length])
}

/// The child's side: say what failed. There is nobody else to tell if that fails too.
pub(crate) fn send_report(channel: BorrowedFd<'_>, report: LaunchReport) {
    let _ = retry(|| rustix::io::write(channel, &report.encode()));
}

/// The child's side: wait for the word to go.
pub(crate) fn wait_for_release(channel: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = [0; 1];
    match retry(|| rustix::io::read(channel, &mut byte))? {
        1 if byte == [GO] => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EPIPE)),
    }
}

/// The child's side: send the listener. To be called where the filter does not hold that.
pub(crate) fn send_listener(channel: BorrowedFd<'_>, listener: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [listener];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    retry(|| rustix::net::sendmsg(channel, &[IoSlice::new(&[LISTENER])], &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// A process that sends the listener for the child.
pub(crate) struct Courier {
    process: Option<Pid>,
    orders: OwnedFd,
    /// The courier's end. The table of descriptors is the same, so that to close it here would close it there.
    _read: OwnedFd,
}

impl Courier {
    /// Fork it. It shares the caller's table of descriptors, so that it has the listener once there is one.
    pub(crate) fn hire(channel: BorrowedFd<'_>) -> io::Result<Courier> {
        let (read, orders) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let hirer = rustix::process::getpid();
        // No signal at its end: with SIGCHLD ignored, as the caller may have it, its status would be lost.
        let flags = libc::CLONE_FILES as libc::c_ulong;
        // SAFETY: without CLONE_VM this is a fork; the caller has one thread, and the new process returns into its copy.
        let process = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
        if process < 0 {
            return Err(io::Error::last_os_error());
        }
        let Some(process) = Pid::from_raw(process as i32) else {
            let delivered = end_with(hirer).and_then(|()| deliver(read.as_fd(), channel));
            let errno = delivered.err().map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
            // SAFETY: `_exit` ends this process; nothing of the child's is dropped or flushed twice.
            unsafe { libc::_exit(errno) }
        };
        Ok(Courier { process: Some(process), orders, _read: read })
    }

    /// Have it send the listener, and see it gone.
    pub(crate) fn send(mut self, listener: BorrowedFd<'_>) -> io::Result<()> {
        retry(|| rustix::io::write(&self.orders, &listener.as_raw_fd().to_ne_bytes()))?;
        let Some(process) = self.process.take() else { return Ok(()) };
        match see_gone(process)? {
            WaitStatus::Exited(_, 0) => Ok(()),
            WaitStatus::Exited(_, errno) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::from_raw_os_error(libc::ECHILD)),
        }
    }
}

impl Drop for Courier {
    /// Without a listener there is nothing to send: end it, and leave no zombie to the supervisor.
    fn drop(&mut self) {
        if let Some(process) = self.process {
            let _ = rustix::process::kill_process(process, Signal::KILL);
            let _ = see_gone(process);
        }
    }
}

fn see_gone(process: Pid) -> io::Result<WaitStatus> {
    let process = nix::unistd::Pid::from_raw(process.as_raw_nonzero().get());
    loop {
        match waitpid(process, Some(WaitPidFlag::__WALL)) {
            Err(nix::errno::Errno::EINTR) => {}
            other => return Ok(other?),
        }
    }
}

/// End when the hirer does. The courier's own copy of the pipe would keep it waiting for ever.
fn end_with(hirer: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(hirer) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// The courier's work: wait for a descriptor's number, and send that descriptor.
fn deliver(orders: BorrowedFd<'_>, channel: BorrowedFd<'_>) -> io::Result<()> {
    let mut number = [0; size_of::<RawFd>()];
    if retry(|| rustix::io::read(orders, &mut number))? != number.len() {
        return Err(io::Error::from_raw_os_error(libc::EPIPE));
    }
    // SAFETY: the child, whose table of descriptors this is, keeps the listener open until this process has ended.
    let listener = unsafe { BorrowedFd::borrow_raw(RawFd::from_ne_bytes(number)) };
    send_listener(channel, listener)
}

fn retry<T>(call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    Ok(rustix::io::retry_on_intr(call)?)
}
