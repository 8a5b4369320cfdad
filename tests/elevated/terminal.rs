//! A command outside on a terminal of its own.

use std::process::Command;

use guard_tests::{Screen, World, give_environment};

use crate::world::{run, world};

/// Starts a guarded interactive shell on a terminal. Questions are answered by the command line.
fn shell(world: &World) -> Screen {
    let mut command = world.command();
    command.args(["-q", "--", "bash", "--norc", "--noprofile", "--noediting", "-i"]);
    command.env("PS1", "IN> ").env("TERM", "dumb").env("HISTFILE", "/dev/null");
    let mut outer = Command::new(command.get_program());
    outer.args(command.get_args());
    give_environment(&command, &mut outer);
    outer.current_dir(world.work());
    let mut screen = Screen::start(&outer);
    screen.expect("IN> ");
    screen
}

/// No prompt on the screen, so that the command line is all that answers.
fn quiet() -> World {
    world().policy_text(|text| text.replace(r#", "terminal""#, ""))
}

#[test]
fn the_terminal_is_another_one_and_is_left_as_it_was() {
    let world = quiet();
    let mut screen = shell(&world);
    let modes = screen.modes();
    screen.keys("tty > own\n");
    screen.expect("IN> ");
    screen.keys(&run("RUN sh -c 'tty > other; stty size; read x; echo got-$x; exit 3'; echo st-$?\n"));
    world.answer("allow-once");
    screen.expect("30 100");
    screen.keys("typed\n");
    screen.expect("got-typed");
    screen.expect("st-3");
    screen.expect("IN> ");
    assert_ne!(world.read("work/own"), world.read("work/other"));
    assert_eq!(screen.modes(), modes);
    screen.keys("exit\n");
    assert_eq!(screen.end().0, 0);
}

#[test]
fn keys_interrupt_and_stop_it() {
    let world = quiet();
    let mut screen = shell(&world);
    screen.keys(&run("RUN sh -c 'echo be-gin; exec sleep 600'; echo st-$?\n"));
    world.answer("allow-once");
    screen.expect("be-gin\r");
    screen.keys("\x03");
    // The shell drops the rest of the line when a signal of the keyboard has ended a command.
    screen.expect("^C");
    screen.expect("IN> ");
    screen.keys(&run("RUN sh -c 'echo be-gin; read x; echo got-$x'; echo st-$?\n"));
    world.answer("allow-once");
    screen.expect("be-gin\r");
    screen.keys("\x1a");
    screen.expect("Stopped");
    screen.expect("IN> ");
    screen.keys("fg\n");
    screen.expect("run-outside");
    std::thread::sleep(std::time::Duration::from_millis(500));
    screen.keys("typed\n");
    screen.expect("got-typed");
    // What is typed before it has ended is typed to it.
    screen.expect("IN> ");
    screen.keys("exit\n");
    let _ = screen.end();
}

#[test]
fn the_size_follows() {
    let world = quiet();
    let mut screen = shell(&world);
    screen.keys(&run(
        "RUN sh -c 'trap \"stty size\" WINCH; echo be-gin; while [ ! -e go ]; do sleep 0.1; done'\n",
    ));
    world.answer("allow-once");
    screen.expect("be-gin\r");
    screen.resize(20, 77);
    screen.expect("20 77");
    world.write("work/go", "");
    screen.expect("IN> ");
    screen.keys("exit\n");
    let _ = screen.end();
}

#[test]
fn what_it_types_into_its_terminal_is_not_typed_into_the_guards() {
    let world = quiet();
    let mut screen = shell(&world);
    let inject = "import fcntl, termios\nfor c in b'echo inj-ected\\n':\n  try: fcntl.ioctl(0, termios.TIOCSTI, bytes([c]))\n  except OSError: pass\nprint('do-ne')\n";
    world.write("work/inject.py", inject);
    screen.keys(&run("RUN python3 inject.py; echo st-$?\n"));
    world.answer("allow-once");
    screen.expect("do-ne\r");
    screen.expect("st-0");
    screen.expect("IN> ");
    screen.keys("echo la-st\n");
    screen.expect("la-st\r");
    assert!(!screen.text().contains("\ninj-ected"), "{}", screen.text());
    screen.keys("exit\n");
    let _ = screen.end();
}
