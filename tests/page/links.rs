//! Links, and who may have one.

use std::process::{Command, Stdio};

use guard_tests::{World, ended, guard};
use serde_json::Value;

use crate::world::world;

#[test]
fn a_link_opens_the_page_once() {
    let world = world();
    let page = world.serve();
    let path = page.link.split_once(&page.address).expect("a link").1.to_owned();
    let host = ("Host", &*page.address);
    let open = |line: &str, more: &[(&str, &str)]| {
        let headers: Vec<_> = [host].into_iter().chain(more.iter().copied()).collect();
        page.request(&format!("{line} {path}"), &headers, "")
    };
    // Requests that are not a visit leave the link unused.
    assert_eq!(open("HEAD", &[]).status, 405);
    assert_eq!(open("GET", &[("Sec-Purpose", "prefetch")]).status, 403);
    assert_eq!(open("GET", &[("Sec-Purpose", "prefetch;prerender")]).status, 403);
    for dest in ["iframe", "image", "script", "empty", "object"] {
        assert_eq!(open("GET", &[("Sec-Fetch-Dest", dest)]).status, 403, "{dest}");
    }
    // From another page the link only shows a page with a button that opens it.
    for site in ["cross-site", "same-site"] {
        let page = open("GET", &[("Sec-Fetch-Site", site), ("Sec-Fetch-Dest", "document")]);
        assert_eq!(page.status, 200);
        assert!(
            page.header("set-cookie").is_none() && page.body.contains("Open the approvals page"),
            "{page:?}"
        );
        assert!(!page.body.contains("token"), "{page:?}");
    }
    assert_eq!(open("GET", &[("Origin", "http://127.0.0.1:3000")]).status, 403);
    let opened = open("GET", &[("Sec-Fetch-Site", "none"), ("Sec-Fetch-Dest", "document")]);
    assert_eq!(opened.status, 303);
    assert!(opened.header("location").is_some_and(|location| location.starts_with("/#")), "{opened:?}");
    let again = open("GET", &[]);
    assert_eq!(again.status, 403);
    assert!(
        again.header("set-cookie").is_none() && again.body.contains("openclaw-guard approvals serve"),
        "{again:?}"
    );
    for wrong in ["", "?token=", "?token=x", "?other=1", "?token=%00", "?token=a&token=b"] {
        let answer = page.request(&format!("GET /open{wrong}"), &[host], "");
        assert_eq!(answer.status, 403, "{wrong}");
        assert!(answer.header("set-cookie").is_none(), "{wrong}");
    }
}

#[test]
fn the_same_command_gives_another_link() {
    let world = world();
    let page = world.serve();
    let first = page.enter(&page.link);
    let link = world.link();
    assert!(link.starts_with(&format!("http://{}/open?token=", page.address)) && link != page.link, "{link}");
    let second = page.enter(&link);
    assert_ne!(first.cookie, second.cookie);
    for session in [&first, &second] {
        assert_eq!(page.get("/policy", session).status, 200);
    }
    let output = ended(world.serve_command().arg("--json"));
    let output: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(output["event"], "listening");
    let _ = page.enter(output["url"].as_str().expect("a link"));
    // With -q it prints no link, and does not open the other port.
    let quiet = ended(world.serve_command().args(["-q", "--port", "1"]));
    assert_eq!((quiet.status, &*quiet.stdout, &*quiet.stderr), (0, "", ""));
    let socket = world.home().join(".openclaw/guard/page.sock");
    assert!(socket.exists());
    let (status, rest) = page.end();
    assert_eq!((status, &*rest), (0, ""));
    assert!(!socket.exists());
}

#[test]
fn a_killed_page_leaves_its_port_free() {
    let world = world();
    let page = world.serve();
    let socket = world.home().join(".openclaw/guard/page.sock");
    drop(page);
    assert!(socket.exists());
    let page = world.serve();
    let _ = page.enter(&page.link);
}

