//! Return values and errors of path system calls, line by line, natively and guarded.

use guard_tests::{World, compile};

/// Returns a line with the set-user-ID and set-group-ID bits of regular files off: the guard takes them off.
fn without_set_id(line: &str) -> String {
    let mut text = String::new();
    for run in line.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = run.trim_end_matches(|c: char| !c.is_ascii_digit());
        match u32::from_str_radix(digits, 8) {
            Ok(mode) if digits.len() == 6 && mode & libc::S_IFMT == libc::S_IFREG => {
                text += &format!("{:o}{}", mode & !(libc::S_ISUID | libc::S_ISGID), &run[6..]);
            }
            _ => text += run,
        }
    }
    text
}

/// Returns whether a difference is a known one: those bits, or openat2 with O_PATH. The guard cannot hand over such a
/// descriptor, and openat2's flags are in memory, where they may change before the kernel reads them again.
fn is_known(native: &str, guarded: &str) -> bool {
    if without_set_id(native) == guarded {
        return true;
    }
    let [native, guarded] = [native, guarded].map(|line| line.split_once(" = ").unwrap_or((line, "")));
    native.0 == guarded.0
        && native.0.starts_with("openat2[")
        && native.0.contains(",path] ")
        && guarded.1.trim() == "-1 ENOSYS"
}

const PARTS: [&str; 4] = ["0", "1", "2", "3"];

/// Compares one part of the calls: a quarter of the paths.
fn every_call_answers_as_the_kernel_does(part: usize) {
    let world = World::floored();
    let program = world.root().join("bin/edge");
    compile(include_str!("edge.c"), &program, &["-Wno-nonnull", "-Wno-unused-result"]);
    let program = program.to_str().expect("a plain path");
    let [native, guarded] = world.both(&[program, PARTS[part], "4"]);
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
