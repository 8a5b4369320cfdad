//! The headers of every response, whatever the request.

use std::collections::BTreeSet;

use guard_tests::served::Response;
use guard_tests::sources;

use crate::world::world;

const CONTENT: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns what a browser loads for the page: all files except HTML, which are responses to something else.
fn files() -> Vec<String> {
    let files = std::fs::read_dir(sources().join("../cli/src/approvals/web/assets"));
    let names =
        files.expect("files").map(|file| file.expect("a file").file_name().into_string().expect("a name"));
    let names: Vec<_> =
        names.filter(|name| !name.ends_with(".html")).map(|name| format!("/{name}")).collect();
    assert!(names.len() > 5, "{names:?}");
    names
}

fn check(what: &str, answer: &Response) {
    let is = |name: &str, value: &str| {
        assert_eq!(answer.header(name), Some(value), "{what}: {name}: {answer:?}");
    };
    is("content-security-policy", CONTENT);
    is("x-content-type-options", "nosniff");
    is("x-frame-options", "DENY");
    is("referrer-policy", "no-referrer");
    is("cache-control", "no-store");
    is("cross-origin-opener-policy", "same-origin");
    is("cross-origin-resource-policy", "same-origin");
    is("cross-origin-embedder-policy", "require-corp");
    let features = answer.header("permissions-policy").unwrap_or_default();
    assert!(features.contains("camera=()") && !features.contains('*'), "{what}: {answer:?}");
    let revealing =
        answer.headers.iter().find(|(name, _)| name.starts_with("access-control") || name == "server");
    assert!(revealing.is_none(), "{what}: {revealing:?}");
    if !answer.body.is_empty() {
        assert!(answer.header("content-type").is_some(), "{what}: {answer:?}");
    }
}

#[test]
fn every_answer_has_every_header() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    let mut seen = BTreeSet::new();
    let mut look = |what: &str, answer: &Response| {
        check(what, answer);
        seen.insert(answer.status);
    };
    let routes =
        ["/", "/history", "/policy", "/history?before=x", "/open", "/open?token=x", "/nothing", "/answer"];
    let host = ("Host", &*page.address);
    let heads = [vec![host], vec![("Host", "evil.example")], vec![host, ("Sec-Fetch-Site", "cross-site")]];
    for path in routes.map(str::to_owned).into_iter().chain(files()) {
        look(&path, &page.get(&path, &session));
        look(&path, &page.request(&format!("HEAD {path}"), &[host], ""));
        for head in &heads {
            look(&path, &page.request(&format!("GET {path}"), head, ""));
        }
    }
    look("400", &page.post("/answer", &session, "{}"));
    look("413", &page.post("/answer", &session, &"x".repeat(20_000)));
    let text = [
        ("Host", &*page.address),
        ("Origin", &format!("http://{}", page.address)),
        ("Content-Type", "text/plain"),
    ];
    look("415", &page.request("POST /answer", &text, "{}"));
    let gone = r#"{"guard":1,"id":"x","version":1,"decision":"deny"}"#;
    look("409", &page.post("/answer", &session, gone));
    let link = world.link();
    let path = link.split_once(&page.address).expect("a link").1;
    look("303", &page.request(&format!("GET {path}"), &[("Host", &page.address)], ""));
    look("204", &page.post("/leave", &session, "{}"));
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [200, 204, 303, 400, 403, 404, 405, 409, 413, 415, 421]);
}

#[test]
fn the_event_stream_has_the_headers_too() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    let mut events = page.events(&session);
    let answer = events.head();
    check("/events", &answer);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    // The event stream ends with the session.
    assert!(events.snapshot().is_some());
    assert_eq!(page.post("/leave", &session, "{}").status, 204);
    while events.snapshot().is_some() {}
    let again = page.get("/events", &session);
    assert_eq!(again.status, 403);
}

#[test]
fn the_cookie_is_no_script_s_and_of_this_site_alone() {
    let world = world();
    let page = world.serve();
    let path = page.link.split_once(&page.address).expect("a link").1;
    let answer = page.request(&format!("GET {path}"), &[("Host", &page.address)], "");
    let cookie = answer.header("set-cookie").expect("a cookie");
    let (name, rest) = cookie.split_once('=').expect("a value");
    let (value, attributes) = rest.split_once(';').expect("attributes");
    assert_eq!(name, format!("guard-{}", page.address.rsplit(':').next().expect("a port")));
    assert!(value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit()), "{value}");
    assert_eq!(attributes, " HttpOnly; SameSite=Strict; Path=/");
}

/// No script is part of the page itself, and it loads nothing from elsewhere.
#[test]
fn the_page_has_no_script_in_it_and_loads_nothing_from_elsewhere() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    for path in ["/", "/open?token=x"].map(str::to_owned).into_iter().chain(files()) {
        // A namespace is only a name: nothing is loaded from it.
        let text = page.get(&path, &session).body.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        for never in [
            "style=",
            "<style",
            "javascript:",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "http:",
            "https:",
            "//cdn",
            "@import",
        ] {
            assert!(!text.contains(never), "{path}: {never}");
        }
        assert!(!text.contains("<script>"), "{path}");
    }
}
