//! How things end on a terminal.

use guard_tests::{World, status_of, until};

use crate::session::{Session, both, same};

#[test]
fn a_background_process_delays_nobody_and_still_writes() {
    let shown = same(|session| {
        let script =
            "(while ! [ -e go ]; do sleep 0.05; done; cat f; echo late; : > over) & echo now; exit 5";
        session.line(&format!("echo file > f; $RUN sh -c '{script}'"), &["exit 5'\r\n", "now\r\n"]);
        session.prompt();
        session.line("echo status $?", &["status 5"]);
        session.line("touch go; until [ -e over ]; do sleep 0.1; done; sleep 1", &["file\r\nlate\r\n"]);
        session.prompt();
        session.line("stty -a | grep -o '.icanon'", &["icanon\r\n"]);
        session.prompt();
    });
    assert!(shown.contains("late"), "{shown}");
}

#[test]
fn the_end_of_the_output_is_shown() {
    let shown = same(|session| {
        session.line("$RUN seq 20000 | tail -1; $RUN seq 20000", &["\n20000\r\n", "\n20000\r\n"]);
        session.prompt();
        session.line("$RUN sh -c 'printf end; kill -9 $$'", &["end"]);
        session.prompt();
    });
    assert!(shown.len() > 20_000);
}

#[test]
fn the_terminal_that_goes_away_hangs_up() {
    let world = World::open();
    let mut session = Session::start(&world, true);
    let script =
        "trap \"echo hung up > hup; exit 1\" HUP; echo $$ > pid; echo ready; while :; do sleep 0.05; done";
    session.line(&format!("$RUN sh -c '{script}'"), &["done'\r\n", "ready\r\n"]);
    let mut shell = session.screen.hang_up();
    let _ = status_of(&mut shell);
    until("the command is told", || world.read("work/hup").is_some_and(|text| text == "hung up\n"));
    let pid = world.read("work/pid").expect("a pid");
    until("it ends", || !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
}

#[test]
fn orphans_leave_no_zombies() {
    let world = World::open();
    let mut session = Session::start(&world, true);
    let script = "for i in $(seq 40); do (sleep 0.2 & exec true); done; (sleep 0.3; ps -o ppid= -p $BASHPID > reaper & exec true); sleep 1
        count() { [ -s reaper ] && ps --ppid $(cat reaper) -o stat= | grep -c Z; }
        for i in $(seq 600); do [ \"$(count)\" != 0 ] || break; sleep 0.1; done
        echo zombies: $(count)";
    world.write("work/script", script);
    session.line("$RUN bash script", &["zombies: 0\r\n"]);
    session.prompt();
    session.leave();
}

/// As natively: stopped jobs that a shell leaves behind get SIGHUP.
#[test]
fn stopped_jobs_of_a_shell_that_ends_do_not_stay() {
    both(|world, session| {
        session.line("PS1='IN''> ' $RUN bash --norc --noprofile --noediting -i", &["IN> "]);
        session.line("sh -c 'echo $$ > pid; echo ready; exec sleep 1000'", &["1000'\r\n", "ready\r\n"]);
        session.keys("\x1a", &["Stopped", "IN> "]);
        // Kills the shell, so that it cannot signal its jobs.
        session.line("kill -9 $$", &[]);
        let pid = world.read("work/pid").expect("a pid");
        until("the job ends", || {
            std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
                .map_or(true, |stat| stat.contains(") Z "))
        });
    });
}

/// A denial is shown where it happens, before the program's own message.
#[test]
fn denials_are_shown_in_order() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx"}, "deny": ["@/secret"], "default": "---"}}}"#,
    );
    world.write("secret", "secret");
    let mut session = Session::start(&world, true);
    session.line("RUN=\"${RUN/ -q / }\"", &[]);
    session.line("$RUN sh -c 'echo before; cat ../secret; echo after'", &["after'\r\n", "after\r\n"]);
    session.prompt();
    let shown = session.leave();
    let offset_of = |text: &str| shown.rfind(text).unwrap_or_else(|| panic!("{text:?} in {shown}"));
    let line = offset_of("openclaw-guard: denied read");
    assert!(offset_of("\nbefore\r\n") < line && line < offset_of("cat: ../secret"), "{shown}");
    assert!(!shown.contains("\n\n"), "no stairs: {shown:?}");
}
