//! What stands in the head of every answer, whatever it is.

use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::Response;

/// Scripts and styles of the page's own files only, no text becomes either, and nobody frames it. That a script's URL or
/// markup may be made of a text is ruled out for the page's own scripts, too (Trusted Types).
const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";
/// What a page could ask a browser for: nothing of it.
const FEATURES: &str = "accelerometer=(), camera=(), clipboard-read=(), display-capture=(), geolocation=(), \
    gyroscope=(), hid=(), local-fonts=(), magnetometer=(), microphone=(), midi=(), payment=(), \
    publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()";

/// All of them. None of CORS: no other origin is told anything.
const ALL: [(HeaderName, &str); 9] = [
    (CONTENT_SECURITY_POLICY, CONTENT),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (HeaderName::from_static("permissions-policy"), FEATURES),
];

/// Puts them into an answer. Who is not listened to does not keep a connection: others wait for one.
pub async fn set(mut response: Response) -> Response {
    if matches!(response.status(), StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    for (name, value) in ALL {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
