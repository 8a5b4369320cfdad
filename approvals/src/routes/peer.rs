//! Identifies the process at the other end of a socket.

use std::os::fd::{AsFd, OwnedFd};

use guard_openclaw::peer::nested_guard::guard_above;
use guard_openclaw::peer::proc;
use guard_openclaw::ports::IsMember;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};
use rustix::process::geteuid;

/// A live process of this user that belongs to no guarded tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// The process id.
    pub pid: i32,
}

/// Why a peer is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerRejected {
    #[error("a process of another user ({0}) is at its other end")]
    OtherUser(u32),
    #[error("cannot identify the process at its other end: {0}")]
    Unknown(Errno),
    #[error("the process that listened there has ended, and another process holds the socket")]
    Ended,
    #[error("a process of a guarded tree ({0}) is at its other end, and may not answer")]
    Member(i32),
}

impl Peer {
    /// Identifies the peer of a connected socket: the process that connected or listened (unix(7), SO_PEERCRED).
    ///
    /// # Errors
    /// Returns the reason if the peer is not trusted.
    pub fn from_stream(stream: &impl AsFd, is_member: &IsMember) -> Result<Peer, PeerRejected> {
        let credentials = getsockopt(stream, PeerCredentials).map_err(PeerRejected::Unknown)?;
        if credentials.uid() != geteuid().as_raw() {
            return Err(PeerRejected::OtherUser(credentials.uid()));
        }
        let pid = credentials.pid();
        if pid <= 0 {
            // Pid 0: the peer is in another pid namespace, and could be a guarded process.
            return Err(PeerRejected::Unknown(Errno::ESRCH));
        }
        // The pid of an ended process may have been reused.
        let held = match getsockopt(stream, PeerPidfd) {
            Ok(held) => Some(held),
            // Before Linux 6.5.
            Err(Errno::ENOPROTOOPT) => None,
            Err(_) => return Err(PeerRejected::Ended),
        };
        // Reject a process of any guarded tree: a member of another tree could answer for this tree.
        if is_member(pid) || guard_above(pid).is_some() {
            return Err(PeerRejected::Member(pid));
        }
        let is_there = held.map_or_else(|| proc::stat(pid).is_ok(), lives);
        if is_there { Ok(Peer { pid }) } else { Err(PeerRejected::Ended) }
    }
}

fn lives(process: OwnedFd) -> bool {
    // A pidfd becomes readable when its process has ended.
    poll(&mut [PollFd::new(process.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(0)
}
