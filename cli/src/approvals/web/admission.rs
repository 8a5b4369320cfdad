//! Which requests are listened to. `check` stands before every route; what shows or changes anything takes an
//! [`Admitted`], which nothing but a request with a session's cookie and its key can be made into.
//!
//! The cookie says too little. It is the host's, so that a browser sends it to every port of that address, whoever listens
//! there: a guarded program's server that the operator looks at may know it. And to SameSite all those ports are one site. So
//! there is a key besides, which the page alone has (it comes in the fragment of a redirection, and is kept by origin), and
//! every request must come from the page's own origin.

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

/// The key of a session.
pub const KEY: HeaderName = HeaderName::from_static("x-csrf-token");
/// Cookies of our name that are looked at. Who listens on another port may set more of them.
const MAX_COOKIES: usize = 8;

/// Stands before every route.
pub async fn check(State(desk): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match desk.origin().check(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refused) => refused.into_response(),
    }
}

/// A browser that has a session's cookie: it may have the page, in which nothing stands yet.
#[derive(Debug)]
pub struct KnownBrowser(());

/// A request of the page itself, in a session that lasts.
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

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<AppState>) -> Result<KnownBrowser, Refused> {
        let now = Instant::now();
        let is_known = cookies(&parts.headers, desk.origin().cookie())
            .any(|cookie| desk.sessions(|sessions| sessions.knows(cookie, now)));
        if is_known { Ok(KnownBrowser(())) } else { Err(Refused::NoSession) }
    }
}

impl FromRequestParts<Arc<AppState>> for Admitted {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<AppState>) -> Result<Admitted, Refused> {
        let now = Instant::now();
        let key = one(&parts.headers, &KEY).ok_or(Refused::NoSession)?;
        cookies(&parts.headers, desk.origin().cookie())
            .find_map(|cookie| desk.sessions(|sessions| sessions.find(cookie, key, now)))
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
