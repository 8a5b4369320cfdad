//! Code on standard input, or in a pipe: no approval can hold it, so it is shown, and no entry is saved for it.

use std::fs;

use guard_tests::{World, ended};
use serde_json::Value;

use crate::world::{executable, path, world};

/// Returns a world that asks about a shell and a perl of its own, and about nothing else.
fn with_interpreters() -> World {
    let world = world();
    // Under this name it is none of the carriers.
    executable(&world.write("bin/ksh", fs::read("/bin/sh").expect("a shell")));
    executable(&world.write("bin/perl", fs::read("/usr/bin/perl").expect("perl")));
    world.write("work/code", "echo ran\n");
    world
}

#[test]
fn the_input_that_an_interpreter_reads_code_from_is_shown() {
    for (line, from) in [
        ("echo 'echo ran' | @ksh", "standard input: a pipe"),
        ("cat code | @ksh -s x", "standard input: a pipe"),
        ("echo 'print 1' | @perl -", "standard input: a pipe"),
        ("@ksh < code", "standard input: the file @/work/code, as it is when it is read"),
        ("@ksh < /dev/null", "standard input: /dev/null"),
        ("cat code | @ksh /dev/stdin", "/dev/stdin: a pipe"),
        ("@ksh <(cat code)", "/dev/fd/63: a pipe"),
        ("mkfifo fifo; @ksh fifo", "@/work/fifo: the pipe @/work/fifo"),
    ] {
        let world = with_interpreters();
        let line = line.replace("@ksh", &path(&world, "bin/ksh")).replace("@perl", &path(&world, "bin/perl"));
        let held = world.start(&["bash", "-c", &line]);
        let asked = world.wait_for(1).remove(0);
        let row = format!("code from {}", from.replace('@', &world.root().display().to_string()));
        assert_eq!(asked["inputs"], serde_json::json!([row]), "{line}: {asked}");
        assert!(asked["always"]["never"].is_string(), "{line}: {asked}");
        let list = ended(world.command().args(["approvals", "list"])).stdout;
        assert!(list.contains(&format!("  may run   {row}\n")), "{list}");
        assert_eq!(world.resolve(&asked, "deny").status, 0);
        held.end();
    }
}

#[test]
fn plain_data_on_standard_input_is_no_code() {
    let world = with_interpreters();
    let line = format!("cat code | {} code", path(&world, "bin/ksh"));
    let held = world.start(&["bash", "-c", &line]);
    let asked = world.answer("allow-once");
    assert_eq!((asked.get("inputs"), &*held.end().stdout), (None, "ran\n"), "{asked}");
}

/// Of a program that no table knows, a file on standard input may be a program: no entry is saved, and the card shows it.
#[test]
fn a_file_on_standard_input_of_an_unknown_program_is_shown() {
    let world = with_interpreters();
    executable(&world.write("bin/tool", fs::read("/bin/cat").expect("cat")));
    let row =
        format!("code from standard input: the file {}, as it is when it is read", path(&world, "work/code"));
    for (line, is_shown) in [("@ < code", true), ("@ < /dev/null", false), ("echo | @", false)] {
        let line = line.replace('@', &path(&world, "bin/tool"));
        let held = world.start(&["bash", "-c", &line]);
        let asked = world.wait_for(1).remove(0);
        let inputs = asked["inputs"].as_array().cloned().unwrap_or_default();
        assert_eq!(inputs, if is_shown { vec![Value::from(row.clone())] } else { vec![] }, "{line}: {asked}");
        assert_eq!(asked["always"]["never"].is_string(), is_shown, "{line}: {asked}");
        assert_eq!(world.resolve(&asked, "deny").status, 0);
        held.end();
    }
}

