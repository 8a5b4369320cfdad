//! CPython's own test suite: each case ends as it does natively, even if it fails.

use std::collections::BTreeMap;

use guard_tests::{Ended, World, is_long_form, program_text, skip};

/// Compares one module of the suite, without the cases whose names contain one of these words.
fn module(name: &str, leave_out: &[&str]) {
    let world = World::open();
    let python = program_text("python3");
    if world.native(&[&python, "-c", &format!("import test.{name}")]).status != 0 {
        return skip(
            "Python's own tests are not installed (libpython3.11-testsuite, or that of its version)",
        );
    }
    let argv: Vec<&str> =
        [&python, "-B", "../cases.py", name].into_iter().chain(leave_out.iter().copied()).collect();
    world.write("cases.py", include_str!("cases.py"));
    let [native, guarded] = world.both(&argv);
    let [natively, guardedly] = [&native, &guarded].map(outcomes);
    assert_eq!(native.status, 0, "the suite itself: {}", native.stderr);
    assert!(natively.values().any(|&outcome| outcome == "ok"), "{}", native.stdout);
    let different: Vec<_> =
        natively.iter().filter(|(case, outcome)| guardedly.get(*case) != Some(outcome)).collect();
    assert!(different.is_empty(), "natively {different:?}\nguarded:\n{}", guarded.stderr);
    assert_eq!(guardedly.len(), natively.len(), "{:?}", guardedly.keys());
    assert_eq!(guarded.status, 0, "{}", guarded.stderr);
}

/// Returns how each case ended.
fn outcomes(ended: &Ended) -> BTreeMap<&str, &str> {
    ended.stdout.lines().filter_map(|line| line.split_once(' ')).collect()
}

#[test]
fn test_posix() {
    module("test_posix", &[]);
}

#[test]
fn test_tempfile() {
    module("test_tempfile", &[]);
}

#[test]
fn test_fcntl() {
    module("test_fcntl", &[]);
}

#[test]
fn test_pty() {
    module("test_pty", &[]);
}

/// Compares a module that takes longer, in the long form of the tests.
fn long_module(name: &str, leave_out: &[&str]) {
    if is_long_form() {
        module(name, leave_out);
    }
}

#[test]
fn test_os() {
    long_module("test_os", &[]);
}

#[test]
fn test_shutil() {
    long_module("test_shutil", &[]);
}

#[test]
fn test_pathlib() {
    long_module("test_pathlib", &[]);
}

#[test]
fn test_subprocess() {
    long_module("test_subprocess", &[]);
}

/// Calls that signals interrupt, including a held one.
#[test]
fn test_eintr() {
    long_module("test_eintr", &[]);
}

/// Without a case that sometimes fails natively, too: whether a handler was set at the right moment.
#[test]
fn test_signal() {
    long_module("test_signal", &["test_stress_modifying_handlers"]);
}

/// Without AF_VSOCK, which is refused; natively a machine without a host would wait forever.
#[test]
fn test_socket() {
    long_module("test_socket", &["VSOCK"]);
}

/// Servers on sockets in the temporary directory.
#[test]
fn test_asyncio() {
    if is_long_form() {
        for part in ["test_streams", "test_sock_lowlevel", "test_unix_events"] {
            module(&format!("test_asyncio.{part}"), &[]);
        }
    }
}

#[test]
fn test_multiprocessing_fork() {
    long_module("test_multiprocessing_fork", &[]);
}