#[test]
fn serve_runs_without_a_socket_that_another_holds() {
    let world = world();
    let mut watch = Command::new(guard());
    watch.args(["approvals", "watch", "--json"]).env("HOME", world.home()).current_dir(world.root());
    watch.env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME");
    let mut watch = watch.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a watch");
    let socket = world.home().join(".openclaw/exec-approvals.sock");
    guard_tests::until("it listens", || socket.exists());
    let err = world.root().join("serve.err");
    let mut command = world.serve_command();
    command.stderr(std::fs::File::create(&err).expect("a file"));
    let page = guard_tests::served::Page::start(command);
    let session = page.enter(&page.link);
    let stderr = std::fs::read_to_string(err).expect("what it said");
    assert!(
        stderr.contains(
            "approvals socket do not appear on the page: `approvals watch` or `approvals serve` runs already"
        ),
        "{stderr}"
    );
    let held = world.start(&[crate::world::path(&world, "bin/asked")]);
    assert_eq!(page.choose(&session, "deny").status, 200);
    assert_eq!(held.end().status, 126);
    let _ = watch.kill();
    let _ = watch.wait();
}

#[test]
fn nobody_serves_from_inside() {
    let world = World::open();
    let guard = guard();
    let ended = world.guarded(&[guard.to_str().expect("a plain path"), "approvals", "serve"]);
    assert_eq!((ended.status, &*ended.stdout), (125, ""));
    assert!(ended.stderr.contains("this shell is guarded itself"), "{}", ended.stderr);
}

/// Everything is allowed, and a page of the same state directory runs outside.
#[test]
fn the_tree_reaches_neither_the_page_nor_its_links() {
    let world = World::open();
    let page = world.serve();
    let state = world.home().join(".openclaw/guard");
    let (host, port) = page.address.split_once(':').expect("a port");
    let intrude = format!(
        "import socket, sys
for family, at in ((socket.AF_UNIX, '{0}/page.sock'), (socket.AF_INET, ('{1}', {2}))):
    s = socket.socket(family)
    try:
        s.connect(at)
        print(s.recv(100) if family == socket.AF_UNIX else 'connected')
    except OSError as error:
        print(error.errno)
try:
    print(open('{0}/page.lock').read())
except OSError as error:
    print(error.errno)
",
        state.display(),
        host,
        port,
    );
    let ended = world.guarded(&["python3", "-c", &intrude]);
    assert_eq!(ended.stdout, "13\n13\n13\n", "{}", ended.stderr);
    // The page is still there.
    let _ = page.enter(&page.link);
}

/// Whoever listened on an origin first decided what a browser stores for it (cached pages, service workers).
#[test]
fn each_page_has_another_address() {
    let world = world();
    let page = world.serve();
    let (first, port) = page.address.split_once(':').expect("a port");
    let (first, port) = (first.to_owned(), port.to_owned());
    let _ = page.end();
    let at = |more: &[&str]| {
        let mut command = world.serve_command();
        command.args(["--port", &port]).args(more);
        guard_tests::served::Page::start(command)
    };
    let second = at(&[]);
    let (host, again) = second.address.split_once(':').expect("a port");
    assert_eq!(again, port);
    let host: std::net::Ipv4Addr = host.parse().expect("an address");
    assert!(
        host.is_loopback() && host != std::net::Ipv4Addr::LOCALHOST && host.to_string() != first,
        "{host}"
    );
    let _ = second.enter(&second.link);
    let _ = second.end();
    // The operator may name an address, as long as only this host can reach it.
    let named = at(&["--address", "127.0.0.1"]);
    assert_eq!(named.address, format!("127.0.0.1:{port}"));
    let _ = named.enter(&named.link);
    let _ = named.end();
    for other in ["0.0.0.0", "192.0.2.1", "::1", "localhost"] {
        let refused = ended(world.serve_command().args(["--address", other]));
        assert_eq!((refused.status, &*refused.stdout), (125, ""), "{other}");
        assert!(refused.stderr.contains("it is not an address in 127.0.0.0/8"), "{}", refused.stderr);
    }
}
