//! Attacks on each check of a request.

use guard_tests::served::{Page, Response, Session, answer};
use guard_tests::{Held, World};
use serde_json::Value;

use crate::world::{path, world};

/// A question that waits, and a session that is signed in.
struct Scene<'w> {
    world: &'w World,
    page: Page,
    session: Session,
    card: Value,
    held: Held<'w>,
}

impl<'w> Scene<'w> {
    fn new(world: &'w World) -> Scene<'w> {
        let page = world.serve();
        let session = page.enter(&page.link);
        let held = world.start(&["bash", "-c", &format!("{} one", path(world, "bin/asked"))]);
        let card = page.events(&session).card();
        Scene { world, page, session, card, held }
    }

    /// Returns the body that an attacker would send. Everything in it is right.
    fn yes(&self) -> String {
        answer(&self.card, "allow-once").to_string()
    }

    fn headers(&self) -> Vec<(String, String)> {
        let origin = format!("http://{}", self.page.address);
        let all = [
            ("Host", &*self.page.address),
            ("Origin", &origin),
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/json"),
            ("Cookie", &self.session.cookie),
            ("X-CSRF-Token", &self.session.key),
        ];
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn send(&self, line: &str, headers: &[(String, String)], body: &str) -> Response {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.page.request(line, &headers, body)
    }

    /// Sends the answer with one header left out, or replaced.
    fn with(&self, name: &str, value: Option<&str>) -> Response {
        let mut headers = self.headers();
        headers.retain(|(other, _)| other != name);
        headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        self.send("POST /answer", &headers, &self.yes())
    }

    /// Asserts that nothing has been answered, and that the right request still is.
    fn done(self) {
        assert_eq!(self.world.pending().len(), 1, "nothing of all that was an answer");
        let answered = self.send("POST /answer", &self.headers(), &self.yes());
        assert_eq!(answered.status, 200, "{answered:?}");
        assert_eq!(self.held.end().stdout, "one\n");
    }
}

#[test]
fn a_request_must_be_for_this_host() {
    let world = world();
    let scene = Scene::new(&world);
    let port = scene.page.address.rsplit(':').next().expect("a port");
    let hosts = [
        None,
        Some("evil.example".to_owned()),
        Some(format!("evil.example:{port}")),
        Some(format!("localhost:{port}")),
        Some(format!("127.1:{port}")),
        Some(format!("127.0.0.1.evil.example:{port}")),
        Some(format!("127.0.0.1:{port}@evil.example")),
        Some(format!("[::1]:{port}")),
        Some("127.0.0.1".to_owned()),
        Some("127.0.0.1:1".to_owned()),
        Some(format!("{}, evil.example", scene.page.address)),
    ];
    for host in &hosts {
        let answer = scene.with("Host", host.as_deref());
        assert!(matches!(answer.status, 400 | 421), "{host:?}: {answer:?}");
        for line in ["GET /", "GET /events", "GET /page.js", "GET /nothing"] {
            let mut headers = scene.headers();
            headers.retain(|(name, _)| name != "Host");
            headers.extend(host.iter().map(|host| ("Host".to_owned(), host.clone())));
            let answer = scene.send(line, &headers, "");
            assert!(matches!(answer.status, 400 | 421), "{line} {host:?}: {answer:?}");
        }
    }
    // Two Host headers, and a request line in the form for a proxy.
    let mut twice = scene.headers();
    twice.push(("Host".to_owned(), "evil.example".to_owned()));
    assert!(matches!(scene.send("POST /answer", &twice, &scene.yes()).status, 400 | 421));
    let absolute = format!("POST http://{}/answer", scene.page.address);
    assert_eq!(scene.send(&absolute, &scene.headers(), &scene.yes()).status, 421);
    scene.done();
}

#[test]
fn a_request_must_come_from_the_page() {
    let world = world();
    let scene = Scene::new(&world);
    let port = scene.page.address.rsplit(':').next().expect("a port");
    let origins = [
        None,
        Some("null".to_owned()),
        Some("http://127.0.0.1:3000".to_owned()),
        Some("http://127.0.0.1".to_owned()),
        Some(format!("https://127.0.0.1:{port}")),
        Some(format!("http://localhost:{port}")),
        Some(format!("http://127.0.0.1:{port}.evil.example")),
        Some(format!("http://127.0.0.1:{port}/")),
        Some(String::new()),
    ];
    for origin in &origins {
        let answer = scene.with("Origin", origin.as_deref());
        assert_eq!(answer.status, 403, "{origin:?}: {answer:?}");
        assert_eq!(answer.json()["error"], "elsewhere");
    }
    for site in ["cross-site", "same-site", "", "none, same-origin"] {
        let answer = scene.with("Sec-Fetch-Site", Some(site));
        assert_eq!(answer.status, 403, "{site}: {answer:?}");
        for line in ["GET /", "GET /events", "GET /history", "GET /policy", "GET /page.js"] {
            let mut headers = scene.headers();
            headers.retain(|(name, _)| name != "Sec-Fetch-Site");
            headers.push(("Sec-Fetch-Site".to_owned(), site.to_owned()));
            assert_eq!(scene.send(line, &headers, "").status, 403, "{line} {site}");
        }
    }
    // A script of another port can send these without a preflight: a request with cookies and text.
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("text/json"),
        Some("application/json, text/plain"),
    ] {
        assert_eq!(scene.with("Content-Type", kind).status, 415, "{kind:?}");
    }
    // The page answers no preflight, so no other origin may add headers.
    let preflight = [
        ("Host", &*scene.page.address),
        ("Origin", "http://127.0.0.1:3000"),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "x-csrf-token"),
    ];
    let answer = scene.page.request("OPTIONS /answer", &preflight, "");
    assert_eq!(answer.status, 405);
    assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control")), "{answer:?}");
    scene.done();
}

