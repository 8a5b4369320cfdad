//! Attacks that deceive the human who reads and answers. tests/prompt covers the terminal, tests/approval
//! what is tried while a call waits.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use guard_tests::{Ended, World, ended, until};

/// Names with characters that act on a terminal, or that show a reader something else.
const NAMES: [&str; 16] = [
    "plain\u{1b}[2J\u{1b}[1;1H",
    "title\u{1b}]0;x\u{7}",
    "clipboard\u{1b}]52;c;eA==\u{1b}\\",
    "link\u{1b}]8;;mailto:x\u{7}",
    "device\u{1b}P$q\u{1b}\\",
    "control\u{9b}31m",
    "string\u{90}x\u{9c}",
    "turned\u{202e}txt.",
    "isolated\u{2066}x\u{2069}",
    "wide\u{200b}\u{feff}\u{2060}",
    "erased\u{8}\u{8}\u{7f}",
    "line\nopenclaw-guard: all is well\r",
    "blank\u{a0}\u{1680}\u{2003}\u{202f}\u{3000}",
    "filler\u{115f}\u{3164}\u{ffa0}\u{2800}",
    "selected\u{fe0f}\u{180b}\u{180f}\u{34f}\u{e0100}",
    "tagged\u{e0041}\u{e007f}\u{2065}\u{fff0}",
];

/// Everything of the system may run; `bin/asked` needs an answer, and files in `closed/` may not be read.
fn world() -> World {
    let world = World::bare()
        .policy(
            r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss", "timeoutMs": 600000,
                "carriers": ["bash", "sh", "env"]}, "agents": {"*": {"allowlist": [{"pattern": "/usr/**"}]}},
                "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx", "@/bin/**": "r-x", "@/closed/**": "---"},
                "default": "---"}}}"#,
        )
        .attended();
    executable(&world.write("bin/asked", fs::read("/bin/echo").expect("echo")));
    world
}

fn executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("to change a mode");
}

fn asked(world: &World) -> String {
    world.root().join("bin/asked").display().to_string()
}

/// Panics if the text would act on a terminal or forges a line of the guard.
fn assert_harmless(what: &str, text: &str) {
    let acts = |character: char| {
        (character.is_control() && character != '\n')
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{115f}'
                | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' | '\u{34f}' | '\u{180b}'..='\u{180f}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{fff0}'..='\u{fff8}' | '\u{e0000}'..='\u{e0fff}')
    };
    assert!(!text.contains(acts), "{what}: {text:?}");
    let forged = text.lines().any(|line| line.starts_with("openclaw-guard: all is well"));
    assert!(!forged, "{what}: {text:?}");
}

#[test]
fn no_name_acts_in_lines_or_in_the_log() {
    let world = world();
    for name in NAMES {
        let path = world.write(Path::new("closed").join(name), "x");
        // Discards cat's own error message.
        let tried =
            world.guarded(&["bash", "-c", "cat \"$1\" 2>/dev/null", "x", path.to_str().expect("text")]);
        assert_harmless("a line", &tried.stderr);
        assert!(tried.stderr.contains("denied read"), "{name:?}: {}", tried.stderr);
    }
    assert_harmless("the log", &world.audit_text());
    let is_logged = |name: &str| {
        world.audit().iter().any(|line| line["path"].as_str().is_some_and(|path| path.ends_with(name)))
    };
    assert!(NAMES.into_iter().all(is_logged), "every name is in the log, as it is");
}

#[test]
fn no_name_acts_in_answers_of_check() {
    let world = world();
    for name in NAMES {
        let path = world.root().join("closed").join(name);
        for form in [&["check", "--read"][..], &["check", "--json", "--read"]] {
            let output = ended(world.command_of(&guard_tests::guard()).args(form).arg(&path));
            assert_harmless("check", &format!("{}{}", output.stdout, output.stderr));
        }
    }
}

/// Makes `bin/asked` wait with these arguments. Returns how it is listed, as text and as JSON.
fn listed(world: &World, arguments: &[&str]) -> [Ended; 2] {
    let program = asked(world);
    let held = world.start(&[&[&*program], arguments].concat());
    let waiting = world.wait_for(1).remove(0);
    let lists = [world.approvals(&["list"]), world.approvals(&["list", "--json"])];
    assert_eq!(world.resolve(&waiting, "deny").status, 0);
    assert_eq!(held.end().stdout, "");
    lists
}

