//! Where the page is, and which requests may be for it, by what a browser says of them.

use std::net::SocketAddr;

use axum::http::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use super::reply::problem;

/// Where a link leads.
pub const OPEN: &str = "/open";
/// Where a browser says that a request comes from.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const PURPOSE: HeaderName = HeaderName::from_static("sec-purpose");
/// Why a request is not listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the page is at another address: use the link as it was printed")]
    Host,
    #[error("only GET and POST are known here")]
    Method,
    #[error("the page talks only to itself: this came from somewhere else")]
    Elsewhere,
    #[error("an answer is application/json")]
    Type,
    #[error("there is no session: `openclaw-guard approvals serve` prints another link")]
    NoSession,
}

impl Refused {
    /// For programs.
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

/// Where the page is, as a browser writes it.
#[derive(Clone, Debug)]
pub struct Origin {
    host: String,
    origin: String,
    cookie: String,
}

impl Origin {
    /// Of this address.
    pub fn new(address: SocketAddr) -> Origin {
        Origin {
            host: address.to_string(),
            origin: format!("http://{address}"),
            cookie: format!("guard-{}", address.port()),
        }
    }

    /// The beginning of every URL here.
    pub fn url(&self) -> &str {
        &self.origin
    }

    /// The cookie's name: each page has its own, for all ports of a host share them.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Whether a request is for this page, and may come from where it says that it does. A name that was made to lead here
    /// (DNS rebinding) is not the page's; a browser says truly where a request comes from.
    ///
    /// # Errors
    /// Why it is not listened to.
    pub fn check(&self, request: &Parts) -> Result<(), Refused> {
        let head = &request.headers;
        // What is written in a request for a proxy is not for this server.
        let is_plain = request.uri.authority().is_none();
        if !is_plain || one(head, &HOST) != Some(&self.host) {
            return Err(Refused::Host);
        }
        let is_post = match request.method {
            Method::GET => false,
            Method::POST => true,
            // Not HEAD either: it must not use a link up.
            _ => return Err(Refused::Method),
        };
        let is_ours = match (head.contains_key(ORIGIN), is_post) {
            (true, _) => one(head, &ORIGIN) == Some(&self.origin),
            (false, is_post) => !is_post,
        };
        let site = head.contains_key(&SITE).then(|| one(head, &SITE).unwrap_or_default());
        let is_same_site = matches!(site, None | Some("same-origin" | "none"));
        // A link may stand in a chat. It is used from there on a second request, of this origin.
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

/// Who shows a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOrigin {
    /// Somebody typed or followed it; or what is no browser.
    Here,
    /// It was followed on another page: that page might have done it by itself.
    FromElsewhere,
    /// Nobody: a browser that looks ahead, or a page that would have it as something else than a page.
    Nobody,
}

impl RequestOrigin {
    /// By what a browser says of a request.
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

/// A header that is there once, in ASCII.
pub fn one<'h>(head: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = head.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}
