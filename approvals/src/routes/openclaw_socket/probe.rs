//! Whether anybody listens, for who decides whether a question can be asked at all.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use guard_openclaw::ports::IsMember;
use guard_policy::approval::Route;
use parking_lot::Mutex;

use super::peer::Peer;
use super::place::Find;
use crate::manager::Manager;

/// For so long what was found holds: a burst of questions is not a burst of connections.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Finds out.
#[derive(Debug, Default)]
pub struct Probe(Mutex<Option<Instant>>);

impl Probe {
    /// Tells the manager whether the socket can be reached, where that matters: where `cli` is a route somebody can
    /// always answer.
    pub fn report(&self, manager: &Manager, find: &Find, is_member: &IsMember) {
        if !manager.wants(Route::Socket) || manager.wants(Route::Cli) {
            return;
        }
        // Held meanwhile: whoever comes next takes what is found now.
        let mut last = self.0.lock();
        if last.is_none_or(|last| last.elapsed() > PROBE_INTERVAL) {
            manager.reach(Route::Socket, is_there(find, is_member));
            *last = Some(Instant::now());
        }
    }
}

fn is_there(find: &Find, is_member: &IsMember) -> bool {
    let Ok(meeting) = find() else { return false };
    if meeting.token.is_none() {
        return false;
    }
    let Ok(door) = meeting.open() else { return false };
    UnixStream::connect(door.path()).is_ok_and(|stream| Peer::from_stream(&stream, is_member).is_ok())
}
