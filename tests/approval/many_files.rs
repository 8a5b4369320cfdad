//! Files among the arguments that are many or large, that are not there yet, or that a link leads to.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use guard_tests::{Held, World, behind, ended, program_text, until};
use serde_json::Value;

use crate::world::{executable, path, world};

/// Returns a world with a make of its own, which is asked about, and the path of that make.
fn with_make() -> (World, String) {
    let world = world();
    executable(&world.write("bin/gmake", fs::read(program_text("make")).expect("make")));
    let make = path(&world, "bin/gmake");
    (world, make)
}

/// Makes the FIFO `go`, at which make waits when it reads its makefiles.
fn fifo(world: &World) {
    let made = std::process::Command::new("mkfifo").arg(world.work().join("go")).status().expect("mkfifo");
    assert!(made.success());
}

/// Opens that FIFO, once make reads it.
fn reached(world: &World) -> File {
    File::options().write(true).open(world.work().join("go")).expect("to let it go on")
}

fn changed_meanwhile(world: &World, held: Held<'_>, asked: &Value) {
    assert_eq!(world.resolve(asked, "allow-once").status, 0);
    let ended = held.end();
    assert!(!ended.stdout.contains("BAD"), "{}", ended.stdout);
    assert!(ended.stderr.contains("changed while waiting"), "{}", ended.stderr);
}

/// Starts make with so many files, and returns the question.
fn makes<'w>(world: &'w World, make: &str, count: usize) -> (Held<'w>, Value) {
    let names: Vec<String> = (0..count).map(|n| format!("f{n}.mk")).collect();
    for name in &names {
        world.write(format!("work/{name}"), "all: ; @:\n");
    }
    let mut argv = vec![make];
    argv.extend(names.iter().flat_map(|name| ["-f", name]));
    let held = world.start(&argv);
    let asked = world.wait_for(1).remove(0);
    (held, asked)
}

/// All of them are shown and bound, not only the first sixteen.
#[test]
fn forty_files_are_all_bound() {
    let (world, make) = with_make();
    let (held, asked) = makes(&world, &make, 40);
    assert_eq!(asked["files"].as_array().map(Vec::len), Some(40), "{asked}");
    world.write("work/f39.mk", "$(info BAD)\n");
    changed_meanwhile(&world, held, &asked);
}

/// Those beyond the bound are counted in the first lines of the card, and a change of one is noticed all the same.
#[test]
fn files_beyond_the_bound_are_counted_and_compared() {
    let (world, make) = with_make();
    let (held, asked) = makes(&world, &make, 300);
    assert_eq!(asked["files"].as_array().map(Vec::len), Some(256), "{asked}");
    let notice = asked["notice"].as_str().expect("a notice");
    assert!(notice.starts_with("44 more files among its arguments may run"), "{notice}");
    assert!(asked["always"]["never"].is_string(), "{asked}");
    let list = ended(world.command().args(["approvals", "list"])).stdout;
    assert!(list.lines().nth(1).is_some_and(|line| line.contains("44 more files")), "{list}");
    world.write("work/f299.mk", "$(info BAD)\n");
    changed_meanwhile(&world, held, &asked);
}

/// Where the supervisor may have few descriptors, it holds fewer files, and compares the others.
#[test]
fn a_start_does_not_take_all_descriptors() {
    let (world, make) = with_make();
    let names: Vec<String> = (0..100).map(|n| format!("f{n}.mk")).collect();
    for name in &names {
        world.write(format!("work/{name}"), "all: ; @:\n");
    }
    let mut guard = world.command();
    guard.arg("--").arg(&make).args(names.iter().flat_map(|name| ["-f", name]));
    let held = world.start_command(behind(&["prlimit", "--nofile=400:400"], &guard));
    let asked = world.wait_for(1).remove(0);
    assert_eq!(asked["files"].as_array().map(Vec::len), Some(50), "{asked}");
    let notice = asked["notice"].as_str().expect("a notice");
    assert!(notice.starts_with("50 more files among its arguments may run"), "{notice}");
    world.write("work/f99.mk", "$(info BAD)\n");
    changed_meanwhile(&world, held, &asked);
}

