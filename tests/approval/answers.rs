//! The effect of an answer, and of one that comes late or twice.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use guard_tests::guard;

use crate::world::{path, world, world_with, world_without_routes};

#[test]
fn a_yes_is_used_once() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} 1; {asked} 1; echo $?")]);
    let first = world.answer("allow-once");
    let second = world.answer("deny");
    assert_ne!(first["id"], second["id"]);
    let ended = held.end();
    assert_eq!(ended.stdout, "1\n126\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("denied by the operator"), "{}", ended.stderr);
}

#[test]
fn nobody_answers() {
    let world = world_with(300, "");
    let asked = path(&world, "bin/asked");
    let held =
        world.start(&["bash", "-c", &format!("{asked} 1; echo $?; cat {}", path(&world, "else/file"))]);
    let ended = held.end();
    assert_eq!(ended.stdout, "126\n", "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("nobody answered in time").count(), 2, "{}", ended.stderr);
}

#[test]
fn the_fallback_decides_unanswered_questions() {
    let world = world_with(300, "").policy_text(|text| {
        text.replace(r#""allowlist", "ask": "on-miss""#, r#""full", "ask": "always", "askFallback": "full""#)
    });
    let ended = world.start(&[path(&world, "bin/asked"), "x".to_owned()]).end();
    assert_eq!((ended.status, &*ended.stdout), (0, "x\n"), "{}", ended.stderr);
}

#[test]
fn a_late_answer_changes_nothing() {
    let world = world_with(8000, "");
    let asked = path(&world, "bin/asked");
    let held =
        world.start(&["bash", "-c", &format!("{asked} 1; echo $?; until [ -e over ]; do sleep 0.1; done")]);
    let question = world.wait_for(1).remove(0);
    assert_eq!(world.wait_for(0).len(), 0);
    let output = world.resolve(&question, "allow-once");
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stderr.contains("expired"), "{output:?}");
    world.write("work/over", "");
    assert_eq!(held.end().stdout, "126\n");
}

#[test]
fn the_same_answer_again_is_fine_and_another_is_not() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let held =
        world.start(&["bash", "-c", &format!("{asked} 1; until [ -e over ]; do sleep 0.1; done; echo end")]);
    let question = world.answer("allow-once");
    assert_eq!(world.resolve(&question, "allow-once").status, 0);
    let output = world.resolve(&question, "deny");
    assert_eq!(output.status, 1);
    assert!(output.stderr.contains("approval already resolved"), "{output:?}");
    world.write("work/over", "");
    assert_eq!(held.end().stdout, "1\nend\n");
}

