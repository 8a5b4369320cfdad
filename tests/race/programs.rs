//! Starting programs.

use std::collections::HashMap;
use std::fs;

use guard_tests::Arena;

use crate::arena::{
    COPIED, arena, arena_under, build_loaded, race, race_below_the_roots, race_of_copies, race_prepared,
    until_killed,
};

#[test]
fn path_by_a_thread() {
    race("exec", "thread");
}

#[test]
fn path_by_a_process() {
    race("exec", "process");
}

#[test]
fn symlink() {
    race("exec-symlink", "process");
}

#[test]
fn interpreter() {
    race("interpreter", "process");
}

#[test]
fn loader() {
    race("loader", "process");
}

/// Programs that Landlock lets start.
mod below_the_roots {
    use super::race_below_the_roots;

    #[test]
    fn path_by_a_thread() {
        race_below_the_roots("exec", "thread");
    }

    #[test]
    fn path_by_a_process() {
        race_below_the_roots("exec", "process");
    }

    #[test]
    fn symlink() {
        race_below_the_roots("exec-symlink", "process");
    }

    #[test]
    fn interpreter() {
        race_below_the_roots("interpreter", "process");
    }

    #[test]
    fn loader() {
        race_below_the_roots("loader", "process");
    }
}

/// A file that holds a withheld program when the kernel reads it.
#[test]
fn content_of_the_same_size() {
    race_of_copies("copy");
}

#[test]
fn content_of_another_size() {
    race_of_copies("copy-grown");
}

/// A withheld program as another program's loader.
#[test]
fn a_copy_as_loader() {
    for (policy, is_let) in
        [(COPIED.to_owned(), false), (COPIED.replace(r#""@/hide/prog": "r--", "#, ""), true)]
    {
        let arena = arena_under(&policy);
        build_loaded(&arena);
        fs::copy(arena.root().join("hide/prog"), arena.root().join("work/prog")).expect("a copy");
        let mut command = arena.world.command();
        command.current_dir(arena.root()).arg("--").arg(arena.root().join("okay/loaded"));
        let ended = guard_tests::ended(&mut command);
        assert_eq!(arena.root().join("work/escaped").exists(), is_let, "{ended:?}");
        assert_eq!(ended.stderr.contains("work/prog (copy of "), !is_let, "{ended:?}");
    }
}

/// Compares the arguments that a program really got with those in the audit log, which were judged.
#[test]
fn argv() {
    race_prepared(
        "argv",
        "thread",
        |_| (),
        |arena: &Arena| {
            // Process numbers are reused: each has every argument that was judged under it.
            let mut judged: HashMap<i64, Vec<String>> = HashMap::new();
            for line in arena.world.audit().iter().filter(|line| line["verdict"] == "allow") {
                if let (Some(pid), Some(given)) = (line["pid"].as_i64(), line["argv"][1].as_str()) {
                    judged.entry(pid).or_default().push(given.to_owned());
                }
            }
            let shown = arena.world.read("work/shown").unwrap_or_default();
            shown.lines().find_map(|line| {
                let (pid, given) = line.split_once(' ')?;
                let judged = judged.get(&pid.parse().ok()?)?;
                (!judged.iter().any(|one| one == given))
                    .then(|| format!("judged with {judged:?}, ran with {given}"))
            })
        },
    );
}

/// The log does not contain the environment, but programs whose environment changed were killed.
#[test]
fn environment() {
    until_killed(&arena(), "environment", "thread", "an argument or a variable changed");
}
