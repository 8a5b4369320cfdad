//! The gateway beside another route: the first answer counts, and no card stays.

use guard_tests::World;
use guard_tests::gateway::{Client, Release, gateway};
use serde_json::Value;

use crate::world::{approver, eventually, path, world_with};

for_each_release! { answered_elsewhere, answered_at_the_gateway, the_caller_dies, nobody_at_the_gateway, somebody_comes_later }

const BOTH: &str = r#"["cli", "gateway"]"#;

fn is_gone(app: &Client, card: &Value) {
    eventually("the card goes", || !app.pending().iter().any(|pending| pending["id"] == card["id"]));
}

/// Answers with the guard's own command line.
fn answer(world: &World, decision: &str) {
    world.answer(decision);
}

fn answered_elsewhere(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let app = approver(&gateway);
    for (decision, output) in [("allow-once", "run\n0\n"), ("deny", "126\n"), ("allow-always", "run\n0\n")] {
        let world = world_with(&gateway, BOTH, 100_000);
        let asked = path(&world, "bin/asked");
        let held = world.start(&["bash", "-c", &format!("{asked} run; echo $?")]);
        let card = app.card(&asked);
        answer(&world, decision);
        // Also when the guard is about to end.
        assert_eq!(held.end().stdout, output);
        is_gone(&app, &card);
        let reported = app.resolved(&card)["decision"].clone();
        assert_eq!(reported == "deny", decision == "deny", "{reported}");
    }
}

fn answered_at_the_gateway(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (world, app) = (world_with(&gateway, BOTH, 100_000), approver(&gateway));
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} run; echo $?; sleep 1")]);
    let waits = world.wait_for(1).remove(0);
    app.resolve(&app.card(&asked), "allow-once").expect("to answer");
    assert_eq!(world.wait_for(0), Vec::<Value>::new());
    assert_ne!(world.resolve(&waits, "deny").status, 0);
    assert_eq!(held.end().stdout, "run\n0\n");
}

fn the_caller_dies(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (world, app) = (world_with(&gateway, BOTH, 100_000), approver(&gateway));
    let asked = path(&world, "bin/asked");
    let held =
        world.start(&["bash", "-c", &format!("{asked} run & sleep 0.5; kill -KILL $!; wait; echo over")]);
    let card = app.card(&asked);
    is_gone(&app, &card);
    assert_eq!(held.end().stdout, "over\n");
    assert!(app.resolve(&card, "allow-once").is_err());
}

fn nobody_at_the_gateway(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let world = world_with(&gateway, BOTH, 100_000);
    let held = world.start(&["bash", "-c", &format!("{} run; echo $?", path(&world, "bin/asked"))]);
    answer(&world, "allow-once");
    assert_eq!(held.end().stdout, "run\n0\n");
}

/// While the guard waits for the other route, it also asks whoever connects to the gateway.
fn somebody_comes_later(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let world = world_with(&gateway, BOTH, 100_000);
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} run; echo $?")]);
    assert_eq!(world.wait_for(1).len(), 1);
    let app = approver(&gateway);
    let mut cards = Vec::new();
    eventually("the card is there", || {
        cards = app.pending();
        cards.retain(|card| card.to_string().contains(&asked));
        cards.len() == 1
    });
    app.resolve(&cards[0], "allow-once").expect("to answer");
    assert_eq!(held.end().stdout, "run\n0\n");
}
