//! Questions whose caller has died, stopped, or been interrupted.

use std::process::Command;

use guard_tests::{Screen, status_of, until};
use serde_json::Value;

use crate::world::{path, world};

fn signal(name: &str, pid: &Value) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status().expect("kill");
    assert!(status.success());
}

#[test]
fn the_caller_dies() {
    let world = world();
    for name in ["-KILL", "-TERM", "-INT"] {
        let line = format!("{} x; until rm over; do sleep 0.1; done 2>/dev/null", path(&world, "bin/asked"));
        let held = world.start(&["bash", "-c", &line]);
        let asked = world.wait_for(1).remove(0);
        signal(name, &asked["askedBy"][0]["pid"]);
        assert_eq!(world.wait_for(0).len(), 0);
        let output = world.resolve(&asked, "allow-once");
        assert_eq!(output.status, 1, "{output:?}");
        assert!(output.stderr.contains("withdrawn"), "{output:?}");
        world.write("work/over", "");
        drop(held.end());
    }
}

#[test]
fn the_shell_goes_and_takes_its_children_along() {
    let world = world();
    let mut command = world.command();
    command.args([
        "--kill-on-exit",
        "--",
        "bash",
        "-c",
        &format!("{} x & until [ -e over ]; do sleep 0.1; done", path(&world, "bin/asked")),
    ]);
    let held = world.start_command(command);
    assert_eq!(world.wait_for(1).len(), 1);
    world.write("work/over", "");
    assert_eq!(held.end().status, 0);
    assert_eq!(world.wait_for(0).len(), 0);
}

#[test]
fn a_stop_takes_the_question_back_until_it_goes_on() {
    let world = world();
    let held = world.start(&["bash", "-c", &format!("{} x; echo $?", path(&world, "bin/asked"))]);
    let asked = world.wait_for(1).remove(0);
    let pid = &asked["askedBy"][0]["pid"];
    signal("-STOP", pid);
    assert_eq!(world.wait_for(0).len(), 0);
    let output = world.resolve(&asked, "allow-once");
    assert_eq!(output.status, 1, "{output:?}");
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    until("it is stopped", || stat().contains(") T "));
    signal("-CONT", pid);
    let again = world.answer("deny");
    assert_ne!(asked["id"], again["id"]);
    assert_eq!(held.end().stdout, "126\n");
}

#[test]
fn a_signal_with_a_handler_interrupts_and_the_question_is_the_same() {
    let world = world();
    let code = format!(
        "import signal, os
signal.signal(signal.SIGUSR1, lambda *_: print('handled', flush=True))
print(open('{}').read(), flush=True)",
        path(&world, "else/file")
    );
    let held = world.start(&["/usr/bin/python3", "-c", &code]);
    let asked = world.wait_for(1).remove(0);
    signal("-USR1", &asked["askedBy"][0]["pid"]);
    until("it is handled", || world.read("out.0").is_some_and(|text| text.contains("handled")));
    world.answer("allow-once");
    assert_eq!(held.end().stdout, "handled\nsecret\n\n");
}

#[test]
fn other_calls_go_on_while_one_waits() {
    let world = world();
    let line = format!("cat {} & mv a b; ls > list; echo other; wait", path(&world, "else/file"));
    world.write("work/a", "");
    let held = world.start(&["bash", "-c", &line]);
    assert_eq!(world.wait_for(1).len(), 1);
    until("the others are done", || world.read("out.0").is_some_and(|text| text == "other\n"));
    world.answer("allow-once");
    assert_eq!(held.end().stdout, "other\nsecret\n");
}

#[test]
fn a_rename_that_waits_holds_up_no_other() {
    let world = world();
    let file = path(&world, "else/file");
    world.write("work/a", "");
    let held = world.start(&[
        "bash",
        "-c",
        &format!("mv -n {file} {file}2 & sleep 0.5; mv a b; mkdir c; echo moved; wait"),
    ]);
    assert_eq!(world.wait_for(1).len(), 1);
    until("the other is done", || world.read("out.0").is_some_and(|text| text == "moved\n"));
    world.answer("deny");
    assert_eq!(held.end().status, 0);
}

#[test]
fn a_repeated_timer_signal_asks_no_new_question() {
    let world = world();
    let code = format!(
        "import os, signal
ticks, file = [], os.open('ticks', os.O_WRONLY | os.O_CREAT)
def tick(*_):
    ticks.append(1)
    os.write(file, b'.')
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
text = open('{}').read()
signal.setitimer(signal.ITIMER_REAL, 0)
print(text, len(ticks) > 3)",
        path(&world, "else/file")
    );
    let held = world.start(&["/usr/bin/python3", "-c", &code]);
    let asked = world.wait_for(1).remove(0);
    until("it has ticked", || world.read("work/ticks").is_some_and(|ticks| ticks.len() > 6));
    assert_eq!(world.answer("allow-once")["id"], asked["id"]);
    assert_eq!(held.end().stdout, "secret\n True\n");
}

#[test]
fn a_signal_to_the_guard_ends_the_first_command_while_it_waits() {
    let world = world();
    for (name, status) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        let held = world.start(&[path(&world, "bin/asked"), "x".to_owned()]);
        assert_eq!(world.wait_for(1).len(), 1);
        signal(name, &held.pid().into());
        assert_eq!(held.end().status, status, "{name}");
        assert_eq!(world.wait_for(0).len(), 0);
    }
}

/// The handler opens a file that is asked for, as vim does with ~/.viminfo. Natively nothing waits there.
#[test]
fn a_command_that_is_asked_to_end_waits_for_nobody() {
    let world = world();
    let code = |first: &str| {
        format!(
            "import os, signal
def end(*_):
    try: open('{file}')
    except OSError as error: open('errno', 'w').write(str(error.errno))
    os._exit(3)
for number in signal.SIGTERM, signal.SIGHUP: signal.signal(number, end)
open('ready', 'w').close()
{first}
while True: signal.pause()",
            file = path(&world, "else/file")
        )
    };
    let wait = format!("open('{}')", path(&world, "else/file"));
    for (first, count) in [("", 0), (&*wait, 1)] {
        for hangs_up in [false, true] {
            for name in ["ready", "errno"] {
                let _ = std::fs::remove_file(world.work().join(name));
            }
            let mut command = world.command();
            command.args(["-q", "--", "/usr/bin/python3", "-c", &code(first)]);
            let is_ready = || world.work().join("ready").exists();
            let status = if hangs_up {
                let screen = Screen::start(&command);
                until("it runs", is_ready);
                assert_eq!(world.wait_for(count).len(), count);
                status_of(&mut screen.hang_up())
            } else {
                let held = world.start_command(command);
                until("it runs", is_ready);
                assert_eq!(world.wait_for(count).len(), count);
                signal("-TERM", &held.pid().into());
                held.end().status
            };
            assert_eq!((status, world.read("work/errno").as_deref()), (3, Some("13")), "{first} {hangs_up}");
        }
    }
}
