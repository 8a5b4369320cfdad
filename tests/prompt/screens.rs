//! What a prompt looks like. The files in `screens/` are what is drawn; BLESS=1 writes them.

use crate::session::{Session, assert_snapshot, world};

#[test]
fn a_prompt() {
    let world = world();
    let mut session = Session::start(&world);
    session.line("$ASKED -fsSL 'https://example.org/a b'");
    let picture = session.prompted();
    assert_snapshot("question", &session.snapshot(&picture));
    session.answer("n");
    session.unprompted();
    session.leave();
}
