//! Who is at the other end of a socket.

use std::os::fd::{AsFd, OwnedFd};

use guard_openclaw::peer::nested_guard::guard_above;
use guard_openclaw::peer::proc;
use guard_openclaw::ports::IsMember;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};
use rustix::process::geteuid;

/// A process of this user that lives and belongs to no guarded tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Its number.
    pub pid: i32,
}

/// Why nothing is said to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerRejected {
    #[error("a process of another user ({0}) is at its other end")]
    OtherUser(u32),
    #[error("it cannot be told who is at its other end: {0}")]
    Unknown(Errno),
    #[error("the process that listened there has ended, and somebody else holds the socket")]
    Ended,
    #[error("a process of a guarded tree ({0}) is at its other end: it may not answer")]
    Member(i32),
}

impl Peer {
    /// The peer of a connected socket: who connected, or who listened (unix(7), SO_PEERCRED).
    ///
    /// # Errors
    /// When it may not be talked to.
    pub fn from_stream(stream: &impl AsFd, is_member: &IsMember) -> Result<Peer, PeerRejected> {
        let credentials = getsockopt(stream, PeerCredentials).map_err(PeerRejected::Unknown)?;
        if credentials.uid() != geteuid().as_raw() {
            return Err(PeerRejected::OtherUser(credentials.uid()));
        }
        let pid = credentials.pid();
        if pid <= 0 {
            // Of another namespace: it cannot be told apart from a member.
            return Err(PeerRejected::Unknown(Errno::ESRCH));
        }
        // The number of a process that has ended may be another's by now.
        let held = match getsockopt(stream, PeerPidfd) {
            Ok(held) => Some(held),
            // Before Linux 6.5.
            Err(Errno::ENOPROTOOPT) => None,
            Err(_) => return Err(PeerRejected::Ended),
        };
        // Of this guard's tree, or of another's: a member of that could answer for this one.
        if is_member(pid) || guard_above(pid).is_some() {
            return Err(PeerRejected::Member(pid));
        }
        let is_there = held.map_or_else(|| proc::stat(pid).is_ok(), lives);
        if is_there { Ok(Peer { pid }) } else { Err(PeerRejected::Ended) }
    }
}

fn lives(process: OwnedFd) -> bool {
    // A pidfd can be read once its process has ended.
    poll(&mut [PollFd::new(process.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(0)
}
