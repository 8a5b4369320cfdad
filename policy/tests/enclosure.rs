//! A sandbox without a container: it takes away from the policy in force, and gives its own directory alone.

use std::net::SocketAddr;

use crate::common::{compile_with, file, host};
use guard_policy::{
    Access, Connection, EnclosedPlace, Enclosure, Host, Interface, Limits, Outcome, Overrides, Page, Policy,
    Request, Transport, decide,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const OWN: &str = "/home/u/.openclaw/guard/sandboxes/s/files";

fn place(path: &str, is_writable: bool) -> EnclosedPlace {
    EnclosedPlace { path: path.as_bytes().to_vec(), is_directory: true, is_writable }
}

fn enclosure(places: Vec<EnclosedPlace>) -> Enclosure {
    Enclosure { own: OWN.as_bytes().to_vec(), places, has_network: false, limits: Limits::default() }
}

fn within(guard: Option<&Value>, enclosure: &Enclosure) -> Policy {
    let host = Host { enclosure: Some(enclosure), ..host() };
    match guard {
        Some(guard) => compile_with(guard, "main", &host, &Overrides::default()),
        None => Policy::without_file("main", &host, &Overrides::default()),
    }
}

fn rights(policy: &Policy, path: &str) -> String {
    policy.rights(path.as_bytes()).to_string()
}

fn wide() -> Value {
    json!({
        "version": 1,
        "exec": { "security": "full", "ask": "off", "roots": ["/"] },
        "network": { "web": { "allowedDomains": ["example.org"] } },
        "elevated": { "enabled": true, "allowFrom": { "local": ["*"] } },
        "permissions": { "persistence": false, "filesystem": { "rules": { "/**": "rwx" }, "deny": ["/w/secret"] } },
    })
}

#[test]
fn a_wide_policy_is_narrowed_to_the_sandbox() {
    let enclosure = enclosure(vec![
        place("/w", true),
        place("/data", false),
        EnclosedPlace { path: b"/one".to_vec(), is_directory: false, is_writable: true },
    ]);
    let policy = within(Some(&wide()), &enclosure);
    for (path, expected) in [
        ("/usr/bin/ls", "r-x"),
        ("/etc/hosts", "r--"),
        ("/etc/shadow", "---"),
        ("/dev/null", "rw-"),
        ("/dev/sda", "---"),
        ("/proc/self/maps", "rw-"),
        ("/proc/1/cmdline", "---"),
        ("/run/systemd/resolve/io.systemd.Resolve", "---"),
        ("/home/u/x", "---"),
        ("/tmp/x", "---"),
        ("/", "---"),
        ("/w/x", "rwx"),
        // A mount cannot be moved or removed.
        ("/w", "r-x"),
        ("/w/secret", "---"),
        ("/wx", "---"),
        ("/data/x", "r-x"),
        ("/one", "rwx"),
        ("/one/x", "---"),
        (OWN, "r-x"),
        (&format!("{OWN}/a/b"), "rwx"),
        ("/home/u/.openclaw/guard/sandboxes/s/lock", "---"),
        ("/home/u/.openclaw/guard/sandboxes/other/files/x", "---"),
        ("/home/u/.openclaw/openclaw.json", "---"),
    ] {
        assert_eq!(rights(&policy, path), expected, "{path}");
    }
    let mut roots = policy.exec_roots();
    roots.retain(|root| !root.starts_with(b"/usr") && !root.starts_with(b"/lib"));
    let roots: Vec<_> = roots.iter().map(|root| String::from_utf8_lossy(root)).collect();
    let expected = ["/bin", "/data", "/gnu/store", OWN, "/nix/store", "/one", "/opt", "/sbin", "/snap", "/w"];
    assert_eq!(roots, expected);
    assert!(!policy.elevated().enabled() && !policy.has_web_rules());
}

#[test]
fn nothing_leads_to_a_network() {
    let mut enclosure = enclosure(Vec::new());
    let policy = within(Some(&wide()), &enclosure);
    for address in ["127.0.0.1:80", "[::1]:443", "93.184.216.34:443", "10.0.0.1:53", "169.254.169.254:80"] {
        let address: SocketAddr = address.parse().unwrap();
        for transport in [Transport::Tcp, Transport::Udp] {
            let connection = Connection {
                address,
                transport,
                interface: Interface::Own,
                page: Page::Down,
                proxy: Some(address.port()),
            };
            for request in [
                Request::Connect(connection),
                Request::Bind { address, transport, page: Page::Down, is_beside: false },
                Request::Sockets,
            ] {
                let verdict = decide(&policy, &request);
                assert_eq!(verdict.outcome, Outcome::Deny, "{request:?}");
                assert_eq!(verdict.reason.rule(), "sandbox network \"none\"");
            }
        }
    }
    assert!(!policy.has_network());
    assert_eq!(policy.tcp_ports(), Some(&[][..]));
    enclosure.has_network = true;
    let policy = within(Some(&wide()), &enclosure);
    assert!(policy.has_web_rules() && policy.has_network());
}

#[test]
fn without_a_file_its_directory_is_the_only_one_that_may_be_written() {
    let enclosure = enclosure(Vec::new());
    let policy = within(None, &enclosure);
    assert_eq!(rights(&policy, &format!("{OWN}/x")), "rwx");
    for path in ["/home/u/work/x", "/tmp/x", "/home/u/.cache/x", "/dev/shm/x", "/home/u/.openclaw/x"] {
        assert_eq!(rights(&policy, path), "---", "{path}");
    }
    assert_eq!(file(&policy, "/usr/lib/x", Access::READ).outcome, Outcome::Allow);
}

/// The workspace of an agent is in the state directory by default, which no policy opens.
#[test]
fn a_place_that_is_always_denied_stays_denied() {
    let places = vec![place("/home/u/.openclaw/workspace", true), place("/home/u/.openclaw", true)];
    let enclosure = enclosure(places);
    for policy in [within(None, &enclosure), within(Some(&wide()), &enclosure)] {
        for path in ["/home/u/.openclaw/workspace/x", "/home/u/.openclaw/openclaw.json"] {
            assert_eq!(rights(&policy, path), "---", "{path}");
        }
    }
}

#[test]
fn a_denial_of_the_operators_covers_its_directory_too() {
    let mut guard = wide();
    guard["permissions"]["filesystem"]["deny"] = json!(["**/*.key", "~/.openclaw/**"]);
    assert_eq!(rights(&within(Some(&guard), &enclosure(Vec::new())), &format!("{OWN}/x")), "---");
    guard["permissions"]["filesystem"]["deny"] = json!(["**/*.key"]);
    assert_eq!(rights(&within(Some(&guard), &enclosure(Vec::new())), &format!("{OWN}/x.key")), "---");
}

#[test]
fn limits_are_the_lower_ones() {
    let mut guard = wide();
    guard["limits"] = json!({ "memory": "1G", "pids": 10 });
    let limits = Limits { memory: Some(2 << 30), pids: Some(5), ..Limits::default() };
    let policy = within(Some(&guard), &Enclosure { limits, ..enclosure(Vec::new()) });
    assert_eq!(policy.limits(), Limits { memory: Some(1 << 30), pids: Some(5), ..Limits::default() });
}

fn paths() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "home",
        "u",
        "work",
        ".openclaw",
        "guard",
        "sandboxes",
        "s",
        "files",
        "usr",
        "etc",
        "dev",
        "x",
        "tmp",
    ]);
    prop::collection::vec(name, 1..7).prop_map(|names| format!("/{}", names.join("/")))
}

