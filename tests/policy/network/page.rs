//! The approvals page: out of the tree's reach under every policy, as long as it is served.

use guard_tests::{Announced, World, ended, free_port};

use super::{Listener, TRY, check, each, natively, own_addresses, reachable_addresses, tried};

/// Announces a page at this port.
fn page(world: &World, port: u16) -> Announced {
    Announced::by(world.page_file(&format!("127.0.0.1:{port}\n")))
}

#[test]
fn no_address_of_this_host_reaches_the_page_while_it_is_served() {
    let (at, other) = (Listener::everywhere(), Listener::everywhere());
    // A setting that opens the gateway does not open the page.
    let world = super::world(r#"{"gateway": "allow"}"#);
    let own = own_addresses();
    let served = page(&world, at.port);
    for kind in ["tcp", "mptcp"] {
        let (results, ended) = tried(&world, None, &each(kind, &own, at.port));
        assert_eq!(results, vec!["EACCES"; own.len()], "{kind} {own:?}: {}", ended.stderr);
        let line = format!("openclaw-guard: denied connect 127.0.0.1:{} (the approvals page)", at.port);
        assert!(ended.stderr.lines().any(|text| text == line), "{}", ended.stderr);
    }
    assert_eq!(at.reached(), 0);
    assert_eq!(natively(&world, &each("tcp", &own, at.port)), vec!["ok"; own.len()]);
    assert_eq!(at.reached(), own.len());
    let reachable = reachable_addresses();
    assert_eq!(tried(&world, None, &each("tcp", &reachable, other.port)).0, vec!["ok"; reachable.len()]);
    // The file still contains the address, but anybody may use its port.
    drop(served);
    assert_eq!(tried(&world, None, &each("tcp", &reachable, at.port)).0, vec!["ok"; reachable.len()]);
}

/// A real page: it is served before a guard starts and while it runs, and then killed.
#[test]
fn the_page_as_it_is_served_is_out_of_reach() {
    let world = World::open();
    let served = world.serve();
    let (host, port) = served.address.split_once(':').expect("a port");
    let tries = each("tcp", &[host.to_owned(), format!("::ffff:{host}")], port.parse().expect("a port"));
    assert_eq!(natively(&world, &tries), ["ok"; 2]);
    let (results, ended) = tried(&world, None, &tries);
    assert_eq!(results, ["EACCES"; 2], "{}", ended.stderr);
    // Once it is killed, its port is like any other.
    drop(served);
    let (results, ended) = tried(&world, None, &tries);
    assert_eq!(results, ["ECONNREFUSED"; 2], "{}", ended.stderr);
}

#[test]
fn observing_does_not_open_the_page() {
    let at = Listener::everywhere();
    let world = World::open();
    let tries = each("tcp", &["127.0.0.1".to_owned(), "::1".to_owned()], at.port);
    let observed = || {
        let mut command = world.command();
        ended(command.args(["--observe", "--", "python3", "-S", "-c", TRY]).args(&tries))
    };
    assert_eq!(observed().stdout, "ok\nok\n");
    assert_eq!(at.reached(), 2);
    let _served = page(&world, at.port);
    let refused = observed();
    assert_eq!(refused.stdout, "EACCES\nEACCES\n", "{}", refused.stderr);
    assert!(refused.stderr.contains("openclaw-guard: denied connect 127.0.0.1:"), "{}", refused.stderr);
    assert_eq!(at.reached(), 2, "nobody came since");
}

#[test]
fn nobody_listens_beside_it() {
    let free = free_port();
    let hosts = ["127.0.0.2", "::1", "::ffff:127.0.0.3"].map(str::to_owned);
    let world = World::open();
    let served = page(&world, free);
    let (results, ended) = tried(&world, None, &each("tcpbind", &hosts, free));
    assert_eq!(results, ["EACCES"; 3], "{}", ended.stderr);
    let fine = [each("udpbind", &hosts, free), each("tcpbind", &hosts, 0)].concat();
    assert_eq!(tried(&world, None, &fine).0, ["ok"; 6]);
    drop(served);
    assert_eq!(tried(&world, None, &each("tcpbind", &hosts, free)).0, ["ok"; 3]);
}

/// A page is served, but its file does not contain its address: it may be at every port of this host, and at
/// no other host.
#[test]
fn an_unreadable_page_address_counts_everywhere() {
    let at = Listener::everywhere();
    let world = World::open();
    let hosts = ["127.0.0.1", "::", "::ffff:127.0.0.1"].map(str::to_owned);
    let served = Announced::by(world.page_file("nowhere"));
    let (results, ended) = tried(&world, None, &each("tcp", &hosts, at.port));
    assert_eq!(results, ["EACCES"; 3], "{}", ended.stderr);
    let elsewhere = guard_tests::ended(check(&world, 1).args(["--connect", "203.0.113.7:443"]));
    assert_eq!(elsewhere.status, 0, "{elsewhere:?}");
    drop(served);
    assert_eq!(tried(&world, None, &each("tcp", &hosts, at.port)).0, ["ok"; 3]);
    assert_eq!(at.reached(), 3);
}

#[test]
fn check_and_why_say_the_same() {
    let at = Listener::everywhere();
    let world = World::open();
    let served = page(&world, at.port);
    for host in own_addresses() {
        let Some(address) = super::shown(&host, at.port) else { continue };
        let output = ended(check(&world, 1).args(["--connect", &address]));
        let expected = format!(
            "deny connect {address}\n  the approvals page\n  the guarded tree may not answer its own questions\n"
        );
        assert_eq!((output.status, &output.stdout), (1, &expected), "{}", output.stderr);
    }
    assert_eq!(ended(check(&world, 1).args(["--bind", &format!("127.0.0.9:{}", at.port)])).status, 1);
    assert_eq!(tried(&world, None, &each("tcp", &["127.0.0.1".to_owned()], at.port)).0, ["EACCES"]);
    // The reason is also available once the page is not served any more.
    drop(served);
    let why = ended(world.command().args(["why", "--last"]));
    assert!(why.stdout.contains("builtin.page"), "{why:?}");
    assert!(
        why.stdout.contains("nothing: no policy can allow the guarded tree to answer its own questions"),
        "{why:?}"
    );
    assert_eq!(ended(check(&world, 1).args(["--connect", &format!("127.0.0.1:{}", at.port)])).status, 0);
}
