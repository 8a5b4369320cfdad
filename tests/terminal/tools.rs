//! Programs that make terminals, inside and outside.

use guard_tests::{World, program_text, until};

use crate::session::{Session, both, same};

#[test]
fn script_inside_and_outside() {
    let shown = same(|session| {
        session.line(
            "$RUN script -qec 'tty | tr -d 0-9; stty size; echo typed > /dev/tty' /dev/null",
            &["typed"],
        );
        session.prompt();
        session.line("script -qec \"$RUN sh -c 'tty | tr -d 0-9; stty size; echo typed > /dev/tty; exit 4'\" /dev/null; echo $?", &[]);
        session.line(
            "script -qec \"$RUN sh -c 'echo ready; exec cat'\" /dev/null",
            &["/dev/null\r\n", "ready\r\n"],
        );
        session.line("typed", &["typed\r\ntyped\r\n"]);
        session.keys("\x04", &[]);
        session.prompt();
    });
    assert!(shown.contains("/dev/pts/"), "{shown}");
}

#[test]
fn the_name_of_the_terminal() {
    same(|session| {
        session
            .line("$RUN sh -c 'tty | tr -d 0-9; echo x > $(tty); readlink /proc/self/fd/0 | tr -d 0-9'", &[]);
        session.line("$RUN setsid -w sh -c 'echo y > $(tty); echo z > /dev/tty; tty -s; echo $?'", &[]);
        session.line(
            "$RUN sh -c 'ps -o tty= -p $$ | tr -d 0-9; who am i | wc -l; ls -l /proc/self/fd | grep -c pts'",
            &[],
        );
        session.line("$RUN python3 -c 'import os; print(os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), os.tcgetpgrp(0) == os.getpid())'", &[]);
    });
}

#[test]
fn an_editor() {
    let vim = program_text("vim");
    both(|world, session| {
        let usual = session.screen.modes();
        session.line(&format!("TERM=ansi $RUN {vim} -N -u NONE -i NONE -n file"), &["file", "[New"]);
        session.keys("itext\x1b", &[]);
        session.keys(":stop\n", &["Stopped"]);
        session.prompt();
        session.line("fg", &["text"]);
        session.keys(":wq\n", &[]);
        session.prompt();
        until("the usual modes", || session.screen.modes() == usual);
        assert_eq!(world.read("work/file").as_deref(), Some("text\n"));
    });
}

#[test]
fn tmux_outside() {
    let tmux = program_text("tmux");
    let world = World::open();
    let shown = [false, true].map(|guarded| {
        world.reset();
        let mut session = Session::start(&world, guarded);
        let line = |line: &str| format!("{tmux} -f /dev/null -S sock {line}");
        session.line(
            &format!("export TERM=xterm; {}", line("new-session -d -x 80 -y 20 \"PS1='P> ' $RUN sh -i\"")),
            &[],
        );
        until("the shell is there", || capture(&world, &tmux).contains("P>"));
        session.line(&line("send-keys 'stty size; tty | tr -d 0-9' Enter"), &[]);
        until("the pane shows it", || capture(&world, &tmux).contains("/dev/pts/\n"));
        let text = capture(&world, &tmux);
        session.line(&line("kill-server"), &[]);
        session.leave();
        text
    });
    assert_eq!(shown[1], shown[0]);
    assert!(shown[0].contains("20 80"), "{}", shown[0]);
}

fn capture(world: &World, tmux: &str) -> String {
    world.native(&[tmux, "-S", "sock", "capture-pane", "-p"]).stdout
}

#[test]
fn tmux_inside() {
    let tmux = program_text("tmux");
    both(|_, session| {
        session.line(
            &format!("export TERM=xterm; $RUN {tmux} -f /dev/null -S sock new-session 'PS1=P\"> \" sh -i'"),
            &["P> "],
        );
        session.keys("stty size; echo in-$((6*7))\n", &["in-42"]);
        session.screen.resize(25, 90);
        // After a detach the server goes on, and an attach shows its screen again. Keys that arrive together
        // count as pasted text, which is bound to nothing.
        session.keys("\x02", &[]);
        std::thread::sleep(std::time::Duration::from_millis(100));
        session.keys("d", &["[detached"]);
        session.prompt();
        session.line(&format!("{tmux} -S sock attach"), &["in-42"]);
        session.keys("exit\n", &["[exited]"]);
        session.prompt();
    });
}
