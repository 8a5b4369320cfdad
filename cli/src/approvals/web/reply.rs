//! Builds responses: JSON objects, pages and errors.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

use super::assets;

/// An error, as JSON.
pub fn problem(status: StatusCode, code: &str, message: &str) -> Response {
    object(status, &json!({"error": code, "message": message}))
}

/// A value, as JSON.
pub fn object(status: StatusCode, value: &impl Serialize) -> Response {
    // Serializing strings, numbers and lists of them cannot fail.
    let text = serde_json::to_string(value).unwrap_or_default();
    (status, [(CONTENT_TYPE, assets::JSON)], text).into_response()
}

/// An HTML page.
pub fn html(status: StatusCode, text: &'static str) -> Response {
    (status, [(CONTENT_TYPE, assets::HTML)], text).into_response()
}
