//! A connection to the gateway that is made when it is needed, and made again.

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

/// Finds out where the gateway is and what opens it. Looks at the disk.
pub type Find = Arc<dyn Fn() -> Result<Credentials, NoAccess> + Send + Sync>;

/// Between two attempts.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(8)];
/// For so long a connection that was there is waited for: a gateway that starts again takes some ten seconds.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// Why there is no connection.
#[derive(Clone, Debug)]
pub enum Down {
    /// Where it is, or what opens it, is not known.
    Access(NoAccess),
    /// It cannot be made.
    Open(Arc<OpenError>),
    /// The disk cannot be looked at.
    Broken,
}

impl Down {
    /// Whether trying again soon would help.
    pub fn may_pass(&self) -> bool {
        match self {
            Down::Access(_) | Down::Broken => false,
            Down::Open(error) => match &**error {
                OpenError::Insecure { .. } | OpenError::MissingScope { .. } => false,
                OpenError::Refused { refused, .. } => refused.code == UNAVAILABLE,
                OpenError::Nobody { .. }
                | OpenError::Unreachable { .. }
                | OpenError::Turned { .. }
                | OpenError::NoGateway { .. }
                | OpenError::Busy { .. }
                | OpenError::Slow { .. }
                | OpenError::Lost { .. } => true,
            },
        }
    }

    /// Whether there is no gateway, by what the operator's files or the kernel say. Whatever else is wrong may be a tree's
    /// doing: who takes all ports or processors, or listens in the gateway's place.
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

    /// Whether the gateway is there, and lets nobody in for now.
    fn is_busy(&self) -> bool {
        let Down::Open(error) = self else { return false };
        match &**error {
            OpenError::Busy { .. } => true,
            OpenError::Refused { refused, .. } => refused.code == UNAVAILABLE,
            _ => false,
        }
    }

    /// Whether nothing is wrong but that there is no gateway.
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
            Down::Broken => f.write_str("the gateway's configuration cannot be looked at"),
        }
    }
}

/// OpenClaw's code for what is not ready, or is about to end.
pub const UNAVAILABLE: &str = "UNAVAILABLE";

/// Keeps a connection.
pub struct Connection {
    find: Find,
    /// Goes up with each attempt.
    attempts: AtomicU64,
    state: Mutex<ConnectionState>,
    patience: Duration,
}

struct ConnectionState {
    link: Option<Link>,
    /// Why the last attempt failed.
    down: Option<Down>,
    /// When it was found to be up last.
    up: Option<Instant>,
    /// Since when it lets nobody in, though it is there.
    busy: Option<Instant>,
    pause: Pause,
    /// No attempt is made before.
    next: Instant,
}

impl ConnectionState {
    fn alive(&mut self) -> Option<Link> {
        let link = self.link.as_ref()?;
        if link.lost().now_or_never().is_some() {
            // Until now it was thought to be there.
            (self.up, self.link) = (Some(Instant::now()), None);
        }
        self.link.clone()
    }
}

impl Connection {
    /// There is none yet.
    pub fn new(find: Find) -> Connection {
        let pause = Pause::new(PAUSES);
        let state =
            ConnectionState { link: None, down: None, up: None, busy: None, pause, next: Instant::now() };
        Connection { find, attempts: AtomicU64::new(0), state: Mutex::new(state), patience: LOCK_TIMEOUT }
    }

    /// One that waits less for what was there.
    #[cfg(test)]
    pub fn impatient(find: Find, patience: Duration) -> Connection {
        Connection { patience, ..Connection::new(find) }
    }

    /// The connection; one is made where there is none, not sooner than some time after it failed last. Whoever asks
    /// meanwhile waits for the same attempt.
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
                // One that is let in and lost at once is not tried again at once.
                state.next = Instant::now() + state.pause.take();
                Ok(link)
            }
            Err(down) => {
                state.down = Some(down.clone());
                state.busy = down.is_busy().then(|| state.busy.unwrap_or_else(Instant::now));
                state.next = Instant::now() + state.pause.take();
                Err(down)
            }
        }
    }

    /// Whether the connection was there a short time ago, or the gateway says that it will be: then it is worth waiting
    /// for.
    pub async fn was_up(&self) -> bool {
        let mut state = self.state.lock().await;
        let recently = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() < self.patience);
        state.alive().is_some() || recently(state.up) || recently(state.busy)
    }

    async fn open(&self) -> Result<Link, Down> {
        let find = Arc::clone(&self.find);
        // The disk may be slow.
        let access = tokio::task::spawn_blocking(move || find()).await.map_err(|_| Down::Broken)?;
        let access = access.map_err(Down::Access)?;
        Link::open(&access).await.map_err(|error| Down::Open(Arc::new(error)))
    }
}