/// A page elsewhere in the operator's browser opens as many connections as a browser does.
#[test]
fn a_refused_client_keeps_no_connection() {
    let world = world();
    let scene = Scene::new(&world);
    let address = &scene.page.address;
    // The requests do not ask to close the connection: `raw` returns when the server closes it.
    let refused = [
        "Host: evil.example\r\n".to_owned(),
        format!("Host: {address}\r\nSec-Fetch-Site: cross-site\r\n"),
        format!("Host: {address}\r\n"),
    ];
    for headers in refused {
        let answer = scene.page.raw(format!("GET /events HTTP/1.1\r\n{headers}\r\n").as_bytes());
        assert!(answer.contains("\r\nconnection: close\r\n"), "{headers}: {answer}");
    }
    scene.done();
}

/// A server on another port of the host has set as many cookies as a browser keeps.
#[test]
fn foreign_cookies_do_not_block_the_session() {
    let world = world();
    let scene = Scene::new(&world);
    let others = (0..180).map(|n| format!("b{n}={}", "x".repeat(4000))).collect::<Vec<_>>().join("; ");
    let mut headers = scene.headers();
    headers.retain(|(name, _)| name != "Cookie");
    headers.push(("Cookie".to_owned(), format!("{others}; {}", scene.session.cookie)));
    assert_eq!(scene.send("GET /policy", &headers, "").status, 200);
    scene.done();
}

#[test]
fn the_cookie_and_the_key_go_together() {
    let world = world();
    let scene = Scene::new(&world);
    let other = scene.page.enter(&world.link());
    let port = scene.page.address.rsplit(':').next().expect("a port");
    let value = scene.session.cookie.split_once('=').expect("a value").1;
    let cookies = [
        None,
        Some(String::new()),
        Some(format!("guard-{port}=")),
        Some(format!("guard={value}")),
        Some(format!("guard-{port}x={value}")),
        Some(format!("guard-{port}={}", &value[..63])),
        Some(format!("guard-{port}={}", "0".repeat(64))),
        Some(format!("guard-{port}={}", scene.session.key)),
        Some(other.cookie.clone()),
        // A server on another port may put more of its cookies before ours.
        Some(format!("{}; {}", format!("guard-{port}=x; ").repeat(20), scene.session.cookie)),
    ];
    for cookie in &cookies {
        let answer = scene.with("Cookie", cookie.as_deref());
        assert_eq!(answer.status, 403, "{cookie:?}: {answer:?}");
        assert_eq!(answer.json()["error"], "session");
    }
    let keys = [None, Some(""), Some(value), Some(&*other.key), Some(&scene.session.key[..63])];
    for key in keys {
        assert_eq!(scene.with("X-CSRF-Token", key).status, 403, "{key:?}");
        // Nothing else accepts the cookie alone either: the browser sends it to every port of this host.
        for line in ["GET /events", "GET /history", "GET /policy", "POST /leave"] {
            let mut headers = scene.headers();
            headers.retain(|(name, _)| name != "X-CSRF-Token");
            headers.extend(key.map(|key| ("X-CSRF-Token".to_owned(), key.to_owned())));
            assert_eq!(scene.send(line, &headers, "").status, 403, "{line} {key:?}");
        }
    }
    let mut twice = scene.headers();
    twice.push(("X-CSRF-Token".to_owned(), scene.session.key.clone()));
    assert_eq!(scene.send("POST /answer", &twice, &scene.yes()).status, 403);
    // A few foreign cookies before ours keep nobody out.
    let few = format!("guard-{port}=x; other=1; {}", scene.session.cookie);
    let mut headers = scene.headers();
    headers.retain(|(name, _)| name != "Cookie");
    headers.push(("Cookie".to_owned(), few));
    assert_eq!(scene.send("GET /policy", &headers, "").status, 200);
    // The page itself needs only the cookie, and contains no data.
    let bare = scene.page.request("GET /", &[("Host", &scene.page.address)], "");
    assert_eq!(bare.status, 403);
    assert!(bare.body.contains("openclaw-guard approvals serve"), "{bare:?}");
    let page =
        scene.page.request("GET /", &[("Host", &scene.page.address), ("Cookie", &scene.session.cookie)], "");
    assert_eq!(page.status, 200);
    assert!(!page.body.contains(&scene.session.key) && !page.body.contains(value));
    // A session that has left is out, and no other is.
    assert_eq!(scene.page.post("/leave", &other, "{}").status, 204);
    assert_eq!(scene.page.get("/policy", &other).status, 403);
    scene.done();
}

