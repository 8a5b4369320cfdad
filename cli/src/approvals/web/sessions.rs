//! Links that open the page once, and the sessions that they open. Callers pass the current time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use guard_openclaw::ids;
use subtle::ConstantTimeEq;
use tokio::sync::watch;

/// How long an unused link is valid.
pub const LINK_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long an unused session lasts.
const IDLE_TIMEOUT: Duration = Duration::from_secs(12 * 60 * 60);
/// How many links are valid at a time; a new one replaces the oldest.
const MAX_LINKS: usize = 16;
/// How many sessions are open at a time; a new one replaces the oldest.
const MAX_SESSIONS: usize = 16;

/// 256 random bits. `Debug` does not show them.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    fn new() -> Secret {
        Secret(HEXLOWER.encode(&ids::bytes::<32>()))
    }

    /// The secret as text. Give it only to its holder.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// All links and sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    links: VecDeque<LoginLink>,
    open: VecDeque<WebSession>,
    newest: u64,
}

#[derive(Debug)]
struct LoginLink {
    token: Secret,
    until: Instant,
}

#[derive(Debug)]
struct WebSession {
    number: u64,
    cookie: Secret,
    key: Secret,
    seen: Instant,
    /// Closes with the session.
    alive: watch::Sender<()>,
}

/// The secrets of a new session. The browser sends the cookie to every port of the host; the key stays in the page.
/// Neither is enough without the other.
#[derive(Debug)]
pub struct Opened {
    /// The cookie's value.
    pub cookie: Secret,
    /// The key, for the page.
    pub key: Secret,
}

/// A reference to an open session.
#[derive(Clone, Debug)]
pub struct SessionRef {
    number: u64,
    /// Closes with the session.
    pub alive: watch::Receiver<()>,
}

impl Sessions {
    /// Makes another link and returns its token.
    pub fn link(&mut self, now: Instant) -> Secret {
        self.forget(now);
        let token = Secret::new();
        self.links.push_back(LoginLink { token: token.clone(), until: now + LINK_TIMEOUT });
        if self.links.len() > MAX_LINKS {
            self.links.pop_front();
        }
        token
    }

    /// Opens a session with a link's token, which uses up the link.
    pub fn open(&mut self, token: &str, now: Instant) -> Option<Opened> {
        self.forget(now);
        let at = self.links.iter().position(|link| link.token.is(token))?;
        self.links.remove(at);
        let (cookie, key) = (Secret::new(), Secret::new());
        let (alive, _) = watch::channel(());
        self.newest += 1;
        self.open.push_back(WebSession {
            number: self.newest,
            cookie: cookie.clone(),
            key: key.clone(),
            seen: now,
            alive,
        });
        if self.open.len() > MAX_SESSIONS {
            self.open.pop_front();
        }
        Some(Opened { cookie, key })
    }

    /// Whether a session has this cookie.
    pub fn knows(&mut self, cookie: &str, now: Instant) -> bool {
        self.forget(now);
        self.open.iter().any(|session| session.cookie.is(cookie))
    }

    /// Finds the session with this cookie and this key.
    pub fn find(&mut self, cookie: &str, key: &str, now: Instant) -> Option<SessionRef> {
        self.forget(now);
        let is_it = |session: &&mut WebSession| session.cookie.is(cookie) & session.key.is(key);
        let session = self.open.iter_mut().find(is_it)?;
        session.seen = now;
        Some(SessionRef { number: session.number, alive: session.alive.subscribe() })
    }

    /// Ends a session.
    pub fn end(&mut self, found: &SessionRef) {
        self.open.retain(|session| session.number != found.number);
    }

    fn forget(&mut self, now: Instant) {
        self.links.retain(|link| now < link.until);
        // A session whose page is still connected counts as used.
        self.open.retain(|session| session.alive.receiver_count() > 0 || now < session.seen + IDLE_TIMEOUT);
    }
}
