//! Follows every guard of the user.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use guard_approvals::routes::guard_socket::Body;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::super::client::Guards;
use super::event::{Sender, WatchEvent};
use super::queue::Key;

/// How often the directory is checked for new guards.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Follows all guards for ever. `state` is the real path of the state directory.
pub async fn follow(state: PathBuf, events: Sender) {
    let mut followed: BTreeMap<u32, JoinHandle<()>> = BTreeMap::new();
    // Reports an error once, not at each attempt.
    let mut last_error = String::new();
    loop {
        followed.retain(|_, guard| !guard.is_finished());
        match Guards::find(&state).and_then(|guards| guards.pids()) {
            Ok(pids) => {
                for pid in pids {
                    followed
                        .entry(pid)
                        .or_insert_with(|| tokio::spawn(one(state.clone(), pid, events.clone())));
                }
            }
            Err(error) if error.to_string() != last_error => {
                last_error = error.to_string();
                let _ = events.send(WatchEvent::Rejected {
                    pid: None,
                    why: format!("cannot find guards: {last_error}"),
                });
            }
            Err(_) => {}
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Follows one guard until the connection ends.
async fn one(state: PathBuf, guard: u32, events: Sender) {
    // The result does not matter: the guard has gone, or this program ends.
    let _ = follow_guard(&state, guard, &events).await;
    let _ = events.send(WatchEvent::Gone { guard });
}

async fn follow_guard(state: &std::path::Path, guard: u32, events: &Sender) -> io::Result<()> {
    let closed = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    let mut subscription = Guards::find(state)?.subscribe(guard).await?;
    loop {
        let event = match subscription.next().await? {
            Body::Approvals { approvals } => WatchEvent::Listed { guard, approvals },
            Body::Requested { approval } => WatchEvent::Requested { guard, approval },
            Body::Ended { id, state } => WatchEvent::Ended { guard, id, state },
            Body::Lifecycle { id, text, .. } => WatchEvent::Lifecycle { key: Key { pid: guard, id }, text },
            Body::Error { message, .. } => return Err(io::Error::other(message)),
            // Replies to other requests.
            Body::Found { .. } | Body::Resolved { .. } => continue,
        };
        events.send(event).map_err(closed)?;
    }
}