#[test]
fn only_a_well_formed_answer_counts() {
    let world = world();
    let scene = Scene::new(&world);
    for line in [
        "GET /answer",
        "PUT /answer",
        "DELETE /answer",
        "HEAD /answer",
        "OPTIONS /answer",
        "TRACE /answer",
        "PATCH /answer",
    ] {
        assert_eq!(scene.send(line, &scene.headers(), "").status, 405, "{line}");
    }
    let (page, session) = (&scene.page, &scene.session);
    for line in
        ["POST /", "POST /events", "POST /policy", "POST /open?token=x", "GET /leave", "POST /page.js"]
    {
        assert_eq!(scene.send(line, &scene.headers(), "").status, 405, "{line}");
    }
    for path in [
        "/answer/",
        "//answer",
        "/./answer",
        "/x/../answer",
        "/%61nswer",
        "/answer%00",
        "/answer;x",
        "/ANSWER",
        "/../../etc/passwd",
        "/%2e%2e/answer",
        "/assets/page.js",
    ] {
        assert_eq!(scene.send(&format!("POST {path}"), &scene.headers(), &scene.yes()).status, 404, "{path}");
    }
    let right: Value = serde_json::from_str(&scene.yes()).expect("an answer");
    let mut more = right.clone();
    more["more"] = 1.into();
    for body in [
        "",
        "{}",
        "[]",
        "null",
        "allow-once",
        "{\"decision\":\"allow-once\"}",
        &more.to_string(),
        &format!("{right}x"),
    ] {
        let answer = page.post("/answer", session, body);
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
    }
    let long = "x".repeat(16 * 1024 + 1);
    assert_eq!(page.post("/answer", session, &long).status, 413);
    let padded = format!("{right}{}", " ".repeat(16 * 1024));
    assert_eq!(page.post("/answer", session, &padded).status, 413);
    // Values of another card, outdated values, and values of a wrong type.
    for (field, value) in [
        ("version", Value::from(right["version"].as_u64().expect("a number") + 1)),
        ("version", 0.into()),
        ("id", "x".into()),
        ("guard", 1.into()),
        ("decision", "allow".into()),
        ("decision", "ALLOW-ONCE".into()),
        ("decision", "allow-once ".into()),
    ] {
        let mut wrong = right.clone();
        wrong[field] = value;
        let answer = page.post("/answer", session, &wrong.to_string());
        assert_eq!(answer.status, 409, "{wrong}: {answer:?}");
    }
    for wrong in ["-1", "1.5", "\"1\"", "18446744073709551616"] {
        let body = scene
            .yes()
            .replace(&format!("\"version\":{}", right["version"]), &format!("\"version\":{wrong}"));
        assert_eq!(page.post("/answer", session, &body).status, 400, "{body}");
    }
    scene.done();
}

/// Input that is not HTTP, or never ends, is no answer and keeps nobody out.
#[test]
fn malformed_requests_do_not_block_others() {
    let world = world();
    let scene = Scene::new(&world);
    let address = &scene.page.address;
    let long = format!("GET /{} HTTP/1.1\r\nHost: {address}\r\n\r\n", "x".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\nHost: {address}\r\n{}\r\n", "A: b\r\n".repeat(1000));
    let smuggled = format!(
        "POST /answer HTTP/1.1\r\nHost: {address}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\nGET /events HTTP/1.1\r\n\r\n"
    );
    for noise in [
        "x\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &long,
        &many,
        &smuggled,
    ] {
        let response = scene.page.raw(noise.as_bytes());
        assert!(!response.contains(" 200 ") && !response.contains("data:"), "{noise:.80?}: {response}");
    }
    // Silent connections: a few fewer than may be connected at a time.
    let silent: Vec<_> =
        (0..40).map(|_| std::net::TcpStream::connect(address).expect("to connect")).collect();
    assert_eq!(scene.page.get("/policy", &scene.session).status, 200);
    drop(silent);
    scene.done();
}