/// A file that is too large for a copy is shown as what it is when it is read, and compared when the program starts.
#[test]
fn a_large_file_is_shown_and_compared() {
    let (world, make) = with_make();
    let mut text = vec![b'\n'; 65 << 20];
    world.write("work/large.mk", &text);
    let held = world.start(&[&*make, "-f", "large.mk"]);
    let asked = world.wait_for(1).remove(0);
    let large = path(&world, "work/large.mk");
    let row = format!("code from {large}: the file {large}, as it is when it is read");
    assert_eq!(asked["inputs"], serde_json::json!([row]), "{asked}");
    assert!(asked["always"]["never"].is_string(), "{asked}");
    text.extend(b"$(info BAD)\n");
    world.write("work/large.mk", &text);
    changed_meanwhile(&world, held, &asked);
}

#[test]
fn a_file_that_is_made_after_the_yes_does_not_run() {
    let (world, make) = with_make();
    fifo(&world);
    let held = world.start(&[&*make, "-f", "go", "-f", "late.mk", "-f", "d/late.mk"]);
    world.answer("allow-once");
    let writer = reached(&world);
    for name in ["late.mk", "d/late.mk"] {
        world.write(format!("work/{name}"), "$(info BAD)\nall: ; @:\n");
    }
    drop(writer);
    let ended = held.end();
    assert!(!ended.stdout.contains("BAD"), "{}", ended.stdout);
    assert!(ended.stderr.contains("late.mk: No such file"), "{}", ended.stderr);
}

/// A link that leads to a file of the operator's is the tree's to turn.
#[test]
fn a_link_that_is_turned_after_the_yes_leads_where_it_led() {
    let (world, make) = with_make();
    fifo(&world);
    world.write("bin/fixed.mk", "$(info approved)\nall: ; @:\n");
    symlink("../bin/fixed.mk", world.work().join("link.mk")).expect("a link");
    let held = world.start(&[&*make, "-f", "go", "-f", "link.mk"]);
    let asked = world.answer("allow-once");
    assert_eq!(asked["files"][0]["path"], path(&world, "bin/fixed.mk"), "{asked}");
    let writer = reached(&world);
    world.write("work/bad.mk", "$(info BAD)\nall: ; @:\n");
    symlink("bad.mk", world.work().join("new")).expect("a link");
    fs::rename(world.work().join("new"), world.work().join("link.mk")).expect("to turn it");
    drop(writer);
    let ended = held.end();
    assert_eq!(ended.stdout, "approved\n", "{}", ended.stderr);
}

/// What was a directory when it was asked about stays one until the program ends.
#[test]
fn a_directory_does_not_become_a_file_after_the_yes() {
    let (world, make) = with_make();
    fifo(&world);
    world.write("work/bad.mk", "$(info BAD)\nall: ; @:\n");
    fs::create_dir(world.work().join("d")).expect("a directory");
    let attack = "until [ -e asked ]; do sleep 0.01; done; mv d e; mv bad.mk d; touch tried";
    let held = world.start(&["bash", "-c", &format!("{make} -f go -f d & {attack}; wait")]);
    world.answer("allow-once");
    let writer = reached(&world);
    world.write("work/asked", "");
    until("the attack", || world.work().join("tried").exists());
    drop(writer);
    let ended = held.end();
    assert!(!ended.stdout.contains("BAD"), "{}", ended.stdout);
    assert!(ended.stderr.contains("busy"), "{}", ended.stderr);
}

/// What the program and its children make is theirs.
#[test]
fn what_the_program_makes_is_there_for_it() {
    let (world, make) = with_make();
    let text = "all:\n\t@echo made > out; cat out; mkdir dir; echo in > dir/x; ls dir; mv dir e; mv e dir; ls dir\n\
         \t@ln -s out link; cat link; ln out hard; cat hard; mv out moved; mv moved out; cat out; rm -rf sub\n";
    world.write("work/x.mk", text);
    fs::create_dir(world.work().join("sub")).expect("a directory");
    let argv = [&*make, "-f", "x.mk", "all", "out=", "dir=", "link=", "hard=", "moved=", "sub/deep="];
    let named = ["-o", "out", "-o", "dir", "-o", "link", "-o", "hard", "-o", "moved", "-o", "sub/deep"];
    let held = world.start(&[&argv[..], &named].concat());
    world.answer("allow-once");
    let ended = held.end();
    assert_eq!(ended.stdout, "made\nx\nx\nmade\nmade\nmade\n", "{}", ended.stderr);
    assert!(!world.work().join("sub").exists());
}
