//! Answers, and their effect on the call.

use guard_tests::Replies;

use crate::session::{Session, world};

const UNSEEN: &str = "read all of it first";

#[test]
fn a_yes_lets_this_call_go_on_and_the_next_is_asked_for() {
    let world = world();
    let mut session = Session::start(&world);
    session.line("$ASKED one");
    session.prompted();
    session.answer("y");
    session.unprompted();
    session.emulator.expect("\none\n");
    session.line("$ASKED two");
    session.prompted();
    session.answer("n");
    session.emulator.expect("ermi");
    assert!(!session.emulator.picture().text.contains("\ntwo\n"));
    session.leave();
}

/// Pages through everything that is known of the call, and back.
fn read(session: &mut Session, pages: usize) {
    session.emulator.keys("v");
    session.emulator.expect("PgDn scroll");
    for _ in 0..pages {
        let _ = session.emulator.rest();
        session.emulator.keys("\x1b[6~");
    }
    let _ = session.emulator.rest();
    session.emulator.keys("q");
    session.emulator.expect("v view");
}

#[test]
fn a_yes_waits_until_every_argument_was_on_the_screen() {
    let world = world();
    let mut session = Session::on(&world, (24, 80), Replies::Given, "xterm-256color");
    session.line("$ASKED {1..2000} last");
    session.prompted();
    for key in ["y", "s"] {
        session.answer(key);
        session.emulator.expect(UNSEEN);
        read(&mut session, 1);
        assert!(!session.emulator.picture().text.contains(UNSEEN));
    }
    // The last page is not all of them.
    session.emulator.keys("v");
    session.emulator.expect("PgDn scroll");
    session.emulator.keys("\x1b[F");
    session.emulator.expect("revision");
    session.emulator.keys("q");
    session.emulator.expect("v view");
    session.answer("y");
    session.emulator.expect(UNSEEN);
    read(&mut session, 6);
    session.answer("y");
    session.unprompted();
    session.emulator.expect(" 2000 last\n");
    session.leave();
}

/// What was drawn on a larger screen may not have been seen on this one.
#[test]
fn a_screen_that_shrinks_hides_no_argument() {
    let world = world();
    let mut session = Session::start(&world);
    session.line("$ASKED {1..300} last");
    session.prompted();
    session.emulator.resize(12, 100);
    session.emulator.expect("more, v to view");
    let _ = session.emulator.rest();
    session.answer("y");
    session.emulator.expect(UNSEEN);
    session.emulator.resize(30, 100);
    session.emulator.wait("all arguments", |picture| picture.text.contains("last, in"));
    let _ = session.emulator.rest();
    session.answer("y");
    session.unprompted();
    session.emulator.expect(" 300 last\n");
    session.leave();
}

#[test]
fn the_entry_that_always_saves_was_on_the_screen() {
    let world = world();
    let mut session = Session::on(&world, (6, 80), Replies::Given, "xterm-256color");
    session.line("$ASKED x");
    session.prompted();
    read(&mut session, 1);
    session.answer("a");
    session.emulator.expect("y save and allow");
    session.answer("y");
    session.emulator.expect(UNSEEN);
    session.answer("n");
    session.unprompted();
    assert!(world.read("home/.openclaw/guard/approvals.json").is_none_or(|text| !text.contains("bin/asked")));
    session.leave();
}

#[test]
fn a_directory_is_let_have_for_a_command() {
    let world = world();
    for name in ["file", "other"] {
        world.write(format!("else/{name}"), format!("content of {name}\n"));
    }
    let mut session = Session::start(&world);
    session.line("cat ../else/file ../else/other");
    session.prompted();
    session.answer("c");
    session.unprompted();
    session.emulator.expect("content of other");
    // The next command is another one, and its retries are denied without a question.
    session.line("cat ../else/file ../else/other; echo over");
    session.prompted();
    session.answer("nc");
    session.unprompted();
    session.emulator.expect("\nover");
    session.leave();
}

#[test]
fn a_program_has_no_directory() {
    let world = world();
    let mut session = Session::start(&world);
    session.line("$ASKED x");
    session.prompted();
    session.answer("c");
    session.emulator.expect("that answer is not offered");
    session.answer("n");
    session.unprompted();
    session.leave();
}

#[test]
fn a_card_shows_each_file_before_it_is_answered() {
    let world = world();
    for name in ["file", "other"] {
        world.write(format!("else/{name}"), format!("content of {name}\n"));
    }
    let mut session = Session::start(&world);
    session.line("bash -c 'cat ../else/file & cat ../else/other & wait; echo over'");
    session.emulator.expect("2 of 2: ");
    session.prompted();
    session.answer("y");
    session.unprompted();
    session.emulator.expect("\nover");
    let text = session.emulator.picture().text;
    assert!(text.contains("content of file") && text.contains("content of other"), "{text}");
    session.leave();
}

/// The pattern is typed over the one that is offered, shown with what it matches, and confirmed.
#[test]
fn the_pattern_that_always_saves_can_be_edited() {
    let world = world();
    for name in ["a.txt", "b.txt", "c.csv"] {
        world.write(format!("else/data/{name}"), format!("content of {name}\n"));
    }
    let mut session = Session::start(&world);
    session.line("cat ../else/data/a.txt");
    session.prompted();
    session.answer("a");
    session.emulator.expect("e edit the pattern");
    session.answer("e");
    session.emulator.expect("change the pattern");
    // A pattern that does not match the file is not saved, and can be mended.
    for _ in 0.."a.txt".len() {
        session.emulator.keys("\x7f");
    }
    session.emulator.keys("*.csv");
    let _ = session.emulator.rest();
    session.emulator.keys("\r");
    session.emulator.expect("the pattern does not match");
    for _ in 0.."csv".len() {
        session.emulator.keys("\x7f");
    }
    session.emulator.keys("txt");
    let _ = session.emulator.rest();
    session.emulator.keys("\r");
    let picture = session.emulator.expect("2 names there now");
    assert!(picture.text.contains("else/data/*.txt"), "{}", picture.text);
    session.answer("y");
    session.unprompted();
    session.emulator.expect("content of a.txt");
    session.line("cat ../else/data/b.txt");
    session.emulator.expect("content of b.txt");
    session.line("cat ../else/data/c.csv");
    session.prompted();
    session.answer("n");
    session.unprompted();
    assert!(
        world
            .read("home/.openclaw/guard/approvals.json")
            .is_some_and(|text| text.contains("else/data/*.txt"))
    );
    session.leave();
}