/// Text that looks like what is written out, and characters that are not seen, are told apart.
#[test]
fn what_is_typed_does_not_look_written_out() {
    let world = world();
    let [list, _] =
        listed(&world, &[r"a\u{200B}b", "a\u{200b}b", r"a\xFFb", "\u{e000}\u{378}", "\u{301}x", r"c:\dir"]);
    let rows: Vec<&str> =
        list.stdout.lines().filter_map(|line| line.trim_start().strip_prefix("argv[")).collect();
    let rows: Vec<&str> =
        rows.iter().filter_map(|row| row.split_once("] ")).map(|(_, row)| row.trim()).collect();
    assert_eq!(
        rows[1..],
        [r"a\\u{200B}b", r"a\u{200B}b", r"a\\xFFb", r"\u{E000}\u{378}", r"\u{301}x", r"c:\dir"],
        "{}",
        list.stdout
    );
}

#[test]
fn no_argument_acts_in_the_list() {
    let world = world();
    for name in NAMES {
        for list in listed(&world, &[name, "\u{1b}[1A\u{1b}[2Kargv[0]   ls"]) {
            assert_harmless("the list", &format!("{}{}", list.stdout, list.stderr));
        }
    }
    assert_harmless("the log", &world.audit_text());
}

#[test]
fn an_argument_does_not_look_like_two() {
    let world = world();
    let [list, _] = listed(&world, &["one\n  argv[2]   two", "three"]);
    let lines: Vec<&str> =
        list.stdout.lines().filter(|line| line.trim_start().starts_with("argv[")).collect();
    assert_eq!(lines.len(), 3, "{}", list.stdout);
}

/// A process chooses its name (prctl(2), PR_SET_NAME), with blanks in it too.
#[test]
fn a_process_does_not_look_like_two() {
    let world = world();
    let program = asked(&world);
    let code = format!(
        "import ctypes, os; ctypes.CDLL(None).prctl(15, b'a 7 < bash 41', 0, 0, 0); \
         os.spawnv(os.P_WAIT, {program:?}, [{program:?}])"
    );
    let held = world.start(&["/usr/bin/python3", "-c", &code]);
    let waiting = world.wait_for(1).remove(0);
    let list = world.approvals(&["list"]).stdout;
    let chain = waiting["askedBy"].as_array().expect("a list");
    assert!(chain.iter().all(|by| by["name"] == "a 7 < bash 41"), "{chain:?}");
    let line = list.lines().find_map(|line| line.trim_start().strip_prefix("asked by")).expect("a line");
    let named = line.split('\'').collect::<Vec<_>>();
    assert_eq!(named.len(), 2 * chain.len() + 1, "{line}");
    assert!(named.iter().skip(1).step_by(2).all(|name| *name == "a 7 < bash 41"), "{line}");
    assert_eq!(world.resolve(&waiting, "deny").status, 0);
    assert_eq!(held.end().stdout, "");
}

#[test]
fn a_long_argument_hides_no_other() {
    let world = world();
    let [list, json] = listed(&world, &[&"a".repeat(10_000), "; rm -rf everything"]);
    assert!(list.stdout.contains("; rm -rf everything"), "{}", list.stdout);
    assert!(json.stdout.contains("; rm -rf everything") && json.stdout.contains(&"a".repeat(10_000)));
}

#[test]
fn bytes_that_are_no_text_do_not_act_either() {
    let world = world();
    let program = asked(&world);
    let held = world.start(&[program.as_ref(), std::ffi::OsStr::from_bytes(b"a\xff\xfe\x9b31m")]);
    let waiting = world.wait_for(1).remove(0);
    let list = world.approvals(&["list"]);
    assert_harmless("the list", &list.stdout);
    assert!(list.stdout.contains('\u{fffd}'), "{}", list.stdout);
    assert_eq!(world.resolve(&waiting, "deny").status, 0);
    assert_eq!(held.end().stdout, "");
}

