//! What a prompt looks like, compared with the files in `screens/`. BLESS=1 writes them.

use guard_tests::Replies;

use crate::session::{SIZE, Session, assert_snapshot, world};

/// Draws the prompt that a line causes, and leaves.
fn drawn(name: &str, size: (u16, u16), line: &str) {
    let world = world();
    let mut session = Session::on(&world, size, Replies::Given, "xterm-256color");
    session.line(line);
    let picture = session.prompted();
    assert_snapshot(name, &session.snapshot(&picture));
    session.answer("n");
    session.unprompted();
    session.leave();
}

#[test]
fn a_question() {
    drawn("question", SIZE, "$ASKED -fsSL 'https://example.org/a b'");
}

#[test]
fn many_arguments_are_folded_and_counted() {
    drawn("many-arguments", (24, 80), "$ASKED w{1..600}");
    drawn("long-argument", (24, 80), "$ASKED $(printf %02000d 1)");
}

#[test]
fn control_characters_are_written_out() {
    drawn(
        "controls",
        (24, 80),
        r"$ASKED $'\e[2J\e[31mred' $'two\nlines' $'\u202eevil\u200b' $'\xff' '日本語 é' $'a\u00a0b\u2800c\u3164d\ufe0f'",
    );
}

#[test]
fn terminals_of_any_size() {
    drawn("tiny", (5, 20), "$ASKED a");
    // Wide enough for the longest process ids in one line.
    drawn("small", (8, 52), "$ASKED a");
    drawn("huge", (100, 300), "$ASKED w{1..600}");
}

#[test]
fn a_file() {
    let world = world();
    let mut session = Session::start(&world);
    world.write("else/file", "secret");
    session.line("cat ../else/file");
    let picture = session.prompted();
    assert_snapshot("file", &session.snapshot(&picture));
    session.answer("y");
    session.unprompted();
    session.emulator.expect("secret");
    session.leave();
}

#[test]
fn everything_help_and_always() {
    let world = world();
    let mut session = Session::start(&world);
    session.line("$ASKED {1..40}");
    session.prompted();
    for (name, keys) in
        [("everything", "v"), ("everything-below", "\x1b[6~"), ("question-again", "q"), ("help", "?")]
    {
        session.emulator.keys(keys);
        let picture = session.emulator.rest();
        assert_snapshot(name, &session.snapshot(&picture));
    }
    session.emulator.keys("q");
    let _ = session.emulator.rest();
    session.answer("a");
    let picture = session.emulator.expect("meaning");
    assert_snapshot("always", &session.snapshot(&picture));
    session.answer("q");
    let _ = session.emulator.rest();
    session.answer("x");
    let picture = session.emulator.expect("that is not an answer");
    assert_snapshot("no-answer", &session.snapshot(&picture));
    let _ = session.emulator.rest();
    session.answer("n");
    session.unprompted();
    session.leave();
}

#[test]
fn several() {
    let world = world();
    let mut session = Session::start(&world);
    session.line(
        "for i in one two three; do $ASKED $i & done; cp $ASKED other; ./other four & ./other five & clear",
    );
    session.emulator.expect("3 of 3: ");
    session.emulator.expect("1 of 2");
    let picture = session.prompted();
    let text = session.snapshot(&picture);
    assert!(["one", "two", "three"].iter().all(|argument| text.contains(argument)), "{text}");
    // A yes covers everything that the card lists.
    session.answer("y");
    let picture = session.emulator.expect("work/other");
    assert!(!picture.text.contains("1 of 2, "), "{}", picture.text);
    std::thread::sleep(std::time::Duration::from_secs(1));
    session.answer("n");
    let after = session.unprompted();
    session.emulator.expect("three");
    assert!(
        after.text.contains("ermission") || session.emulator.expect("ermission").text.contains("ermission")
    );
    let text = session.emulator.rest().text;
    assert!(["one", "two", "three"].iter().all(|argument| text.contains(argument)), "{text}");
    assert!(!text.contains("\nfour") && !text.contains("\nfive"), "{text}");
    session.leave();
}
