//! Answers by mouse and keyboard count only for the question that is shown.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use crate::harness::{is_enabled, play, signal_scene, start_question, wait_for_scene, world};

/// Starts an HTTP server for one request, and returns its port and what will be the request's text.
fn server() -> (u16, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let asked = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a request");
        let mut head = [0; 1024];
        let length = stream.read(&mut head).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n").expect("an answer");
        String::from_utf8_lossy(&head[..length]).into_owned()
    });
    (port, asked)
}

#[test]
fn a_held_curl_is_approved_by_a_click_and_runs() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let (port, asked) = server();
    let url = format!("http://127.0.0.1:{port}/held");
    let held = world.start(&["bash", "-c", &format!("curl -s '{url}'; echo $?")]);
    let page = world.serve();
    let _ = world.wait_for(1);
    assert!(!asked.is_finished(), "it is held");
    let output = play(&world, &page, "click", &json!({"text": url, "button": "Allow once"}));
    for shown in ["argv[0]", "argv[1]", "-s", &url, "asked by", "bash", "sha256", "not in the allowlist"] {
        assert!(output.contains(shown), "{shown}: {output}");
    }
    let ended = held.end();
    assert_eq!(ended.stdout, "hello\n0\n", "{}", ended.stderr);
    assert!(asked.join().expect("a server").starts_with("GET /held HTTP/1.1"));
    assert!(world.pending().is_empty());
}

#[test]
fn a_click_denies() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let held = start_question(&world, "no");
    let page = world.serve();
    play(&world, &page, "click", &json!({"text": "bin/asked", "button": "Deny"}));
    assert_eq!(held.end().stdout, "126\n");
}

#[test]
fn always_is_shown_first_and_saved() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let held = start_question(&world, "kept");
    let page = world.serve();
    let output = play(&world, &page, "always", &json!({"text": "bin/asked"}));
    assert!(output.contains("bin/asked"), "{output}");
    assert_eq!(held.end().stdout, "kept\n0\n");
    // The same call asks no question.
    assert_eq!(start_question(&world, "kept").end().stdout, "kept\n0\n");
    let store = world
        .read("home/.openclaw/exec-approvals.json")
        .or(world.read("home/.openclaw/guard/approvals.json"));
    assert!(store.is_some_and(|store| store.contains("bin/asked")));
}

#[test]
fn keys_alone_answer() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let first = start_question(&world, "first");
    let _ = world.wait_for(1);
    let second = start_question(&world, "second");
    let _ = world.wait_for(2);
    let page = world.serve();
    play(&world, &page, "keys", &json!({"yes": "first", "no": "second"}));
    assert_eq!(first.end().stdout, "first\n0\n");
    assert_eq!(second.end().stdout, "126\n");
}

/// Covers clicks on a card that has just come under the pointer, and clicks that a script makes in the page.
#[test]
fn a_click_that_was_meant_for_another_answers_nothing() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let first = start_question(&world, "first");
    let _ = world.wait_for(1);
    let page = world.serve();
    let (second, output) = thread::scope(|scope| {
        let browser = scope.spawn(|| play(&world, &page, "hasty", &Value::Null));
        wait_for_scene(&world, "open");
        let second = start_question(&world, "second");
        let _ = world.wait_for(2);
        signal_scene(&world, "both");
        wait_for_scene(&world, "clicked");
        // The first card goes, and the second takes its place.
        assert_eq!(world.pending().len(), 2, "a click at what had just come");
        let pending = world.pending();
        let asked = pending.iter().find(|asked| asked.to_string().contains("first"));
        assert_eq!(world.resolve(asked.expect("the first"), "deny").status, 0);
        (second, browser.join().expect("a browser"))
    });
    assert_eq!(first.end().stdout, "126\n");
    assert!(output.contains("clicks"), "{output}");
    assert_eq!(world.pending().len(), 1, "{output}");
    world.answer("deny");
    assert_eq!(second.end().stdout, "126\n");
}

/// Covers a click or a key that was meant for what was there a moment before.
#[test]
fn a_card_that_appears_under_the_pointer_takes_no_click_at_once() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let held = start_question(&world, "first");
    let page = world.serve();
    play(&world, &page, "uncovered", &Value::Null);
    assert_eq!(held.end().stdout, "first\n0\n");
}

#[test]
fn a_server_that_is_lost_is_shown() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let held = start_question(&world, "x");
    let page = world.serve();
    play(&world, &page, "lost", &Value::Null);
    world.answer("deny");
    assert_eq!(held.end().stdout, "126\n");
}
