//! The picture of a prompt in README.md, drawn from a real prompt. BLESS=1 writes it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use guard_tests::{Replies, sources};

use crate::session::{Session, world};

/// Rows and columns.
const SIZE: (u16, u16) = (14, 110);
const LABEL: &str = "a question of openclaw-guard on a terminal";

/// Replaces the placeholders of a snapshot by a home and plausible numbers.
fn readable(text: &str) -> String {
    let text = text.replace("/tmp/guard-XXXXXX/", "/home/u/").replace("999 s left", "118 s left");
    text.replace("bash 999 < bash 999", "bash 4211 < bash 4187")
}

#[test]
fn the_picture_is_of_a_real_prompt() {
    let world = world();
    let deploy = world.write("bin/deploy", fs::read("/bin/echo").expect("echo"));
    fs::set_permissions(deploy, fs::Permissions::from_mode(0o755)).expect("to change a mode");
    let mut session = Session::on(&world, SIZE, Replies::Given, "xterm-256color");
    session.line("../bin/deploy --to production");
    session.prompted();
    let still = session.emulator.still().without_blank_top();
    let svg = still.with_text(|text| readable(&session.normalised(text))).svg(LABEL);
    session.answer("n");
    session.unprompted();
    session.leave();
    let path = sources().join("../docs/prompt.svg");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, svg).expect("to write a picture");
        return;
    }
    let known = fs::read_to_string(&path).expect("a picture: BLESS=1 writes it");
    assert_eq!(svg, known, "{}: BLESS=1 writes it", path.display());
}
