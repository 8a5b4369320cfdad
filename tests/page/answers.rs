//! Answers given on the page take effect.

use guard_tests::until;
use serde_json::Value;

use crate::world::{path, world, world_with};

/// The texts of a card's facts of this name.
fn fact(card: &Value, name: &str) -> Vec<String> {
    let facts = card["facts"].as_array().expect("a list").iter().filter(|fact| fact["name"] == name);
    facts.map(|fact| fact["text"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn a_held_command_runs_once_it_is_allowed() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    let asked = path(&world, "bin/asked");
    let held = world.start(&[
        "bash",
        "-c",
        &format!("{asked} one '<b>two</b>' $'\\e[2J' $'\\xc2\\xa0\\xe2\\xa0\\x80'; {asked} two; echo $?"),
    ]);
    let mut events = page.events(&session);
    let card = events.card();
    assert_eq!(card["operation"], "exec");
    assert_eq!(fact(&card, "program"), [asked.as_str()]);
    for (at, argument) in
        [&asked, "one", "<b>two</b>", "\\u{1B}[2J", "\\u{A0}\\u{2800}"].into_iter().enumerate()
    {
        assert_eq!(fact(&card, &format!("argv[{at}]")), [argument], "{card}");
    }
    assert_eq!(fact(&card, "in"), [world.work().to_str().expect("a plain path")]);
    assert_eq!(fact(&card, "sha256")[0].len(), 64 + " of ".len() + asked.len(), "{card}");
    assert!(fact(&card, "asked by")[0].starts_with("bash "), "{card}");
    assert!(!fact(&card, "because")[0].is_empty() && !fact(&card, "rule")[0].is_empty(), "{card}");
    assert!(card["always"]["saves"][0].as_str().is_some_and(|text| text.contains("bin/asked")), "{card}");
    assert!(card["expires"].as_u64() > card["since"].as_u64());
    let answered = page.answer(&session, &card, "allow-once");
    assert_eq!((answered.status, answered.json()["said"].as_str()), (200, Some("allow-once")));
    // The question is gone, so the same answer again is refused.
    let again = page.answer(&session, &card, "allow-once");
    assert_eq!(again.status, 409, "{again:?}");
    let second = loop {
        let snapshot = events.snapshot().expect("a snapshot");
        if let Some(card) = snapshot["cards"].get(0).filter(|other| other["id"] != card["id"]) {
            break card.clone();
        }
    };
    assert_eq!(page.answer(&session, &second, "deny").status, 200);
    let ended = held.end();
    assert_eq!(ended.stdout, "one <b>two</b> \u{1b}[2J \u{a0}\u{2800}\n126\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("denied by the operator"), "{}", ended.stderr);
    // The page reports what became of both.
    let notes = loop {
        let snapshot = events.snapshot().expect("a snapshot");
        let notes = snapshot["notes"].as_array().expect("a list").clone();
        if notes.iter().filter(|note| note["what"] == "ended").count() == 2 {
            break notes;
        }
    };
    let ends: Vec<_> =
        notes.iter().filter(|note| note["what"] == "ended").map(|note| note["text"].as_str()).collect();
    assert_eq!(ends, [Some("allow-once"), Some("deny")]);
}

#[test]
fn a_process_is_named_as_one() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    let code = format!(
        "import ctypes, os; ctypes.CDLL(None).prctl(15, b'a 7 < bash 41', 0, 0, 0); os.execv({0:?}, [{0:?}])",
        path(&world, "bin/asked")
    );
    let held = world.start(&["/usr/bin/python3", "-c", &code]);
    let card = page.events(&session).card();
    assert!(fact(&card, "asked by")[0].starts_with("'a 7 < bash 41' "), "{card}");
    assert!(card["sentence"].as_str().is_some_and(|text| text.starts_with("'a 7 < bash 41' ")), "{card}");
    assert_eq!(page.answer(&session, &card, "deny").status, 200);
    assert_eq!(held.end().stdout, "");
}

#[test]
fn always_saves_what_the_page_showed() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    let file = path(&world, "else/file");
    let held = world.start(&["cat", &file]);
    let card = page.events(&session).card();
    assert_eq!(card["operation"], "read");
    assert_eq!((fact(&card, "call"), fact(&card, "file")), (vec!["open".to_owned()], vec![file.clone()]));
    let shown = card["always"]["saves"][0].as_str().expect("what is saved").to_owned();
    let answered = page.answer(&session, &card, "allow-always");
    let answer = answered.json();
    let message = answer["said"].as_str().unwrap_or_else(|| panic!("no sentence: {answer}")).to_owned();
    assert!(message.contains("saved in ") && message.contains("guard/approvals.json"), "{message}");
    assert_eq!(held.end().stdout, "secret\n");
    let saved = world.read("home/.openclaw/guard/approvals.json").expect("it is saved");
    assert!(shown.contains(&file) && saved.contains(&file), "{shown}: {saved}");
    // The saved answer applies: no question follows.
    assert_eq!(world.start(&["cat", &file]).end().stdout, "secret\n");
}

#[test]
fn a_decision_that_is_not_offered_is_refused() {
    let world = world_with(100_000, "").policy_text(|text| text.replace("on-miss", "always"));
    let page = world.serve();
    let session = page.enter(&page.link);
    let held = world.start(&[path(&world, "bin/asked")]);
    let card = page.events(&session).card();
    for decision in ["allow-always", "allow-always-directory", "allow-session"] {
        let answered = page.answer(&session, &card, decision);
        assert_eq!((answered.status, &answered.json()["error"]), (409, &"refused".into()), "{answered:?}");
    }
    assert_eq!(world.pending().len(), 1);
    assert_eq!(page.answer(&session, &card, "allow-once").status, 200);
    assert_eq!(held.end().status, 0);
}

#[test]
fn all_pages_see_the_same_and_one_answers() {
    let world = world();
    let page = world.serve();
    let sessions = [page.enter(&page.link), page.enter(&world.link())];
    let held = world.start(&[path(&world, "bin/asked")]);
    let cards = sessions.clone().map(|session| page.events(&session).card());
    assert_eq!(cards[0], cards[1]);
    let statuses = std::thread::scope(|scope| {
        let (page, sessions, cards) = (&page, &sessions, &cards);
        let all =
            [0, 1].map(|n| scope.spawn(move || page.answer(&sessions[n], &cards[n], "allow-once").status));
        all.map(|one| one.join().expect("an answer"))
    });
    assert!(statuses.contains(&200), "{statuses:?}");
    assert_eq!(held.end().status, 0);
}

#[test]
fn a_guard_that_ends_takes_its_cards_along() {
    let world = world();
    let page = world.serve();
    let session = page.enter(&page.link);
    let held = world.start(&[path(&world, "bin/asked")]);
    let mut events = page.events(&session);
    let card = events.card();
    drop(held);
    until("the card has gone", || {
        events.snapshot().is_some_and(|snapshot| snapshot["cards"].as_array().is_some_and(Vec::is_empty))
    });
    let late = page.answer(&session, &card, "allow-once");
    assert_eq!((late.status, &late.json()["error"]), (409, &Value::from("gone")));
}
