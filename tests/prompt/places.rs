//! Prompts without a keyboard, in another size, through another terminal, or with another way to answer.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use guard_tests::{Replies, World, give_environment, program_text, words};

use crate::session::{SIZE, Session, WHEN_DUE, world, world_with};

/// An operator's shell with job control, in which the guard is a job.
fn outside(world: &World) -> Session {
    let mut runner = world.command();
    runner.args(["-q", "--"]);
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).env("RUN", words(&runner)).env("PS1", "OUT> ");
    shell
        .env("ASKED", world.root().join("bin/asked"))
        .env("TERM", "xterm-256color")
        .env("HISTFILE", "/dev/null");
    give_environment(&runner, &mut shell);
    shell.current_dir(world.work()).env_remove("TMUX");
    let session = Session::of(world, &shell, SIZE, Replies::Given);
    session.emulator.expect("OUT>");
    session
}

/// Waits until the operator's shell has the terminal again.
fn returned(session: &Session) {
    session.emulator.wait("the shell", |picture| picture.text.trim_end().ends_with("OUT>"));
}

/// Brings the guard to the foreground, where its prompt is, and allows the call.
fn allowed_in_the_foreground(mut session: Session) {
    session.line("fg");
    session.prompted();
    session.answer("y");
    session.unprompted();
    session.emulator.expect("\none\n");
    returned(&session);
    session.leave();
}

#[test]
fn a_suspended_prompt_goes_and_comes_back() {
    let world = world();
    let mut session = outside(&world);
    let usual = session.emulator.modes();
    session.line("clear; $RUN $ASKED one");
    session.prompted();
    session.emulator.keys("\x1a");
    session.emulator.expect("Stopped");
    let text = session.emulator.rest().text;
    assert!(!text.contains(" s left") && !text.contains("\none\n"), "{text}");
    assert_eq!(session.emulator.modes(), usual);
    allowed_in_the_foreground(session);
}

#[test]
fn in_the_background_a_line_says_how_to_answer() {
    let world = world();
    let mut session = outside(&world);
    session.line("$RUN $ASKED one &");
    session.emulator.expect(" waits for approval: openclaw-guard ");
    assert!(!session.emulator.rest().text.contains(" s left"));
    allowed_in_the_foreground(session);
}

#[test]
fn a_killed_prompt_leaves_the_screen_as_it_was() {
    let world = world();
    let mut session = outside(&world);
    let usual = session.emulator.modes();
    session.line("clear; $RUN bash -c '$ASKED one; echo after'");
    session.prompted();
    let front = session.emulator.pid();
    let guard = guard_tests::descendants(front);
    let front = guard.iter().copied().filter(|pid| *pid != front).min().expect("a guard");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(front as i32), nix::sys::signal::Signal::SIGTERM)
        .expect("a signal");
    session.unprompted();
    returned(&session);
    assert_eq!(session.emulator.modes(), usual);
    session.leave();
}

#[test]
fn the_prompt_follows_the_size_of_the_terminal() {
    let world = world();
    let mut session = Session::start(&world);
    session.line("$ASKED one");
    session.prompted();
    for (rows, columns) in [(24, 80), (5, 20), (50, 132), (2, 10), (30, 100)] {
        session.emulator.resize(rows, columns);
        session.emulator.wait("the last row", |picture| {
            picture.text.lines().count() == usize::from(rows)
                && picture.text.lines().last().is_some_and(|line| line.starts_with('>'))
                && picture.cursor == (rows - 1, 2, true)
        });
    }
    // A signal interrupted the call, so the guard asks again.
    sleep(Duration::from_secs(1));
    session.answer("y");
    session.unprompted();
    session.emulator.expect("\none\n");
    session.line("stty size");
    session.emulator.expect("30 100");
    session.leave();
}

#[test]
fn an_unanswered_question_is_refused_in_time() {
    let world = world_with(6000);
    let mut session = Session::start(&world);
    session.line("$ASKED one");
    let less = (1..5).map(|left| format!(" {left} s left")).collect::<Vec<_>>();
    session.emulator.wait("the time goes by", |picture| less.iter().any(|left| picture.text.contains(left)));
    session.emulator.expect("nobody answered in time");
    session.emulator.expect("ermission");
    session.leave();
}

#[test]
fn a_prompt_answered_elsewhere_goes() {
    let world = world();
    let mut session = Session::start(&world);
    session.line("$ASKED one");
    session.prompted();
    let asked = world.wait_for(1).remove(0);
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    session.emulator.expect("answered by approvals resolve");
    session.unprompted();
    session.emulator.expect("\none\n");
    session.leave();
}

#[test]
fn a_new_card_is_not_answered_with_the_one_being_read() {
    let world = world();
    let mut session = Session::start(&world);
    session.line(&format!("({WHEN_DUE}; exec $ASKED two) & $ASKED one"));
    session.prompted();
    // The key was for the first question; the Enter comes when another one is shown.
    session.emulator.keys("y");
    session.emulator.expect("> y");
    session.due();
    session.emulator.expect("2 of 2: ");
    session.emulator.keys("\r");
    sleep(Duration::from_millis(800));
    let picture = session.emulator.picture();
    assert!(picture.text.contains("2 of 2: "), "{}", picture.text);
    session.answer("y");
    session.unprompted();
    session.emulator.expect("one\n");
    session.emulator.expect("two\n");
    session.leave();
}

#[test]
fn under_tmux() {
    let world = world();
    let tmux = program_text("tmux");
    let mut runner = world.command();
    runner.args(["-q", "--", "bash", "--norc", "--noprofile", "-i"]);
    let socket = world.root().join("tmux").display().to_string();
    let mut command = Command::new(tmux);
    command.args(["-f", "/dev/null", "-S", &socket, "new-session", &words(&runner)]);
    give_environment(&runner, &mut command);
    command.env("ASKED", world.root().join("bin/asked")).env("PS1", "IN> ").env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8").env_remove("TMUX").current_dir(world.work());
    let mut session = Session::of(&world, &command, SIZE, Replies::Given);
    session.emulator.expect("bash-");
    session.later("echo shown before");
    session.emulator.expect("shown before");
    let before = session.emulator.rest();
    session.due();
    session.prompted();
    session.answer("n");
    session.unprompted();
    let after = session.emulator.rest();
    let screen = |text: &str| text.lines().take(28).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(screen(&after.text), screen(&before.text));
    assert_eq!(after.cursor, before.cursor);
    session.line("exit");
    let _ = session.emulator.end();
}
