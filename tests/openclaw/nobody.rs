//! A gateway at which nobody can be asked: the policy's fallback applies, and nothing hangs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use guard_tests::gateway::{Client, Release, gateway};
use guard_tests::{Ended, World};

use crate::world::{approver, eventually, path, world, world_with, write_token};

for_each_release! {
    no_client_that_could, a_wrong_token, no_token, an_older_token_that_is_changed, a_device_that_is_granted_nothing
}

/// Runs `bin/asked`, which nobody can be asked for.
fn asked_in_vain(world: &World) -> Ended {
    let asked = path(world, "bin/asked");
    let ended = world.start(&["bash", "-c", &format!("{asked} run; echo $?")]).end();
    assert_eq!(ended.stdout, "126\n", "{}", ended.stderr);
    ended
}

/// Checks that a permissive fallback allows the call.
fn with_fallback(world: World) {
    let ended = fallen_back(world);
    assert_eq!((ended.status, &*ended.stdout), (0, "run\n"), "{}", ended.stderr);
}

fn fallen_back(world: World) -> Ended {
    let world = world.policy_text(|text| {
        text.replace(
            r#""security": "allowlist", "ask": "on-miss""#,
            r#""security": "full", "ask": "always", "askFallback": "full""#,
        )
    });
    world.start(&[path(&world, "bin/asked"), "run".to_owned()]).end()
}

fn no_client_that_could(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let stderr = asked_in_vain(&world(&gateway)).stderr;
    assert!(stderr.contains("nobody is connected to the gateway"), "{stderr}");
    with_fallback(world(&gateway));
    // Another guard does not count as an approver.
    let other = Client::connect(gateway.port(), &guard_tests::gateway::Login::guard_like(gateway.token()));
    asked_in_vain(&world(&gateway));
    drop(other);
}

fn a_wrong_token(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let app = approver(&gateway);
    let world = world(&gateway);
    write_token(&world, "another");
    let stderr = asked_in_vain(&world).stderr;
    assert!(stderr.contains("token") && !stderr.contains(gateway.token()), "{stderr}");
    // Somebody is connected but could not be asked, so the fallback does not apply.
    let ended = fallen_back(world);
    assert_eq!((ended.status, &*ended.stdout), (126, ""), "{}", ended.stderr);
    assert_eq!(app.events("exec.approval.requested"), Vec::<serde_json::Value>::new());
}

fn no_token(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let world = world(&gateway);
    std::fs::remove_file(world.root().join("token")).expect("it was there");
    let stderr = asked_in_vain(&world).stderr;
    assert!(stderr.contains(&path(&world, "token")), "{stderr}");
}

/// The guard reads the token when it needs it.
fn an_older_token_that_is_changed(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let app = approver(&gateway);
    let world = world(&gateway);
    write_token(&world, "another");
    let asked = path(&world, "bin/asked");
    let line =
        format!("{asked} one; echo $?; touch first; until [ -e second ]; do sleep 0.1; done; {asked} two");
    let held = world.start(&["bash", "-c", &line]);
    eventually("the first is refused", || world.work().join("first").exists());
    write_token(&world, gateway.token());
    world.write("work/second", "");
    app.resolve(&app.card(&asked), "allow-once").expect("to answer");
    assert_eq!(held.end().stdout, "126\ntwo\n");
}

/// A gateway grants nothing to a client with an `Origin`, such as a browser, until somebody pairs it.
fn a_device_that_is_granted_nothing(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let app = approver(&gateway);
    let relay = as_browser(gateway.port());
    let url = |port: u16| format!("ws://127.0.0.1:{port}");
    let world = world(&gateway).policy_text(|text| text.replace(&url(gateway.port()), &url(relay)));
    let stderr = asked_in_vain(&world).stderr;
    assert!(stderr.contains("PAIRING_REQUIRED") && stderr.contains("openclaw devices approve"), "{stderr}");
    assert_eq!(app.events("exec.approval.requested"), Vec::<serde_json::Value>::new());
}

/// Starts a relay that adds an `Origin` as a browser does, and returns its port.
fn as_browser(gateway: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for inner in listener.incoming().map_while(Result::ok) {
            let outer = TcpStream::connect(("127.0.0.1", gateway)).expect("a gateway");
            let (mut from, mut to) = (inner.try_clone().expect("a copy"), outer.try_clone().expect("a copy"));
            std::thread::spawn(move || {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    from.read_exact(&mut byte).expect("a request");
                    head.extend(byte);
                }
                head.truncate(head.len() - 2);
                head.extend(format!("Origin: http://127.0.0.1:{gateway}\r\n\r\n").into_bytes());
                let _ = to.write_all(&head).and_then(|()| std::io::copy(&mut from, &mut to).map(drop));
            });
            let (mut from, mut to) = (outer, inner);
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
        }
    });
    port
}

#[test]
fn no_gateway() {
    let Some(mut gateway) = gateway(Release::Older) else { return };
    let world = world_with(&gateway, r#"["gateway"]"#, 100_000);
    gateway.end("-TERM");
    let stderr = asked_in_vain(&world).stderr;
    assert!(stderr.contains(&format!("127.0.0.1:{}", gateway.port())), "{stderr}");
}