/// A yes for what came through one pipe is none for what comes through the next.
#[test]
fn another_pipe_is_another_question() {
    let world = with_interpreters();
    let ksh = path(&world, "bin/ksh");
    let held = world.start(&["bash", "-c", &format!("echo 'echo one' | {ksh}; echo 'echo BAD' | {ksh}")]);
    world.answer("allow-session");
    world.answer("deny");
    let ended = held.end();
    assert_eq!(ended.stdout, "one\n", "{}", ended.stderr);
}

/// A yes is for the content that the file had when it was asked about.
#[test]
fn a_file_that_changes_before_the_answer_is_not_run() {
    let world = with_interpreters();
    let held = world.start(&["bash", "-c", &format!("{} < code", path(&world, "bin/ksh"))]);
    let asked = world.wait_for(1).remove(0);
    fs::write(world.work().join("code"), "echo BAD\n").expect("to write");
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    let ended = held.end();
    assert_eq!(ended.stdout, "", "{}", ended.stderr);
    assert!(ended.stderr.contains("changed while waiting"), "{}", ended.stderr);
}

/// With `strictInlineEval` an interpreter without code in its arguments is saved, but not with code in a pipe: the entry
/// would let any other code pass. What a terminal is to be is typed each time.
#[test]
fn no_entry_is_saved_for_code_from_a_pipe() {
    let world = with_interpreters().policy_text(|text| {
        text.replace(r#""ask": "on-miss","#, r#""ask": "on-miss", "strictInlineEval": true,"#)
    });
    let perl = path(&world, "bin/perl");
    let spawn = format!("import pty; pty.spawn(['{perl}', '-'])");
    world.write("work/spawn.py", spawn);
    let why = "it runs code from standard input or a pipe, which an entry cannot bind";
    for (line, never) in [
        (format!("echo 'print 1' | {perl} -"), Some(why)),
        ("/usr/bin/python3 spawn.py < /dev/null".to_owned(), None),
    ] {
        let held = world.start(&["bash", "-c", &line]);
        let asked = world.wait_for(1).remove(0);
        assert_eq!(asked["always"]["never"].as_str(), never, "{line}: {asked}");
        let is_terminal =
            asked["inputs"][0].as_str().is_some_and(|row| row.contains("the terminal /dev/pts/"));
        assert_eq!(is_terminal, never.is_none(), "{line}: {asked}");
        assert_eq!(world.resolve(&asked, "deny").status, 0);
        held.end();
    }
}

/// Who has the other end of a terminal types there: here a process of the tree.
#[test]
fn a_terminal_that_an_argument_names_is_shown() {
    let world = with_interpreters().policy_text(|text| {
        text.replace(r#""ask": "on-miss","#, r#""ask": "on-miss", "strictInlineEval": true,"#)
    });
    let perl = path(&world, "bin/perl");
    let code = format!(
        "import os, subprocess\nmain, tty = os.openpty()\nname = os.ttyname(tty)\nprint(name, flush=True)\n\
         os.symlink(name, 'link')\nsubprocess.run(['sh', '-c', '{perl} ' + name])\n\
         subprocess.run(['sh', '-c', '{perl} link'])\n"
    );
    world.write("work/open.py", code);
    let held = world.start(&["bash", "-c", "exec /usr/bin/python3 open.py < /dev/null"]);
    for name in [None, Some(path(&world, "work/link"))] {
        let asked = world.wait_for(1).remove(0);
        let terminal = held.stdout().trim().to_owned();
        let named = name.unwrap_or_else(|| terminal.clone());
        let row = format!("code from {named}: the terminal {terminal}; what comes from it is not shown");
        assert_eq!(asked["inputs"], serde_json::json!([row]), "{asked}");
        let notice = format!("its code comes from the terminal {terminal}; not shown");
        assert_eq!(asked["notice"], *notice, "{asked}");
        let list = ended(world.command().args(["approvals", "list"])).stdout;
        assert!(list.lines().nth(1).is_some_and(|line| line.contains(&notice)), "{list}");
        assert!(asked["always"]["never"].is_string(), "{asked}");
        assert_eq!(world.resolve(&asked, "deny").status, 0);
    }
    held.end();
}
