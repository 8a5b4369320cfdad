//! Lines about denials and programs that draw: no line is drawn into their screen.

use guard_tests::{World, program_text};

use crate::session::Session;

const POLICY: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx"}, "deny": ["@/secret"], "default": "---"}}}"#;

/// What a program does, in Python: `put` writes to the terminal at once, `denied` has a call refused.
const PROGRAM: &str = r#"
import os, sys, time, tty
def put(text): os.write(1, text.encode())
def denied(name):
    try: os.open("../secret" + name, os.O_RDONLY)
    except PermissionError: pass
"#;

/// Runs such a program on a terminal, and returns what was shown.
fn shown(program: &str, options: &str) -> String {
    let world = World::bare().policy(POLICY);
    for name in 0..20 {
        world.write(format!("secret/{name}"), "secret");
    }
    world.write("work/program.py", format!("{PROGRAM}{program}"));
    let mut session = Session::start(&world, true);
    session.line(&format!("RUN=\"${{RUN/ -q / {options} }}\""), &[]);
    session.line(&format!("TERM=xterm $RUN {} program.py", program_text("python3")), &["the end"]);
    session.prompt();
    session.leave()
}

fn offsets<'t>(shown: &str, texts: impl IntoIterator<Item = &'t str>) -> Vec<usize> {
    texts.into_iter().map(|text| shown.find(text).unwrap_or_else(|| panic!("{text:?} in {shown}"))).collect()
}

#[test]
fn a_program_that_has_the_whole_screen_keeps_it() {
    let shown = shown(
        r#"
put("\x1b[?1049h\x1b[Hdrawn"); time.sleep(0.5)
denied("/1"); denied("/2"); denied("/1"); time.sleep(0.5)
put("more\x1b[?1049l"); time.sleep(0.5)
print("the end")
"#,
        "",
    );
    let found = offsets(&shown, ["drawn", "more", "denied read", "secret/2", "the end"]);
    assert!(found.is_sorted(), "{found:?}: {shown:?}");
}

#[test]
fn a_flood_meanwhile_is_counted() {
    let shown = shown(
        r#"
put("\x1b[?1049h"); time.sleep(0.5)
for name in range(20): denied(f"/{name}")
put("\x1b[?1049l"); time.sleep(0.5)
print("the end")
"#,
        "",
    );
    assert!(shown.contains("more lines while a program had the screen"), "{shown:?}");
    assert_eq!(shown.matches("openclaw-guard: denied").count(), 9, "and one hint: {shown:?}");
}

#[test]
fn what_is_held_is_shown_at_the_end_at_the_latest() {
    let shown = shown(
        r#"
put("\x1b[?1049h"); time.sleep(0.5)
denied("/1"); time.sleep(0.5)
put("the end")
"#,
        "",
    );
    let found = offsets(&shown, ["the end", "openclaw-guard: denied read"]);
    assert!(found.is_sorted(), "{shown:?}");
}

#[test]
fn a_line_that_is_edited_is_ended_first() {
    let shown = shown(
        r#"
tty.setraw(0); put("edit> typed"); time.sleep(0.3)
denied("/1"); time.sleep(0.3)
put(" on\r\n"); time.sleep(0.5)
put("next> "); denied("/2"); time.sleep(2)
put("still\r\n"); os.system("stty sane"); print("the end")
"#,
        "",
    );
    let found =
        offsets(&shown, ["edit> typed", " on\r\n", "secret/1", "next> ", "secret/2", "still", "the end"]);
    assert!(found.is_sorted(), "a second is the longest wait: {found:?}: {shown:?}");
}

#[test]
fn a_program_that_draws_on_the_main_screen_is_left_alone() {
    let shown = shown(
        r#"
tty.setraw(0); put("\x1b[?25ldrawn\r\n"); time.sleep(0.5)
denied("/1"); time.sleep(2)
put("still\r\n"); put("\x1b[?25h"); os.system("stty sane"); time.sleep(0.5); print("the end")
"#,
        "",
    );
    let found = offsets(&shown, ["drawn", "still", "secret/1", "the end"]);
    assert!(found.is_sorted(), "{found:?}: {shown:?}");
}

#[test]
fn a_hidden_cursor_alone_holds_nothing() {
    let shown = shown(
        r#"
put("\x1b[?25lspins\n"); time.sleep(0.5)
denied("/1"); time.sleep(0.5)
put("on\n\x1b[?25h"); print("the end")
"#,
        "",
    );
    let found = offsets(&shown, ["spins", "secret/1", "on\r\n", "the end"]);
    assert!(found.is_sorted(), "{found:?}: {shown:?}");
}

#[test]
fn without_lines_nothing_is_said_afterwards_either() {
    let shown = shown(
        r#"
put("\x1b[?1049h"); time.sleep(0.5); denied("/1"); put("\x1b[?1049l"); time.sleep(0.5); print("the end")
"#,
        "-q",
    );
    assert!(!shown.contains("denied"), "{shown:?}");
}
