//! The supervisors that only answer: a command under one of them does what it does alone.

use std::process::Command;

const LOOPS: [&str; 3] = ["continue", "traced", "addfd"];

/// The tests may run where only a copy can be reached (scripts/test-as-user).
fn program() -> String {
    std::env::var("GUARD_BENCH").unwrap_or_else(|_| env!("CARGO_BIN_EXE_guard-bench").to_owned())
}

fn under(own: &str, script: &str) -> (Option<i32>, String) {
    let output = Command::new(program()).args(["bare", own, "--", "/bin/sh", "-c", script]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_command_works_and_keeps_its_status() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display();
    let script = format!(
        "cd '{path}' && echo one > file && cat file && /bin/no-such-program; cat missing; (exit 3); \
         /bin/sh -c 'cat file'; /bin/false || exit 7"
    );
    for own in LOOPS {
        assert_eq!(under(own, &script), (Some(7), "one\none\n".to_owned()), "{own}");
    }
}

#[test]
fn many_programs_one_after_another_all_end() {
    for own in LOOPS {
        let script = "i=0; while [ $i -lt 100 ]; do /bin/true || exit 1; i=$((i+1)); done; echo $i";
        assert_eq!(under(own, script), (Some(0), "100\n".to_owned()), "{own}");
    }
}