fn permission() -> impl Strategy<Value = String> {
    "[r?-][w?-][x?-]"
}

proptest! {
    /// Whatever the policy says, a sandbox grants nothing more outside of its own directory.
    #[test]
    fn it_never_widens(
        rules in prop::collection::btree_map(paths().prop_map(|path| format!("{path}/**")), permission(), 0..5),
        deny in prop::collection::vec(paths(), 0..2),
        places in prop::collection::vec((paths(), any::<bool>(), any::<bool>()), 0..4),
        asked in prop::collection::vec(paths(), 1..20),
        has_file in any::<bool>(),
    ) {
        let guard = json!({
            "version": 1,
            "permissions": { "filesystem": { "rules": rules, "deny": deny } },
        });
        let places = places.into_iter().map(|(path, is_directory, is_writable)| {
            EnclosedPlace { path: path.into_bytes(), is_directory, is_writable }
        });
        let enclosure = enclosure(places.collect());
        let inside = within(has_file.then_some(&guard), &enclosure);
        let outside = match has_file {
            true => compile_with(&guard, "main", &host(), &Overrides::default()),
            false => Policy::without_file("main", &host(), &Overrides::default()),
        };
        for path in asked {
            let is_own = path == OWN || path.starts_with(&format!("{OWN}/"));
            let (inner, outer) = (inside.rights(path.as_bytes()), outside.rights(path.as_bytes()));
            prop_assert!(is_own || inner.within(outer), "{path}: {inner} in, {outer} out");
        }
    }
}
