//! A gateway at which nobody can be asked: what the policy says of that holds, and nothing hangs.

use guard_tests::gateway::{Client, Release, gateway};
use guard_tests::{Ended, World};

use crate::world::{approver, eventually, path, tell, world, world_with};

for_each_release! { no_client_that_could, a_wrong_token, no_token, an_older_token_that_is_changed }

/// Runs `bin/asked`, which nobody can be asked for.
fn asked_in_vain(world: &World) -> Ended {
    let asked = path(world, "bin/asked");
    let ended = world.start(&["bash", "-c", &format!("{asked} run; echo $?")]).end();
    assert_eq!(ended.stdout, "126\n", "{}", ended.stderr);
    ended
}

/// With a policy that lets go what nobody can be asked for.
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
    let said = asked_in_vain(&world(&gateway)).stderr;
    assert!(said.contains("nobody is connected to the gateway"), "{said}");
    with_fallback(world(&gateway));
    // Another guard is nobody who could.
    let other = Client::connect(gateway.port(), &guard_tests::gateway::Login::guard_like(gateway.token()));
    asked_in_vain(&world(&gateway));
    drop(other);
}

fn a_wrong_token(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let app = approver(&gateway);
    let world = world(&gateway);
    tell(&world, "another");
    let said = asked_in_vain(&world).stderr;
    assert!(said.contains("token") && !said.contains(gateway.token()), "{said}");
    // Somebody is there, and could not be asked.
    let ended = fallen_back(world);
    assert_eq!((ended.status, &*ended.stdout), (126, ""), "{}", ended.stderr);
    assert_eq!(app.events("exec.approval.requested"), Vec::<serde_json::Value>::new());
}

fn no_token(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let world = world(&gateway);
    std::fs::remove_file(world.root().join("token")).expect("it was there");
    let said = asked_in_vain(&world).stderr;
    assert!(said.contains(&path(&world, "token")), "{said}");
}

/// The token is looked for when it is needed.
fn an_older_token_that_is_changed(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let app = approver(&gateway);
    let world = world(&gateway);
    tell(&world, "another");
    let asked = path(&world, "bin/asked");
    let line =
        format!("{asked} one; echo $?; touch first; until [ -e second ]; do sleep 0.1; done; {asked} two");
    let held = world.start(&["bash", "-c", &line]);
    eventually("the first is refused", || world.work().join("first").exists());
    tell(&world, gateway.token());
    world.write("work/second", "");
    app.resolve(&app.card(&asked), "allow-once").expect("to answer");
    assert_eq!(held.end().stdout, "126\ntwo\n");
}

#[test]
fn no_gateway() {
    let Some(mut gateway) = gateway(Release::Older) else { return };
    let world = world_with(&gateway, r#"["gateway"]"#, 100_000);
    gateway.end("-TERM");
    let said = asked_in_vain(&world).stderr;
    assert!(said.contains(&format!("127.0.0.1:{}", gateway.port())), "{said}");
}
