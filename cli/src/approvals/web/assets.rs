//! What a browser loads, as it stands in `assets/`. Nothing of it is secret, and nothing is put into it.

pub const HTML: &str = "text/html; charset=utf-8";
pub const JSON: &str = "application/json";
pub const TEXT: &str = "text/plain; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A file.
pub struct Asset {
    pub path: &'static str,
    /// What it is, for the browser.
    pub kind: &'static str,
    pub text: &'static str,
}

/// The page.
pub const PAGE: &str = include_str!("assets/index.html");
/// What stands in its place without a session.
pub const CLOSED: &str = include_str!("assets/closed.html");
/// What a link shows that was followed on another page.
pub const DOOR: &str = include_str!("assets/door.html");

/// What the page loads.
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