/// Runs a script that makes a call wait and changes its subject meanwhile; then a human says yes.
fn after(script: &str) -> (World, Ended) {
    let world = world();
    fs::create_dir(world.work().join("d")).expect("a directory");
    fs::copy(world.root().join("bin/asked"), world.work().join("d/asked")).expect("a program");
    fs::write(world.work().join("d/tool"), "#!/bin/sh\necho approved\n").expect("a script");
    executable(&world.work().join("d/tool"));
    fs::write(world.work().join("other"), "#!/bin/sh\necho DECEIVED\n").expect("a script");
    executable(&world.work().join("other"));
    let mut held = world.start(&["bash", "-c", script]);
    let waiting = world.wait_for(1).remove(0);
    world.write("work/go", "");
    until("it has changed", || world.read("work/gone").is_some());
    assert_eq!(world.resolve(&waiting, "allow-once").status, 0);
    // Denies every other call: each is another question.
    until("it has ended", || {
        for more in world.pending() {
            let denied = world.resolve(&more, "deny");
            assert!(denied.status == 0 || !world.pending().contains(&more), "{denied:?}");
        }
        held.has_ended()
    });
    let ended = held.end();
    (world, ended)
}

const CHANGE: &str = "{ while [ ! -e go ]; do sleep .02; done; CHANGE; : > gone; } & ";

fn deceived(change: &str, call: &str) -> String {
    let (_world, output) = after(&format!("{}{call}; wait", CHANGE.replace("CHANGE", change)));
    output.stdout
}

#[test]
fn a_script_that_is_edited_while_it_waits() {
    assert!(!deceived("cat other > d/tool", "d/tool").contains("DECEIVED"));
}

#[test]
fn a_script_that_is_replaced_while_it_waits() {
    assert!(!deceived("mv other d/tool", "d/tool").contains("DECEIVED"));
}

#[test]
fn a_link_that_leads_elsewhere_while_it_waits() {
    assert!(!deceived("ln -sf other link", "ln -s d/tool link; ./link").contains("DECEIVED"));
}

#[test]
fn a_directory_that_is_exchanged_while_it_waits() {
    assert!(!deceived("mkdir e; cp other e/tool; mv d f; mv e d", "d/tool").contains("DECEIVED"));
}

#[test]
fn a_script_that_is_given_to_its_interpreter_after_the_yes() {
    assert!(!deceived("mv other d/tool", "bash -c 'exec d/tool'").contains("DECEIVED"));
}

#[test]
fn a_program_that_becomes_a_script_while_it_waits() {
    assert!(!deceived("mv other d/asked", "d/asked x").contains("DECEIVED"));
}

/// A flood of equal questions trains a human to say yes; the one that differs is asked separately.
#[test]
fn a_flood_of_equal_questions_is_one_and_another_stands_apart() {
    let world = world();
    let program = asked(&world);
    let until_message = "until [ -e go ]; do sleep 0.1; done";
    let script =
        format!("for i in $(seq 100); do {program} same & done; {until_message}; {program} other & wait");
    let held = world.start(&["bash", "-c", &script]);
    until("all of the flood is asked for", || world.pending().iter().any(|card| card["calls"] == 100));
    world.write("work/go", "");
    let cards = world.wait_for(2);
    let same = cards.iter().find(|card| card["argv"][1] == "same").expect("the flood");
    let other = cards.iter().find(|card| card["argv"][1] == "other").expect("the one that differs");
    assert_eq!(world.resolve(same, "allow-once").status, 0);
    assert_eq!(world.resolve(other, "deny").status, 0);
    let output = held.end();
    assert!(!output.stdout.contains("other"), "{}", output.stdout);
}

/// A yes covers only what was shown: another directory, environment or argument is asked again.
#[test]
fn another_directory_and_another_environment_are_other_questions() {
    let world = world();
    let program = asked(&world);
    let held = world.start(&[
        "bash",
        "-c",
        &format!("{program} x; cd d 2>/dev/null; X=1 {program} x; {program} x y"),
    ]);
    world.answer("allow-once");
    for _ in 0..2 {
        let asked = world.wait_for(1).remove(0);
        assert_eq!(world.resolve(&asked, "deny").status, 0);
    }
    assert_eq!(held.end().stdout, "x\n");
}
