//! Job control: inside the guarded command, of the guarded command, and of loops and scripts around it.

use guard_tests::World;

use crate::session::{Session, same};

/// Waits until the job has stopped.
const STOPPED: &str = "until jobs | grep -q Stop; do sleep 0.1; done";

#[test]
fn a_shell_controls_its_jobs() {
    let shown = same(|session| {
        session.line("PS1='IN''> ' $RUN bash --norc --noprofile --noediting -i", &["IN> "]);
        session.line("echo $- | grep -o m; sh -c 'echo ready; exec sleep 1000'", &["m\r\n", "ready\r\n"]);
        session.keys("\x1a", &["Stopped", "IN> "]);
        session.line("jobs", &["sleep 1000", "IN> "]);
        session.line("fg", &["sleep 1000"]);
        session.pause();
        session.keys("\x03", &["IN> "]);
        session.line("echo status $?", &["status 130", "IN> "]);
        session.line(&format!("cat & {STOPPED}; jobs"), &["Stopped", "IN> "]);
        session.line("fg", &["cat\r\n"]);
        session.line("typed", &["typed\r\ntyped\r\n"]);
        session.keys("\x04", &["IN> "]);
        session.line("sleep 1000 & kill -9 %1; wait %1; echo status $?", &["status 137", "IN> "]);
        session.line("sh -c 'echo ready; exec sleep 1000'", &["1000'\r\n", "ready\r\n"]);
        session.keys("\x1c", &["Quit", "IN> "]);
        session.line("exit 7", &["exit\r\n"]);
        session.prompt();
        session.line("echo status $?", &[]);
    });
    assert!(shown.contains("status 7"), "{shown}");
}

#[test]
fn the_command_is_a_job() {
    let shown = same(|session| {
        session.line("$RUN sh -c 'echo ready; exec sleep 1000'", &["ready\r\n"]);
        session.keys("\x1a", &["Stopped"]);
        session.prompt();
        session.line("jobs; stty -a | grep -o '.icanon'; stty -a | grep -o '.echo '", &[]);
        session.line("bg", &[]);
        session.line("jobs", &[]);
        session.line("fg", &["sleep 1000'\r\n"]);
        session.pause();
        session.keys("\x1a", &["Stopped"]);
        session.prompt();
        session.line("fg", &["sleep 1000'\r\n"]);
        session.pause();
        session.keys("\x03", &["^C"]);
        session.prompt();
        session.line("echo status $?", &[]);
    });
    assert!(shown.contains("status 130"), "{shown}");
}

#[test]
fn a_job_may_start_in_the_background() {
    let shown = same(|session| {
        // The job stops because it reads from a terminal that is not its own.
        let command = "$RUN sh -c 'echo written; cat; echo over'";
        session.line(&format!("{command} & {STOPPED}; jobs"), &["written\r\n", "Stopped"]);
        session.prompt();
        session.line("fg", &["over'\r\n"]);
        session.pause();
        session.line("typed", &["typed\r\ntyped\r\n"]);
        session.keys("\x04", &["over\r\n"]);
        session.prompt();
        session.line("$RUN sh -c 'sleep 0.1; exit 3' & wait $!; echo status $?", &["status 3"]);
        session.prompt();
        session.line("$RUN sleep 1000 &", &[]);
        session.line("kill %1; wait %1; echo status $?", &["status 143"]);
    });
    assert!(shown.contains("over"), "{shown}");
}

/// A command in a session of its own leaves the terminal to the shell.
#[test]
fn a_command_in_another_session_leaves_the_keyboard_alone() {
    let shown = same(|session| {
        let script = "echo ready; : > begun; while ! [ -e go ]; do sleep 0.05; done; echo over > f";
        // Uses a subshell: when a shell reports the end of its job is chance. The prompt comes after the command's line.
        let begins = "until [ -e begun ]; do sleep 0.05; done; sleep 0.2";
        session.line(&format!("(setsid $RUN sh -c '{script}' &); {begins}"), &["ready\r\n"]);
        session.prompt();
        session.line("stty -a | grep -o '.icanon'", &["icanon\r\n"]);
        session.prompt();
        session.line("touch go; while ! [ -e f ]; do sleep 0.05; done; cat f", &["over\r\n"]);
        session.prompt();
    });
    assert!(shown.contains(" icanon"), "{shown}");
}

#[test]
fn control_c_ends_the_loop_around_it() {
    let shown = same(|session| {
        session.line("for i in a b c; do $RUN sh -c \"echo in $i; exec sleep 1000\"; done", &["in a\r\n"]);
        session.keys("\x03", &["^C"]);
        session.prompt();
        session.line("echo status $?", &[]);
        session.line("bash -c \"$RUN sh -c 'echo ready; exec sleep 1000'; echo next\"", &["ready\r\n"]);
        session.keys("\x03", &["^C"]);
        session.prompt();
        session.line("echo status $?", &[]);
    });
    assert!(!shown.contains("in b") && !shown.contains("\r\nnext\r\n"), "{shown}");
}

#[test]
fn a_command_that_handles_interrupts_goes_on() {
    same(|session| {
        let script =
            "trap \"echo caught\" INT; echo ready; while ! [ -e go ]; do sleep 0.05; done; echo over";
        // Not sh: dash starts programs with vfork(2), and cannot be stopped while a child is stopped before its execve(2).
        session.line(&format!("$RUN bash -c '{script}'"), &["over'\r\n", "ready\r\n"]);
        session.keys("\x03", &["caught\r\n"]);
        session.keys("\x03", &["caught\r\n"]);
        session.keys("\x1a", &["Stopped"]);
        session.prompt();
        session.line("touch go; fg", &["over\r\n"]);
        session.prompt();
        session.line("echo status $?", &[]);
    });
}

/// A shell that edits lines has set other terminal modes when it starts a job in the background.
#[test]
fn modes_are_those_of_the_moment_when_it_comes_to_the_foreground() {
    let world = World::open();
    let mut session = Session::with(&world, true, &[]);
    session.line("$RUN cat &", &[]);
    session.line("until jobs | grep Stopped; do sleep 0.1; done", &["Stopped"]);
    session.line("fg", &["$RUN cat\r\n"]);
    session.pause();
    session.line("typed", &["typed\r\ntyped\r\n"]);
    session.keys("\x04", &["OUT> "]);
    session.leave();
}
