//! Return values and errors of path system calls, line by line, natively and guarded.

use guard_tests::{World, compile};

/// Differences that are known: where a call is wrong in two ways at once, which of the two is told; and what openat2
/// is with restrictions, which few programs use and all of those have another way.
const KNOWN: [(&str, &str, &str, &str); 20] = [
    // (the call, the end of its path, natively, guarded)
    ("openat2[", ",path]", "", "ENOSYS"),
    ("openat2[", "/", "EISDIR", ""),
    ("openat2[", "dang", "", "ELOOP"),
    ("openat2[", "dang/", "ENOENT", "ELOOP"),
    ("openat2[in_root,", "self", "ENOENT", "ELOOP"),
    ("openat2[no_magiclinks,", "/proc/self/fd/999", "ENOENT", "EACCES"),
    ("openat2[no_magiclinks,", "/proc/self/nothing", "ENOENT", "EACCES"),
    ("rmdir", "fixed/z", "EACCES", "ENOTDIR"),
    ("unlinkat removedir", "fixed/z", "EACCES", "ENOTDIR"),
    ("rmdir", "cwd", "EPERM", "ENOTDIR"),
    ("rmdir", "cwd/", "EPERM", "ENOTDIR"),
    ("unlinkat removedir", "cwd", "EPERM", "ENOTDIR"),
    ("unlinkat removedir", "cwd/", "EPERM", "ENOTDIR"),
    ("link from dir", "", "", "EPERM"),
    ("rename", "", "EXDEV", ""),
    ("exchange", "", "EXDEV", ""),
    ("noreplace", "", "EXDEV", ""),
    ("rename", "name256", "", "ENAMETOOLONG"),
    ("exchange", "name256", "", "ENAMETOOLONG"),
    ("noreplace", "name256", "", "ENAMETOOLONG"),
];

fn is_known(native: &str, guarded: &str) -> bool {
    let [native, guarded] = [native, guarded].map(|line| line.split_once(" = ").unwrap_or((line, "")));
    let error = |result: &str| result.split(' ').nth(1).unwrap_or_default().to_owned();
    let (before, after) = (error(native.1), error(guarded.1));
    guarded.1.starts_with("-1 ")
        && KNOWN.iter().any(|&(call, end, natively, now)| {
            let is_call = native.0.starts_with(call)
                && (native.0.ends_with(end) || native.0.contains(&format!("{end} ")));
            is_call && (natively.is_empty() || before == natively) && (now.is_empty() || after == now)
        })
}

const PARTS: [&str; 4] = ["0", "1", "2", "3"];

/// One part of the calls: a quarter of the paths.
fn every_call_answers_as_the_kernel_does(part: usize) {
    let world = World::open();
    let program = world.root().join("edge");
    compile(include_str!("edge.c"), &program, &["-Wno-nonnull", "-Wno-unused-result"]);
    let program = program.to_str().expect("a plain path");
    let run = |guarded: bool| {
        world.reset();
        let argv = [program, PARTS[part], "4"];
        if guarded { world.guarded(&argv) } else { world.native(&argv) }
    };
    let (native, guarded) = (run(false), run(true));
    assert_eq!(native.status, 0, "the program itself: {}", native.stderr);
    let native_lines: Vec<_> = native.stdout.lines().collect();
    let guarded_lines: Vec<_> = guarded.stdout.lines().collect();
    assert!(native_lines.len() > 4000, "{} calls", native_lines.len());
    let different: Vec<_> = native_lines
        .iter()
        .zip(&guarded_lines)
        .filter(|(native, guarded)| native != guarded && !is_known(native, guarded))
        .map(|(native, guarded)| format!("native  {native}\nguarded {guarded}"))
        .collect();
    assert!(
        different.is_empty(),
        "{} of {} calls differ:\n{}",
        different.len(),
        native_lines.len(),
        different.join("\n")
    );
    assert_eq!(guarded_lines.len(), native_lines.len(), "{}", guarded.stderr);
    assert_eq!(guarded.status, 0, "{}", guarded.stderr);
}

#[test]
fn calls_of_the_first_quarter() {
    every_call_answers_as_the_kernel_does(0);
}

#[test]
fn calls_of_the_second_quarter() {
    every_call_answers_as_the_kernel_does(1);
}

#[test]
fn calls_of_the_third_quarter() {
    every_call_answers_as_the_kernel_does(2);
}

#[test]
fn calls_of_the_fourth_quarter() {
    every_call_answers_as_the_kernel_does(3);
}
