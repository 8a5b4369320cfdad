//! Return values and errors of path system calls, line by line, natively and guarded.

use guard_tests::{World, compile};

#[test]
fn every_call_answers_as_the_kernel_does() {
    let world = World::open();
    let program = world.root().join("edge");
    compile(include_str!("edge.c"), &program, &["-Wno-nonnull", "-Wno-unused-result"]);
    let program = program.to_str().expect("a plain path");
    let run = |guarded: bool| {
        world.reset();
        if guarded { world.guarded(&[program]) } else { world.native(&[program]) }
    };
    let (native, guarded) = (run(false), run(true));
    assert_eq!(native.status, 0, "the program itself: {}", native.stderr);
    let native_lines: Vec<_> = native.stdout.lines().collect();
    let guarded_lines: Vec<_> = guarded.stdout.lines().collect();
    assert!(native_lines.len() > 5000, "{} calls", native_lines.len());
    let different: Vec<_> = native_lines
        .iter()
        .zip(&guarded_lines)
        .filter(|(native, guarded)| native != guarded)
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
