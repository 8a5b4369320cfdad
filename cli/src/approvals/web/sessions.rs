//! Links that open the page once, and the sessions that they open. It is told the time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use guard_openclaw::ids;
use subtle::ConstantTimeEq;
use tokio::sync::watch;

/// How long a link that nobody uses opens the page.
pub const LINK_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// How long a session lasts that nobody uses.
const IDLE_TIMEOUT: Duration = Duration::from_secs(12 * 60 * 60);
/// Links at a time; the oldest goes.
const MAX_LINKS: usize = 16;
/// Sessions at a time; the oldest goes.
const MAX_SESSIONS: usize = 16;

/// 256 random bits. `Debug` does not tell them.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    fn new() -> Secret {
        Secret(HEXLOWER.encode(&ids::bytes::<32>()))
    }

    /// The text, for whoever may have it.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is it: how long it takes says nothing of where they differ.
    fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// All of them.
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
    /// Closed with the session.
    alive: watch::Sender<()>,
}

/// What a browser is given when it comes with a link. The cookie goes to every port of the host, whoever listens there; the
/// key stays in the page. Neither opens anything without the other.
#[derive(Debug)]
pub struct Opened {
    /// For the cookie.
    pub cookie: Secret,
    /// For the page.
    pub key: Secret,
}

/// A session as it was found.
#[derive(Clone, Debug)]
pub struct SessionRef {
    number: u64,
    /// Ends with the session.
    pub alive: watch::Receiver<()>,
}

impl Sessions {
    /// Another link: its token.
    pub fn link(&mut self, now: Instant) -> Secret {
        self.forget(now);
        let token = Secret::new();
        self.links.push_back(LoginLink { token: token.clone(), until: now + LINK_TIMEOUT });
        if self.links.len() > MAX_LINKS {
            self.links.pop_front();
        }
        token
    }

    /// Opens a session by a link, which is used up by that.
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

    /// Whether there is a session of this cookie.
    pub fn knows(&mut self, cookie: &str, now: Instant) -> bool {
        self.forget(now);
        self.open.iter().any(|session| session.cookie.is(cookie))
    }

    /// The session of this cookie and this key.
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
        // One whose page is open somewhere is used.
        self.open.retain(|session| session.alive.receiver_count() > 0 || now < session.seen + IDLE_TIMEOUT);
    }
}
