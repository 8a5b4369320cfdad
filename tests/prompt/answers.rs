//! Answers, and their effect on the call.

use crate::session::{Session, world};

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
