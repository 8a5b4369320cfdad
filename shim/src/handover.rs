//! The channel between the child and the supervisor. It carries the listener, the release, and reports of failure.
//!
//! A successful exec closes the child's end, which is how the supervisor learns of it.
//!
//! A filter may hold `sendmsg`, and until the supervisor has the listener nobody could answer that call. Then a
//! [`Courier`] sends the listener: a process forked before the filter is loaded that shares the child's descriptors.

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
    /// Waiting for the supervisor's release.
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

    /// The stage in words for the operator.
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
    /// What the child was doing.
    pub stage: Stage,
    /// The error of the system call.
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
    /// The child failed before it had a listener, and reported that.
    #[error(transparent)]
    Child(LaunchReport),
    /// The child ended without a report.
    #[error("the guarded child ended before its filter was loaded")]
    Gone,
    /// The channel carried something else than a listener or a report.
    #[error("the guarded child sent something other than its listener")]
    Garbled,
    /// The channel itself failed.
    #[error("the channel to the guarded child failed")]
    Channel(#[from] io::Error),
}

/// Creates a channel: the supervisor's end, and the child's.
///
/// The supervisor must close its copy of the child's end after the fork, or it would never see end-of-file.
pub fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Waits for the listener of the child's filter.
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

/// Tells the child to start the command: its notifications are now being answered.
pub fn release(channel: BorrowedFd<'_>) -> io::Result<()> {
    retry(|| rustix::io::write(channel, &[GO]))?;
    Ok(())
}

/// Waits until the child has become the command (`None`) or has failed.
///
/// `None` also stands for a child that was killed meanwhile: its wait status shows that.
#[must_use]
pub fn read_report(channel: BorrowedFd<'_>) -> Option<LaunchReport> {
    let mut bytes = [0; 8];
    let length = retry(|| rustix::io::read(channel, &mut bytes)).ok()?;
    LaunchReport::decode(&bytes[..length])
}

/// Child side: reports a failure. If that fails too, there is nobody else to report to.
pub(crate) fn send_report(channel: BorrowedFd<'_>, report: LaunchReport) {
    let _ = retry(|| rustix::io::write(channel, &report.encode()));
}

/// Child side: waits for the release.
pub(crate) fn wait_for_release(channel: BorrowedFd<'_>) -> io::Result<()> {
    let mut byte = [0; 1];
    match retry(|| rustix::io::read(channel, &mut byte))? {
        1 if byte == [GO] => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EPIPE)),
    }
}

/// Child side: sends the listener. Only valid if the filter does not hold `sendmsg`.
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
    /// The courier's end. The descriptor table is shared, so closing it here would close it for the courier.
    _read: OwnedFd,
}

impl Courier {
    /// Forks the courier. It shares the caller's descriptor table, so it has the listener as soon as the caller has.
    pub(crate) fn hire(channel: BorrowedFd<'_>) -> io::Result<Courier> {
        let (read, orders) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let hirer = rustix::process::getpid();
        // Without an exit signal: if the caller ignores SIGCHLD, the courier's status would be lost.
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

    /// Makes the courier send the listener, and waits until it has ended.
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
    /// Without a listener there is nothing to send: ends the courier, and reaps it so that the supervisor gets no
    /// zombie.
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

/// Ends the courier when its parent ends. It would wait for ever otherwise, because it holds a copy of the pipe itself.
fn end_with(hirer: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() == Some(hirer) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// The courier's work: waits for a descriptor number, and sends that descriptor.
fn deliver(orders: BorrowedFd<'_>, channel: BorrowedFd<'_>) -> io::Result<()> {
    let mut number = [0; size_of::<RawFd>()];
    if retry(|| rustix::io::read(orders, &mut number))? != number.len() {
        return Err(io::Error::from_raw_os_error(libc::EPIPE));
    }
    // SAFETY: this process shares the descriptor table of the child, which keeps the listener open until this process
    // has ended.
    let listener = unsafe { BorrowedFd::borrow_raw(RawFd::from_ne_bytes(number)) };
    send_listener(channel, listener)
}

fn retry<T>(call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    Ok(rustix::io::retry_on_intr(call)?)
}
