//! Calls that wait for another process, and what can reach the waiting process: signals, stops, its end.

use guard_tests::{World, compile};

fn same(scenario: &str) -> String {
    let world = World::floored();
    let program = world.root().join("bin/waiting");
    compile(include_str!("waiting.c"), &program, &["-pthread"]);
    let same = world.same(|_| {}, &[program.to_str().expect("a plain path"), scenario], &[]);
    assert_eq!(same.native.status, 0, "the program itself: {}", same.native.stderr);
    same.native.stdout
}

#[test]
fn a_fifo_opens_when_both_ends_are_there() {
    assert!(same("fifo").contains("late, then the end"));
}

#[test]
fn a_handled_signal_ends_the_wait() {
    assert!(same("interrupted").starts_with("open: EINTR\ncreat: EINTR\nabsolute: EINTR\n"));
}

#[test]
fn a_restarting_handler_runs_while_the_call_waits() {
    assert_eq!(same("restarted"), "open: done\nhandled: 1\n");
}

#[test]
fn a_signal_for_one_thread_ends_its_wait() {
    assert_eq!(same("thread"), "open in a thread: EINTR\n");
}

#[test]
fn a_signal_that_only_one_thread_takes_ends_its_wait() {
    assert_eq!(same("process"), "open in a thread: EINTR\n");
}

#[test]
fn a_blocked_signal_does_not_end_the_wait() {
    assert_eq!(same("blocked"), "open with the signal blocked: done\nhandled: 0\n");
}

#[test]
fn deadly_signals_end_a_waiting_caller() {
    assert!(same("killed").ends_with("signal 6: killed by 6\n"));
}

#[test]
fn a_waiting_caller_can_be_stopped() {
    assert_eq!(same("stopped").matches("stopped 1").count(), 3);
}

#[test]
fn a_restarted_call_does_not_fail_on_its_own_result() {
    assert_eq!(same("pestered"), "without a false error: 1, pestered: 1\n");
}

#[test]
fn a_lease_makes_others_wait() {
    assert!(same("lease").contains("at once: EAGAIN"));
}

#[test]
fn a_lock_ends_with_the_descriptor() {
    assert_eq!(same("locks"), "still held: 0 flock, 0 OFD, 0 lease\n");
}

#[test]
fn connect_waits_for_room() {
    assert!(same("sockets").contains("no room: EAGAIN\ninterrupted: EINTR\nwaited: done"));
}
