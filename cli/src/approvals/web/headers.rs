//! The headers of every response.

use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::Response;

/// Allows scripts and styles from the page's own files only, and no framing. Trusted Types also keep the page's own
/// scripts from turning a text into script URLs or markup.
const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";
/// Denies the page every browser feature.
const FEATURES: &str = "accelerometer=(), camera=(), clipboard-read=(), display-capture=(), geolocation=(), \
    gyroscope=(), hid=(), local-fonts=(), magnetometer=(), microphone=(), midi=(), payment=(), \
    publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=()";

/// All headers. There are none for CORS: no other origin may read anything.
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

/// Adds the headers to a response. Closes the connection of a rejected request, since other clients may wait
/// for a free connection.
pub async fn set(mut response: Response) -> Response {
    if matches!(response.status(), StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    for (name, value) in ALL {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