#[test]
fn without_a_route_the_call_does_not_wait() {
    let world = world_with(100_000, r#", "approvals": {"routes": ["gateway"]}"#);
    let ended = world.start(&[path(&world, "bin/asked"), "x".to_owned()]).end();
    assert_eq!(ended.status, 126);
    assert!(ended.stderr.contains("no-approval-route"), "{}", ended.stderr);
}

/// The timeout is an hour.
#[test]
fn nobody_there_is_known_at_once() {
    let world = world_without_routes("");
    let line = format!("{0} x; {0} y; cat {1}", path(&world, "bin/asked"), path(&world, "else/file"));
    let held = world.start(&["bash", "-c", &line]);
    let ended = held.end();
    assert_eq!((ended.status, &*ended.stdout), (1, ""), "{}", ended.stderr);
    assert_eq!(
        ended.stderr.matches("nobody can be asked: no route in approvals.routes").count(),
        1,
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("waits for approval"), "{}", ended.stderr);
    let asked = world.audit().into_iter().filter(|line| line["event"] == "requested").count();
    assert_eq!(asked, 0, "no question was shown to anybody");
}

#[test]
fn somebody_who_watches_is_somebody() {
    let world = world_without_routes("");
    let mut watch = Command::new(guard());
    watch.args(["approvals", "watch", "--json"]).env("HOME", world.home()).current_dir(world.root());
    watch.env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME").stdin(Stdio::piped());
    let mut watch = watch.stdout(Stdio::piped()).spawn().expect("to start the watch");
    let mut lines = BufReader::new(watch.stdout.take().expect("a pipe")).lines();
    assert!(lines.next().expect("a line").expect("text").contains("listening"));
    let held = world.start(&[path(&world, "bin/asked"), "x".to_owned()]);
    let asked = world.wait_for(1).remove(0);
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    assert_eq!(held.end().stdout, "x\n");
    watch.kill().expect("to end it");
    watch.wait().expect("its end");
    let ended = world.start(&[path(&world, "bin/asked"), "x".to_owned()]).end();
    assert_eq!(ended.status, 126, "{}", ended.stderr);
}

/// The fallback applies when there is nobody to ask, but not after another failure.
#[test]
fn an_unusable_gateway_does_not_count_as_an_absent_one() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let world = world_with(100_000, r#", "approvals": {"routes": ["gateway"]}"#).policy_text(|text| {
        text.replace(r#""allowlist", "ask": "on-miss""#, r#""full", "ask": "always", "askFallback": "full""#)
    });
    let config = format!(r#"{{"gateway": {{"port": {port}, "auth": {{"token": "a long secret"}}}}}}"#);
    world.write("home/.openclaw/openclaw.json", config);
    let command = [path(&world, "bin/asked"), "x".to_owned()];
    let held = world.start(&command);
    // Accepts the guard's connection and closes it without a gateway's reply.
    drop(listener.accept().expect("a call"));
    let ended = held.end();
    assert_eq!((ended.status, &*ended.stdout), (126, ""), "{}", ended.stderr);
    drop(listener);
    let ended = world.start(&command).end();
    assert_eq!((ended.status, &*ended.stdout), (0, "x\n"), "{}", ended.stderr);
}

#[test]
fn a_denial_stands_for_a_moment() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("for i in 1 2 3 4 5; do {asked} x; done; {asked} y")]);
    world.answer("deny");
    let other = world.answer("allow-once");
    assert_eq!(other["argv"][1], "y");
    let ended = held.end();
    assert_eq!(ended.stdout, "y\n");
    assert!(ended.stderr.contains("an equal call was denied a moment ago"), "{}", ended.stderr);
}

#[test]
fn a_yes_for_the_session_is_for_equal_calls() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} x; {asked} x; cd /usr; {asked} x")]);
    world.answer("allow-session");
    // In another directory it is another call.
    let third = world.answer("deny");
    assert_eq!(third["cwd"], "/usr");
    assert_eq!(held.end().stdout, "x\nx\n");
}

#[test]
fn files_are_asked_for_too() {
    let world = world();
    let file = path(&world, "else/file");
    let line = format!("cat {file}; cat {file}; echo more >> {file}; mv {file} {file}2; echo $?");
    let held = world.start(&["bash", "-c", &line]);
    let reads = world.answer("allow-session");
    assert_eq!((&reads["operation"], &reads["resolvedPath"]), (&"read".into(), &file.clone().into()));
    let writes = world.answer("allow-once");
    assert_eq!((&writes["operation"], &writes["resolvedPath"]), (&"write".into(), &file.clone().into()));
    assert_eq!((&reads["call"], &writes["call"]), (&"open".into(), &"open".into()));
    let from = world.answer("allow-once");
    assert_eq!((&from["call"], &from["resolvedPath"]), (&"rename".into(), &file.clone().into()));
    let to = world.answer("allow-once");
    assert_eq!(to["resolvedPath"], format!("{file}2"));
    let ended = held.end();
    assert_eq!(ended.stdout, "secret\nsecret\n0\n", "{}", ended.stderr);
    assert_eq!(world.read("else/file2").as_deref(), Some("secret\nmore\n"));
}

#[test]
fn more_cards_than_anybody_reads_are_refused() {
    let world = world_with(100_000, r#", "approvals": {"maxPending": 2}"#);
    let names = ["a", "b", "c", "d"];
    for name in names {
        world.write(format!("else/{name}"), name);
    }
    let line = names.map(|name| format!("cat {} & ", path(&world, &format!("else/{name}")))).concat();
    let held = world.start(&["bash", "-c", &format!("{line} wait")]);
    let pending = world.wait_for(2);
    guard_tests::until("two are refused", || held.stderr().matches("approvals.maxPending").count() >= 2);
    for asked in pending {
        assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    }
    assert_eq!(held.end().stdout.len(), 2);
}

#[test]
fn equal_calls_that_wait_are_one_question() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("for i in 1 2 3; do {asked} x & done; wait; {asked} x")]);
    guard_tests::until("all three wait", || world.pending().iter().any(|asked| asked["calls"] == 3));
    let first = world.answer("allow-once");
    // Each of the three calls has used its own yes, so a fourth asks again.
    let fourth = world.answer("deny");
    assert_ne!(first["id"], fourth["id"]);
    assert_eq!(held.end().stdout, "x\nx\nx\n");
}

