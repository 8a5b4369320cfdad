//! Finds out whether anybody listens on the socket, to decide whether a question can be asked at all.

use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use guard_openclaw::ports::IsMember;
use guard_policy::approval::Route;
use parking_lot::Mutex;

use super::super::peer::{Peer, PeerRejected};
use super::paths::Find;
use crate::manager::Manager;

/// How long a result is reused, so that a burst of questions does not cause a burst of connections.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Probes the socket.
#[derive(Debug, Default)]
pub struct Probe(Mutex<Option<Instant>>);

impl Probe {
    /// Reports to the manager whether the socket can be reached. Does nothing if `approvals.routes` names
    /// `cli`, because then questions wait for an answer in any case.
    pub fn report(&self, manager: &Manager, find: &Find, is_member: &IsMember) {
        if !manager.wants(Route::Socket) || manager.names(Route::Cli) {
            return;
        }
        // The lock is held during the probe, so that concurrent callers reuse its result.
        let mut last = self.0.lock();
        if last.is_none_or(|last| last.elapsed() > PROBE_INTERVAL) {
            manager.reach(Route::Socket, may_be_there(find, is_member));
            *last = Some(Instant::now());
        }
    }
}

/// Whether somebody may listen on the socket. False only for a proven absence: the tree may have caused any other
/// failure, and must not be able to make `exec.askFallback` apply.
fn may_be_there(find: &Find, is_member: &IsMember) -> bool {
    let Ok(endpoint) = find() else { return true };
    if endpoint.token.is_none() {
        return false;
    }
    let connected = endpoint.open().and_then(|handle| UnixStream::connect(handle.path()));
    match connected.map(|stream| Peer::from_stream(&stream, is_member)) {
        Ok(Ok(_) | Err(PeerRejected::Unknown(_) | PeerRejected::Ended)) => true,
        Ok(Err(PeerRejected::OtherUser(_) | PeerRejected::Member(_))) => false,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused),
    }
}
