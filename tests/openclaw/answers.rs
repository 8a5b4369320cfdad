//! The effect of an answer at the gateway, by each kind of client.

use guard_tests::World;
use guard_tests::gateway::{Client, Gateway, Release, gateway};
use serde_json::Value;

use crate::world::{approver, eventually, path, world, world_with};

for_each_release! {
    by_an_app,
    by_the_control_ui,
    by_the_beginning_of_an_id,
    nobody_answers_in_time,
    two_guards,
    what_the_card_says,
}

/// Runs one command three times, and another in between: allow once, deny, allow always, then no question.
/// (For a moment, the guard denies a denied call again without a question.)
fn once_no_always(world: &World, card: impl Fn() -> Value, resolve: impl Fn(&Value, &str)) {
    let asked = path(world, "bin/asked");
    let line = format!("for n in run other run run; do {asked} $n || echo $?; done");
    let held = world.start(&["bash", "-c", &line]);
    let mut ids = Vec::new();
    for decision in ["allow-once", "deny", "allow-always"] {
        let card = card();
        resolve(&card, decision);
        ids.push(card["id"].clone());
    }
    let ended = held.end();
    assert_eq!(ended.stdout, "run\n126\nrun\nrun\n", "{}", ended.stderr);
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
    let audit = world.audit();
    let decided = audit.iter().filter(|line| line.to_string().contains("bin/asked")).count();
    assert!(decided >= 4, "{audit:#?}");
}

/// Waits for a program's next card that is not in `seen`, and adds it there.
fn next_card(client: &Client, command: &str, seen: &std::cell::RefCell<Vec<Value>>) -> Value {
    let is_new = |card: &Value| {
        card["request"]["command"].as_str().is_some_and(|text| text.contains(command))
            && !seen.borrow().contains(&card["id"])
    };
    let card = client.event("exec.approval.requested", is_new).1;
    seen.borrow_mut().push(card["id"].clone());
    card
}

fn by(gateway: &Gateway, client: &Client) {
    let world = world(gateway);
    let (seen, asked) = (Default::default(), path(&world, "bin/asked"));
    once_no_always(
        &world,
        || next_card(client, &asked, &seen),
        |card, decision| {
            client.resolve(card, decision).expect("to answer");
            assert_eq!(client.resolved(card)["decision"], decision);
        },
    );
}

fn by_an_app(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    by(&gateway, &approver(&gateway));
}

fn by_the_control_ui(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    by(&gateway, &Client::control_ui(gateway.port(), gateway.token()).expect("to be let in"));
}

/// Only for the newer release: the older one's command line has no such commands.
#[test]
fn by_the_command_line() {
    let Some(gateway) = gateway(Release::Current) else { return };
    // Without an approver, the gateway would report at once that nobody can answer.
    let _app = approver(&gateway);
    let world = world(&gateway);
    let asked = path(&world, "bin/asked");
    let last = std::cell::RefCell::new(Value::Null);
    once_no_always(
        &world,
        || {
            eventually("another card", || {
                let list = gateway.cli_pending().with(&asked);
                list.first().is_some_and(|card| last.replace(card.clone())["id"] != card["id"])
            });
            last.borrow().clone()
        },
        |card, decision| {
            let output = gateway.approvals(&["resolve", card["id"].as_str().expect("an id"), decision]);
            assert_eq!(output.status, 0, "{output:?}");
        },
    );
    assert_eq!(gateway.cli_pending().with(&asked), Vec::<Value>::new());
}

fn by_the_beginning_of_an_id(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (world, app) = (world(&gateway), approver(&gateway));
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} run; echo $?")]);
    let card = app.card(&asked);
    let id: String = card["id"].as_str().expect("an id").chars().take(8).collect();
    app.resolve(&serde_json::json!({"id": id.to_uppercase()}), "allow-once").expect("to answer");
    assert_eq!(held.end().stdout, "run\n0\n");
    // The question is over at the gateway, too: it refuses another answer.
    let late = app.resolve(&card, "deny").expect_err("it is over");
    assert_eq!(late.0["details"]["reason"], "APPROVAL_ALREADY_RESOLVED", "{late:?}");
}

fn nobody_answers_in_time(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (world, app) = (world_with(&gateway, r#"["gateway"]"#, 2000), approver(&gateway));
    let asked = path(&world, "bin/asked");
    let ended = world.start(&["bash", "-c", &format!("{asked} run; echo $?")]).end();
    assert_eq!(ended.stdout, "126\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("nobody answered in time"), "{}", ended.stderr);
    let card = app.card(&asked);
    eventually("the card goes", || !app.pending().iter().any(|pending| pending["id"] == card["id"]));
    assert!(app.resolve(&card, "allow-once").is_err());
}

fn two_guards(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (worlds, app) = ([world(&gateway), world(&gateway)], approver(&gateway));
    let asked = worlds.each_ref().map(|world| path(world, "bin/asked"));
    let held = [0, 1].map(|n| worlds[n].start(&["bash", "-c", &format!("{} {n}; echo $?", asked[n])]));
    let cards = asked.each_ref().map(|asked| app.card(asked));
    assert_ne!(cards[0]["id"], cards[1]["id"]);
    app.resolve(&cards[1], "allow-once").expect("to answer");
    app.resolve(&cards[0], "deny").expect("to answer");
    assert_eq!(held.map(|held| held.end().stdout), ["126\n", "1\n0\n"]);
}

fn what_the_card_says(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (world, app) = (world(&gateway), approver(&gateway));
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("LD_PRELOAD=./evil.so {asked} 'a b' $'\\e[2J'")]);
    let card = app.card(&asked);
    let request = &card["request"];
    assert_eq!(request["resolvedPath"], *asked);
    assert_eq!(request["cwd"], path(&world, "work"));
    assert_eq!(request["host"], "openclaw-guard");
    assert_eq!(request["agentId"], "main");
    assert_eq!(request["commandArgv"].as_array().map(Vec::len), Some(3), "{request:#}");
    assert_eq!(request["envKeys"], serde_json::json!(["LD_PRELOAD"]), "{request:#}");
    let text = request.to_string();
    assert!(!text.contains("\\u001b") && !text.contains('\u{1b}'), "{text}");
    assert!(!text.contains(gateway.token()), "{text}");
    let why = request["warningText"].as_str().expect("a reason");
    assert!(why.contains("not in the allowlist"), "{why}");
    app.resolve(&card, "deny").expect("to answer");
    assert_eq!(held.end().status, 126);
}
