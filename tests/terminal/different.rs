//! Known differences on a terminal, each as small as possible: the rows of docs/compatibility.md that need
//! one.

use crate::session::both;

/// Waits until the test creates `go`.
const WHEN_TOLD: &str = "until [ -e go ]; do sleep 0.1; done";

#[test]
fn modes_that_a_command_leaves_behind_do_not_stay() {
    let [native, guarded] =
        both(|_, session| session.line("$RUN stty -echoe; stty -a | grep -o -e '.echoe'", &[]));
    assert!(native.contains("\n-echoe\r\n"), "{native}");
    assert!(guarded.contains("\n echoe\r\n"), "{guarded}");
}

#[test]
fn input_typed_before_a_pipeline_reads_it_is_echoed_twice() {
    let echoes = |shown: String| shown.matches("typed ahead\r\n").count();
    let found = both(|world, session| {
        let script = format!("echo ready; {WHEN_TOLD}; read a < /dev/tty; echo over");
        session.line(&format!("true | $RUN sh -c '{script}'"), &["ready\r\n"]);
        session.line("typed ahead", &["typed ahead\r\n"]);
        world.write("work/go", "");
        session.screen.expect("over\r\n");
        session.prompt();
    });
    assert_eq!(found.map(echoes), [1, 2]);
}

#[test]
fn input_typed_and_not_read_is_lost() {
    let [native, guarded] = both(|world, session| {
        session.line(&format!("$RUN sh -c 'echo ready; {WHEN_TOLD}'"), &["ready\r\n"]);
        session.keys("echo a''head\n", &["head\r\n"]);
        world.write("work/go", "");
        session.prompt();
        session.line("true", &[]);
    });
    assert!(native.contains("> ahead\r\n") && !guarded.contains("> ahead\r\n"), "{native}{guarded}");
}

#[test]
fn in_a_pipeline_a_command_is_in_the_background_until_it_reads() {
    let script = "import os; print(\"front\" if os.tcgetpgrp(2) == os.getpgrp() else \"back\")";
    let [native, guarded] =
        both(|_, session| session.line(&format!("$RUN python3 -c '{script}' | cat"), &[]));
    assert!(native.contains("\nfront\r\n") && guarded.contains("\nback\r\n"), "{native}{guarded}");
}

#[test]
fn a_signal_for_the_guard_is_for_the_whole_group() {
    let script = "(trap \"echo told; : > told; exit\" USR1; echo ready; while :; do sleep 0.1; done) & wait";
    let [native, guarded] = both(|_, session| {
        session.line(&format!("$RUN sh -c '{script}' & command=$!; sleep 1"), &["ready\r\n"]);
        // Natively `told` never appears.
        let wait_for_signal = "for i in {1..50}; do [ ! -e told ] || break; sleep 0.1; done; sleep 0.5";
        session.line(&format!("kill -USR1 $command; {wait_for_signal}; kill -KILL -$command"), &[]);
    });
    assert!(!native.contains("\ntold\r\n") && guarded.contains("\ntold\r\n"), "{native}{guarded}");
}