/// The id alone does not say what goes on: another question may have begun with the same letters.
#[test]
fn an_answer_says_what_it_let_go() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let held =
        world.start(&["bash", "-c", &format!("{asked} 'a b' $'\\e[2J'; cat {}", path(&world, "else/file"))]);
    let question = world.wait_for(1).remove(0);
    let output = world.resolve(&question, "allow-once");
    let lines: Vec<&str> = output.stdout.lines().collect();
    let (id, work) = (question["id"].as_str().expect("an id"), world.work().display().to_string());
    let sentence = format!("bash wants to run: {asked} 'a b' '\\u{{1B}}[2J', in {work}");
    assert_eq!(lines[0], format!("allow-once {id}  {sentence}"));
    for line in [&format!("  argv[0]   {asked}"), "  argv[1]   a b", "  argv[2]   \\u{1B}[2J"] {
        assert!(lines.contains(&line), "{line}: {}", output.stdout);
    }
    assert!(lines.iter().any(|line| line.starts_with("  asked by  bash ")), "{}", output.stdout);
    let question = world.wait_for(1).remove(0);
    let output = world.resolve(&question, "deny");
    let file = path(&world, "else/file");
    assert!(
        output.stdout.starts_with("deny ") && output.stdout.contains(&format!(" wants to read {file}\n")),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("  call      open") && output.stdout.contains("  asked by  cat "),
        "{}",
        output.stdout
    );
    assert_eq!(held.end().stdout, "a b \u{1b}[2J\n");
}

/// A card's answer names all that it let go.
#[test]
fn an_answer_to_a_card_says_each_call() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let held = world.start(&["bash", "-c", &format!("{asked} one & {asked} two & wait")]);
    let card = world.wait_for(2);
    let newest = card.iter().filter_map(|one| one["revision"].as_u64()).max().expect("a revision");
    let id = card[0]["id"].as_str().expect("an id");
    let output = world.approvals(&["resolve", id, "deny", "--revision", &newest.to_string()]);
    for argument in ["  argv[1]   one\n", "  argv[1]   two\n"] {
        assert!(output.stdout.contains(argument), "{}", output.stdout);
    }
    assert_eq!(output.stdout.matches("  asked by  bash ").count(), 2, "{}", output.stdout);
    assert_eq!(held.end().stdout, "");
}

/// The rule for a file can have another pattern, which matches the file and lies below the same directory.
#[test]
fn always_saves_the_pattern_that_the_operator_writes() {
    let world = world();
    let file = path(&world, "else/file");
    let held = world.start(&["cat", &file]);
    let question = world.wait_for(1).remove(0);
    let id = question["id"].as_str().expect("an id");
    let below = question["editedBelow"].as_str().expect("a directory");
    assert!(file.starts_with(&format!("{below}/")), "{question}");
    let resolve =
        |decision: &str, pattern: &str| world.approvals(&["resolve", id, decision, "--pattern", pattern]);
    for (decision, pattern, why) in [
        ("allow-always", "/**", "must begin with"),
        ("allow-always", &format!("{below}/../**"), "real paths have no"),
        ("allow-always", &path(&world, "else/other*"), "does not match"),
        ("allow-once", &path(&world, "else/f*"), "the pattern cannot be edited"),
        ("allow-always-directory", &path(&world, "else/f*"), "the pattern cannot be edited"),
    ] {
        let refused = resolve(decision, pattern);
        assert!(refused.status == 1 && refused.stderr.contains(why), "{decision} {pattern}: {refused:?}");
        assert_eq!(world.pending().len(), 1, "{decision} {pattern}");
    }
    let pattern = path(&world, "else/f*");
    let saved = resolve("allow-always", &pattern);
    assert_eq!(saved.status, 0, "{saved:?}");
    assert_eq!(held.end().stdout, "secret\n");
    let list = world.approvals(&["saved"]).stdout;
    assert!(list.contains(&pattern), "{list}");
}
