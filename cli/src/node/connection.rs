//! Keeps the node connected, until a signal ends it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_openclaw::clock::now_ms;
use guard_openclaw::gateway::{Events, Link, OpenError, Pause};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::host::NodeHost;
use super::{calls, pairing};

/// The shortest and the longest wait before the gateway is tried again.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];
/// The same waits for a gateway that refuses the node: a human has to act first.
const REFUSED_PAUSES: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];
/// A connection that lasted at least this long counts as a success.
const GOOD: Duration = Duration::from_secs(10);
/// How long the node waits at its end for its runs to end.
const END_TIMEOUT: Duration = Duration::from_secs(20);

async fn connect(host: &Arc<NodeHost>) -> Result<(Link, Events), Failed> {
    let host = Arc::clone(host);
    let find = move || host.credentials();
    let access = tokio::task::spawn_blocking(find).await;
    let access = access.map_err(|error| Failed::Now(error.to_string()))?;
    let access = access.map_err(|error| Failed::Now(error.to_string()))?;
    Link::open_listening(&access).await.map_err(|error| match error {
        OpenError::Refused { .. } => Failed::Refused(Box::new(error)),
        other => Failed::Now(other.to_string()),
    })
}

/// Why there is no connection.
enum Failed {
    /// The gateway does not let the node in.
    Refused(Box<OpenError>),
    /// There is no connection at the moment.
    Now(String),
}

/// Runs the node until a signal ends it.
///
/// # Errors
/// If signals cannot be waited for.
pub async fn run(host: Arc<NodeHost>) -> io::Result<()> {
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    host.note(|_| {});
    tokio::select! {
        () = keep_connected(&host) => {}
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    host.calls.cancel_all();
    let end = Instant::now() + END_TIMEOUT;
    while host.running_now() > 0 && Instant::now() < end {
        sleep(Duration::from_millis(10)).await;
    }
    host.note(|status| {
        (status.pid, status.connected_since_ms, status.problem) = (0, None, None);
    });
    Ok(())
}

async fn keep_connected(host: &Arc<NodeHost>) {
    let (mut pause, mut refused_pause) = (Pause::new(PAUSES), Pause::new(REFUSED_PAUSES));
    let mut said: Option<String> = None;
    loop {
        let (why, wait) = match connect(host).await {
            Ok((link, events)) => {
                said = None;
                refused_pause.reset();
                let begun = Instant::now();
                let version = link.hello().version.clone();
                host.note(|status| {
                    (status.connected_since_ms, status.problem) = (Some(now_ms()), None);
                    status.gateway_version = Some(version);
                });
                let looking = Arc::clone(host);
                let looking = tokio::spawn(async move { pairing::look(&looking).await });
                let lost = calls::serve(host, link, events, &looking).await;
                looking.abort();
                if begun.elapsed() >= GOOD {
                    pause.reset();
                }
                (lost.to_string(), pause.next_wait())
            }
            Err(Failed::Refused(error)) => {
                let why = error.to_string();
                if said.as_ref() != Some(&why) && pairing::refused(host, &error) {
                    said = Some(why.clone());
                }
                (why, refused_pause.next_wait())
            }
            Err(Failed::Now(why)) => (why, pause.next_wait()),
        };
        host.note(|status| {
            (status.connected_since_ms, status.problem) = (None, Some(why.clone()));
        });
        if said.as_ref() != Some(&why) {
            host.print(&format!("{why}; the node will try again"));
            said = Some(why);
        }
        sleep(wait).await;
    }
}
