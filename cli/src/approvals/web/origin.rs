//! The page's origin, and which requests may be for it, judged by the browser's headers.

use std::net::SocketAddr;

use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use super::reply::problem;

/// The path of a link.
pub const OPEN: &str = "/open";
/// The header in which a browser reports the site that a request comes from.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");
/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the page has another address: use the link as it was printed")]
    Host,
    #[error("only GET and POST are allowed")]
    Method,
    #[error("the page accepts only its own requests; this one came from another site")]
    Elsewhere,
    #[error("an answer must be application/json")]
    Type,
    #[error("there is no session: `openclaw-guard approvals serve` prints another link")]
    NoSession,
}

impl Refused {
    /// The error code for programs.
    fn code(self) -> &'static str {
        match self {
            Refused::Host => "host",
            Refused::Method => "method",
            Refused::Elsewhere => "elsewhere",
            Refused::Type => "type",
            Refused::NoSession => "session",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Refused::Host => StatusCode::MISDIRECTED_REQUEST,
            Refused::Method => StatusCode::METHOD_NOT_ALLOWED,
            Refused::Type => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Refused::Elsewhere | Refused::NoSession => StatusCode::FORBIDDEN,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        problem(self.status(), self.code(), &self.to_string())
    }
}

/// The page's origin, as browsers write it.
#[derive(Clone, Debug)]
pub struct Origin {
    host: String,
    origin: String,
    cookie: String,
}

impl Origin {
    /// The origin of this address.
    pub fn new(address: SocketAddr) -> Origin {
        Origin {
            host: address.to_string(),
            origin: format!("http://{address}"),
            cookie: format!("guard-{}", address.port()),
        }
    }

    /// The beginning of every URL of the page.
    pub fn url(&self) -> &str {
        &self.origin
    }

    /// The cookie's name. Each page has its own, because all ports of a host share their cookies.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Checks that a request is for this page and comes from a permitted origin. Requests for another host name are
    /// refused, even if it resolves to this address (DNS rebinding). The browser's headers can be trusted for this:
    /// pages cannot set them.
    ///
    /// # Errors
    /// Why the request is refused.
    pub fn check(&self, request: &Parts) -> Result<(), Refused> {
        let head = &request.headers;
        // A request in a proxy's form is not for this server.
        let is_plain = request.uri.authority().is_none();
        if !is_plain || one(head, &HOST) != Some(&self.host) {
            return Err(Refused::Host);
        }
        let is_post = match request.method {
            Method::GET => false,
            Method::POST => true,
            // HEAD is refused too: it must not use up a link.
            _ => return Err(Refused::Method),
        };
        let is_ours = match (head.contains_key(ORIGIN), is_post) {
            (true, _) => one(head, &ORIGIN) == Some(&self.origin),
            (false, is_post) => !is_post,
        };
        let site = head.contains_key(&SITE).then(|| one(head, &SITE).unwrap_or_default());
        let is_same_site = matches!(site, None | Some("same-origin" | "none"));
        // A link may be opened from a chat. It is then used by a second request, which has this origin.
        let is_link = !is_post && request.uri.path() == OPEN;
        if !is_ours || !(is_same_site || is_link) {
            return Err(Refused::Elsewhere);
        }
        if is_post
            && !one(head, &CONTENT_TYPE).is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
        {
            return Err(Refused::Type);
        }
        Ok(())
    }
}

/// How a link was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrigin {
    /// Typed or followed directly, or opened by a program that is not a browser.
    Here,
    /// Followed from another page, which might have done so by itself.
    FromElsewhere,
    /// Not opened by a human: a browser prefetches it, or a page loads it as something other than a page.
    Nobody,
}

impl RequestOrigin {
    /// Judges by the browser's headers.
    pub fn from_headers(head: &HeaderMap) -> RequestOrigin {
        let dest = one(head, &DEST).unwrap_or("document");
        if head.contains_key(&PURPOSE) || head.contains_key("purpose") || dest != "document" {
            return RequestOrigin::Nobody;
        }
        match one(head, &SITE).unwrap_or("none") {
            "none" | "same-origin" => RequestOrigin::Here,
            _ => RequestOrigin::FromElsewhere,
        }
    }
}

/// The value of a header that occurs exactly once and is ASCII.
pub fn one<'h>(head: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = head.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}
