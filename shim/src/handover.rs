//! The channel between the child and the supervisor. It carries the listener, the release, and reports of failure.
//!
//! A successful exec closes the child's end, which is how the supervisor learns of it.
//!
//! The filter holds `sendmsg`, and until the supervisor has the listener nobody can answer that call. So a [`Courier`] sends
//! the listener.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

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
    /// The channel carried something other than a listener or a report.
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

/// A thread of the child that sends the listener. The filter is loaded only on the thread that becomes the command, so it
/// does not hold the calls of the courier.
pub(crate) struct Courier {
    listener: SyncSender<OwnedFd>,
    thread: JoinHandle<io::Result<()>>,
}

impl Courier {
    /// Starts the thread.
    pub(crate) fn hire(channel: BorrowedFd<'_>) -> io::Result<Courier> {
        let channel = channel.try_clone_to_owned()?;
        let (listener, orders) = mpsc::sync_channel(1);
        let deliver = move || {
            // Without a listener the child has failed, and reports that itself.
            orders.recv().map_or(Ok(()), |listener: OwnedFd| send_listener(channel.as_fd(), listener.as_fd()))
        };
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE).spawn(deliver)?;
        Ok(Courier { listener, thread })
    }

    /// Makes the courier send the listener, and waits until it has ended.
    pub(crate) fn send(self, listener: OwnedFd) -> io::Result<()> {
        let gone = || io::Error::from_raw_os_error(libc::ECHILD);
        self.listener.send(listener).map_err(|_| gone())?;
        self.thread.join().map_err(|_| gone())?
    }
}

/// A courier calls few functions.
const STACK_SIZE: usize = 64 << 10;

fn send_listener(channel: BorrowedFd<'_>, listener: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [listener];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    retry(|| rustix::net::sendmsg(channel, &[IoSlice::new(&[LISTENER])], &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

fn retry<T>(call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    Ok(rustix::io::retry_on_intr(call)?)
}
