//! A gateway that stops while a call waits.

use guard_tests::Held;
use guard_tests::gateway::{Client, Gateway, Release, gateway};
use serde_json::Value;

use crate::world::{approver, eventually, path, world};

for_each_release! { stopped_and_started_again, killed_and_started_again, killed_for_good }

/// Returns the cards of this program that wait on the gateway.
fn waiting(app: &Client, asked: &str) -> Vec<Value> {
    app.pending().into_iter().filter(|card| card.to_string().contains(asked)).collect()
}

/// Starts the gateway again, where the guard asks about the held call anew. Answers and returns the card.
fn goes_on_after_a_start(gateway: &mut Gateway, held: Held<'_>, asked: &str) -> Value {
    gateway.ensure();
    let app = approver(gateway);
    eventually("the card is there again", || waiting(&app, asked).len() == 1);
    let card = waiting(&app, asked).remove(0);
    app.resolve(&card, "allow-once").expect("to answer");
    assert_eq!(held.end().stdout, "run\n0\n");
    assert_eq!(waiting(&app, asked), Vec::<Value>::new());
    card
}

fn stopped_and_started_again(release: Release) {
    let Some(mut gateway) = gateway(release) else { return };
    let (world, app) = (world(&gateway), approver(&gateway));
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} run; echo $?")]);
    let card = app.card(&asked);
    if release == Release::Current {
        // While it stops, the gateway still takes answers to pending questions, but no new requests to wait.
        std::thread::sleep(std::time::Duration::from_secs(1));
        gateway.signal("-TERM");
        eventually("it is about to stop", || app.call("exec.approval.list", serde_json::json!({})).is_err());
        app.resolve(&card, "allow-once").expect("to answer");
        let ended = held.end();
        assert_eq!(ended.stdout, "run\n0\n", "{}", ended.stderr);
        drop(app);
        eventually("it has stopped", || {
            Client::connect(gateway.port(), &guard_tests::gateway::Login::approver(gateway.token())).is_err()
        });
        return gateway.end("-TERM");
    }
    drop(app);
    gateway.end("-TERM");
    goes_on_after_a_start(&mut gateway, held, &asked);
}

fn killed_and_started_again(release: Release) {
    let Some(mut gateway) = gateway(release) else { return };
    let (world, app) = (world(&gateway), approver(&gateway));
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} run; echo $?")]);
    let before = app.card(&asked);
    drop(app);
    gateway.end("-KILL");
    assert_eq!(world.read("out.0").as_deref(), Some(""));
    let card = goes_on_after_a_start(&mut gateway, held, &asked);
    if release == Release::Current {
        // This release does not accept an id twice.
        assert_ne!(card["id"], before["id"]);
    }
}

/// The question is settled as if nobody could be asked, never by a yes.
fn killed_for_good(release: Release) {
    let Some(mut gateway) = gateway(release) else { return };
    let (world, app) = (world(&gateway), approver(&gateway));
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} run; echo $?; {asked} again; echo $?")]);
    app.card(&asked);
    gateway.end("-KILL");
    let ended = held.end();
    assert_eq!(ended.stdout, "126\n126\n", "{}", ended.stderr);
}
