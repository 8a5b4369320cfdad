//! Which requests are served. `check` runs before every route. Routes that show or change anything take an
//! [`Admitted`], which only a request with a session's cookie and key can become.
//!
//! The cookie alone is not enough. Browsers send it to every port of its address. So if the operator opens a page that
//! a guarded program serves there, that program may learn the cookie; and SameSite treats all those ports as one site.
//! So there is also a key that only the page has (it arrives in the fragment of a redirection, and is stored by
//! origin), and every request must come from the page's own origin.
//!
//! Why: docs/decisions.md, "The page's cookie opens nothing alone."

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderName};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::origin::{Refused, one};
use super::sessions::SessionRef;
use super::state::AppState;

/// The header with a session's key.
pub const KEY: HeaderName = HeaderName::from_static("x-csrf-token");
/// How many cookies of our name are examined. A server on another port may set more of them.
const MAX_COOKIES: usize = 8;

/// Runs before every route.
pub async fn check(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match app.origin().check(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refused) => refused.into_response(),
    }
}

/// A browser with a session's cookie. It may load the page, which holds no data yet.
#[derive(Debug)]
pub struct KnownBrowser(());

/// A request of the page itself, in an open session.
#[derive(Debug)]
pub struct Admitted(SessionRef);

impl Admitted {
    /// The session.
    pub fn session(&self) -> &SessionRef {
        &self.0
    }
}

impl FromRequestParts<Arc<AppState>> for KnownBrowser {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<KnownBrowser, Refused> {
        let now = Instant::now();
        let is_known = cookies(&parts.headers, app.origin().cookie())
            .any(|cookie| app.sessions(|sessions| sessions.knows(cookie, now)));
        if is_known { Ok(KnownBrowser(())) } else { Err(Refused::NoSession) }
    }
}

impl FromRequestParts<Arc<AppState>> for Admitted {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Admitted, Refused> {
        let now = Instant::now();
        let key = one(&parts.headers, &KEY).ok_or(Refused::NoSession)?;
        cookies(&parts.headers, app.origin().cookie())
            .find_map(|cookie| app.sessions(|sessions| sessions.find(cookie, key, now)))
            .map(Admitted)
            .ok_or(Refused::NoSession)
    }
}

fn cookies<'h>(head: &'h HeaderMap, name: &'h str) -> impl Iterator<Item = &'h str> {
    let all = head.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|line| line.split(';'))
        .filter_map(move |pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
        .take(MAX_COOKIES)
}
