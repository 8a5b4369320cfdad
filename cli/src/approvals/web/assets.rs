//! The files that a browser loads, unchanged from `assets/`. They hold no secrets and are not templates.

pub const HTML: &str = "text/html; charset=utf-8";
pub const JSON: &str = "application/json";
pub const TEXT: &str = "text/plain; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file.
pub struct Asset {
    pub path: &'static str,
    /// The content type.
    pub kind: &'static str,
    pub text: &'static str,
}

/// The page.
pub const PAGE: &str = include_str!("assets/index.html");
/// The page for a browser without a session.
pub const CLOSED: &str = include_str!("assets/closed.html");
/// The page for a link that was followed from another site.
pub const LOGIN: &str = include_str!("assets/login.html");

/// The files that the page loads.
pub const ALL: &[Asset] = &[
    Asset { path: "/page.css", kind: "text/css; charset=utf-8", text: include_str!("assets/page.css") },
    Asset { path: "/icon.svg", kind: "image/svg+xml", text: include_str!("assets/icon.svg") },
    Asset { path: "/page.js", kind: SCRIPT, text: include_str!("assets/page.js") },
    Asset { path: "/server.js", kind: SCRIPT, text: include_str!("assets/server.js") },
    Asset { path: "/queue.js", kind: SCRIPT, text: include_str!("assets/queue.js") },
    Asset { path: "/card.js", kind: SCRIPT, text: include_str!("assets/card.js") },
    Asset { path: "/keys.js", kind: SCRIPT, text: include_str!("assets/keys.js") },
    Asset { path: "/views.js", kind: SCRIPT, text: include_str!("assets/views.js") },
    Asset { path: "/dom.js", kind: SCRIPT, text: include_str!("assets/dom.js") },
];
