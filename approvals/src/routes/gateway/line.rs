//! A connection to the gateway that is opened on demand and reopened when lost.

use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use guard_openclaw::gateway::{Credentials, Link, NoAccess, OpenError, Pause};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::decision::RouteFailure;

/// Finds the gateway's address and credentials. Reads the disk.
pub type Find = Arc<dyn Fn() -> Result<Credentials, NoAccess> + Send + Sync>;

/// The shortest and the longest pause between two attempts.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(8)];
/// How long to wait for a connection that was lost. A gateway takes about ten seconds to restart.
pub const RECONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Why there is no connection.
#[derive(Clone, Debug)]
pub enum Down {
    /// The gateway's address or credentials are not known.
    Access(Arc<NoAccess>),
    /// The connection cannot be opened.
    Open(Arc<OpenError>),
    /// The disk could not be read.
    Broken,
}

impl From<NoAccess> for Down {
    fn from(error: NoAccess) -> Down {
        Down::Access(Arc::new(error))
    }
}

impl Down {
    /// Whether a retry soon may help.
    pub fn may_pass(&self) -> bool {
        match self {
            Down::Access(_) | Down::Broken => false,
            Down::Open(error) => match &**error {
                OpenError::Insecure { .. } | OpenError::MissingScope { .. } => false,
                OpenError::Refused { refused, .. } => refused.code == UNAVAILABLE,
                OpenError::Nobody { .. }
                | OpenError::Unreachable { .. }
                | OpenError::Rejected { .. }
                | OpenError::NoGateway { .. }
                | OpenError::Busy { .. }
                | OpenError::Slow { .. }
                | OpenError::Lost { .. } => true,
            },
        }
    }

    /// Whether there is no gateway, according to the operator's files or the kernel. Any other error may be caused by a
    /// guarded process: it could use up all ports or processors, or listen in the gateway's place.
    pub fn lack(&self) -> RouteFailure {
        use ErrorKind::{HostUnreachable, NetworkDown, NetworkUnreachable, TimedOut};
        let is_away = match self {
            Down::Open(error) => match &**error {
                OpenError::Unreachable { error, .. } => {
                    matches!(error.kind(), HostUnreachable | NetworkDown | NetworkUnreachable | TimedOut)
                }
                _ => self.is_absence(),
            },
            Down::Access(_) | Down::Broken => self.is_absence(),
        };
        if is_away { RouteFailure::Nobody } else { RouteFailure::Failed }
    }

    /// Whether the gateway is up but accepts nobody for now.
    fn is_busy(&self) -> bool {
        let Down::Open(error) = self else { return false };
        match &**error {
            OpenError::Busy { .. } => true,
            OpenError::Refused { refused, .. } => refused.code == UNAVAILABLE,
            _ => false,
        }
    }

    /// Whether the only problem is that there is no gateway.
    pub fn is_absence(&self) -> bool {
        match self {
            Down::Access(error) => error.is_absence(),
            Down::Open(error) => matches!(**error, OpenError::Nobody { .. }),
            Down::Broken => false,
        }
    }
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Down::Access(error) => error.fmt(f),
            Down::Open(error) => error.fmt(f),
            Down::Broken => f.write_str("the gateway's configuration cannot be read"),
        }
    }
}

/// OpenClaw's code while the gateway starts or stops.
pub const UNAVAILABLE: &str = "UNAVAILABLE";

/// A connection that is reopened when needed.
pub struct Connection {
    find: Find,
    /// Increases with each attempt.
    attempts: AtomicU64,
    state: Mutex<ConnectionState>,
    patience: Duration,
}

struct ConnectionState {
    link: Option<Link>,
    /// Why the last attempt failed.
    down: Option<Down>,
    /// When the connection was last known to be up.
    up: Option<Instant>,
    /// Since when the gateway is up but accepts nobody.
    busy: Option<Instant>,
    pause: Pause,
    /// The time of the next attempt, at the earliest.
    next: Instant,
}

impl ConnectionState {
    fn alive(&mut self) -> Option<Link> {
        let link = self.link.as_ref()?;
        if link.lost().now_or_never().is_some() {
            // Until now the connection was assumed to be up.
            (self.up, self.link) = (Some(Instant::now()), None);
        }
        self.link.clone()
    }
}

impl Connection {
    /// Creates a connection without opening it.
    pub fn new(find: Find) -> Connection {
        let pause = Pause::new(PAUSES);
        let state =
            ConnectionState { link: None, down: None, up: None, busy: None, pause, next: Instant::now() };
        Connection {
            find,
            attempts: AtomicU64::new(0),
            state: Mutex::new(state),
            patience: RECONNECT_TIMEOUT,
        }
    }

    /// For tests: waits less for a lost connection.
    #[cfg(test)]
    pub fn impatient(find: Find, patience: Duration) -> Connection {
        Connection { patience, ..Connection::new(find) }
    }

    /// Returns the connection, and opens one if there is none. After a failed attempt there is a pause. Concurrent
    /// callers wait for the same attempt.
    ///
    /// # Errors
    /// Why the attempt failed.
    pub async fn link(&self) -> Result<Link, Down> {
        let before = self.attempts.load(Ordering::Acquire);
        let mut state = self.state.lock().await;
        if let Some(link) = state.alive() {
            return Ok(link);
        }
        if self.attempts.load(Ordering::Acquire) != before
            && let Some(down) = &state.down
        {
            return Err(down.clone());
        }
        sleep_until(state.next).await;
        let opened = self.open().await;
        self.attempts.fetch_add(1, Ordering::AcqRel);
        match opened {
            Ok(link) => {
                state.link = Some(link.clone());
                (state.down, state.busy) = (None, None);
                state.pause.reset();
                // A connection that is accepted and lost at once is not retried at once.
                state.next = Instant::now() + state.pause.next_wait();
                Ok(link)
            }
            Err(down) => {
                state.down = Some(down.clone());
                state.busy = down.is_busy().then(|| state.busy.unwrap_or_else(Instant::now));
                state.next = Instant::now() + state.pause.next_wait();
                Err(down)
            }
        }
    }

    /// Whether the connection is up, or was up a short time ago, or the gateway was busy then. If so, waiting is worthwhile.
    pub async fn was_up(&self) -> bool {
        let mut state = self.state.lock().await;
        let recently = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() < self.patience);
        state.alive().is_some() || recently(state.up) || recently(state.busy)
    }

    async fn open(&self) -> Result<Link, Down> {
        let find = Arc::clone(&self.find);
        // Reading the disk may block.
        let access = tokio::task::spawn_blocking(move || find()).await.map_err(|_| Down::Broken)??;
        Link::open(&access).await.map_err(|error| Down::Open(Arc::new(error)))
    }
}
