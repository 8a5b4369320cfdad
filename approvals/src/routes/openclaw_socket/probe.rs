//! Finds out whether anybody listens on the socket, to decide whether a question can be asked at all.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use guard_openclaw::ports::IsMember;
use guard_policy::approval::Route;
use parking_lot::Mutex;

use super::super::peer::Peer;
use super::paths::Find;
use crate::manager::Manager;

/// How long a result is reused, so that a burst of questions does not cause a burst of connections.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Probes the socket.
#[derive(Debug, Default)]
pub struct Probe(Mutex<Option<Instant>>);

impl Probe {
    /// Reports to the manager whether the socket can be reached. Does nothing if `cli` is a route, because then
    /// somebody can always answer.
    pub fn report(&self, manager: &Manager, find: &Find, is_member: &IsMember) {
        if !manager.wants(Route::Socket) || manager.wants(Route::Cli) {
            return;
        }
        // The lock is held during the probe, so that concurrent callers reuse its result.
        let mut last = self.0.lock();
        if last.is_none_or(|last| last.elapsed() > PROBE_INTERVAL) {
            manager.reach(Route::Socket, is_there(find, is_member));
            *last = Some(Instant::now());
        }
    }
}

fn is_there(find: &Find, is_member: &IsMember) -> bool {
    let Ok(endpoint) = find() else { return false };
    if endpoint.token.is_none() {
        return false;
    }
    let Ok(handle) = endpoint.open() else { return false };
    UnixStream::connect(handle.path()).is_ok_and(|stream| Peer::from_stream(&stream, is_member).is_ok())
}
