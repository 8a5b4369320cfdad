//! Input that is not an answer: keys typed before the prompt was seen, pasted text, the mouse, and a
//! terminal's replies.

use std::thread::sleep;
use std::time::Duration;

use guard_tests::Replies;

use crate::session::{SIZE, Session, world};

/// Types keys and asserts that they do not answer: the prompt is still there.
fn ignored(session: &mut Session, keys: &str) {
    session.emulator.keys(keys);
    sleep(Duration::from_millis(300));
    assert!(session.emulator.picture().text.contains(" s left"), "{keys:?} answers");
}

#[test]
fn keys_typed_ahead_go_to_the_program() {
    let world = world();
    let mut session = Session::start(&world);
    // bash reads none of it while the command runs.
    session.line("sleep 1; $ASKED x; read a; echo \"got <$a>\"");
    sleep(Duration::from_millis(300));
    session.emulator.keys("y\r");
    // Keys that arrive as the prompt comes up do not answer either.
    session.emulator.keys_with_an_answer("y\r");
    session.prompted();
    assert!(session.emulator.picture().text.contains(" s left"));
    session.answer("n");
    session.unprompted();
    session.emulator.expect("got <y>");
    // The second line is the shell's next command.
    session.emulator.expect("y: command not found");
    session.leave();
}

#[test]
fn nothing_but_a_key_and_enter_answers() {
    let world = world();
    let mut session = Session::start(&world);
    // What looks like a terminal's reply goes to the command, which ignores it.
    session.line("$ASKED x; read -rs -t 2 -N 9999; exit");
    session.prompted();
    for keys in [
        "\x1b[200~y\r\x1b[201~",
        "yes\r",
        "y\ry\r",
        "\x1by",
        "\x1b[121u\r",
        "\x1b[M yy",
        "\x1b[<0;12;5My",
        "\x1bOy",
        "\x1b]52;c;eQ0K\x1b\\",
        "\x1bP1$ry\r\x1b\\",
        "\x1b[5;5R",
        "\t",
        "\x04",
    ] {
        ignored(&mut session, keys);
    }
    // A single Enter does not answer, whatever preceded it; a second one refuses.
    ignored(&mut session, "x");
    ignored(&mut session, "\r");
    ignored(&mut session, "\r");
    session.emulator.keys("\r");
    session.unprompted();
    session.emulator.expect("ermission");
    let _ = session.emulator.end();
}

#[test]
fn control_c_refuses_one_call_and_nothing_else() {
    let world = world();
    let mut session = Session::start(&world);
    session.line("$ASKED one; echo after; $ASKED two");
    session.prompted();
    session.emulator.keys("\x03");
    // The interrupt did not reach the shell.
    session.emulator.expect("bin/asked two, in ");
    sleep(Duration::from_secs(1));
    session.answer("y");
    session.unprompted();
    let text = session.emulator.expect("\ntwo\n").text;
    assert!(text.contains("\nafter\n") && !text.contains("\none\n"), "{text}");
    session.leave();
}

#[test]
fn a_terminal_that_says_nothing_takes_words() {
    let world = world();
    let mut session = Session::on(&world, SIZE, Replies::Silent, "xterm");
    session.line("$ASKED one");
    let yes = session.yes();
    ignored(&mut session, "y");
    ignored(&mut session, "\r");
    // The word alone may be meant for a question of the program.
    session.slowly("yes");
    session.emulator.expect("type yes and the number");
    session.slowly(&yes);
    session.unprompted();
    session.emulator.expect("\none\n");
    session.leave();
}

#[test]
fn a_terminal_that_knows_no_sequences_has_lines() {
    let world = world();
    let mut session = Session::on(&world, SIZE, Replies::Silent, "dumb");
    session.line("$ASKED one");
    session.emulator.expect("may this program run?");
    let yes = session.yes();
    sleep(Duration::from_millis(2500));
    session.slowly("yes");
    session.slowly(&yes);
    session.emulator.expect("\none\n");
    assert!(!session.emulator.written().contains("\x1b["), "{:?}", session.emulator.written());
    session.leave();
}

/// The command has filled the line to a slow terminal, so the prompt is still on its way.
#[test]
fn a_word_typed_before_the_prompt_is_shown_is_no_answer() {
    for term in ["xterm-256color", "dumb"] {
        let world = world();
        let mut session = Session::on(&world, SIZE, Replies::Given, term);
        session.emulator.lag();
        session.line("$ASKED one");
        let _ = world.wait_for(1);
        sleep(Duration::from_millis(2800));
        for words in ["yes", "y", "yes"] {
            session.slowly(words);
        }
        sleep(Duration::from_millis(500));
        assert_eq!(world.pending().len(), 1, "{term}: the call went on");
        session.emulator.catch_up();
        session.emulator.expect("may this program run?");
        if term == "dumb" {
            let yes = session.yes();
            session.slowly(&yes);
        } else {
            // The terminal has answered, so letters count, and nothing is left of what was typed.
            session.emulator.expect("n deny");
            sleep(Duration::from_millis(1000));
            session.answer("y");
            session.unprompted();
        }
        session.emulator.expect("\none\n");
        session.leave();
    }
}
