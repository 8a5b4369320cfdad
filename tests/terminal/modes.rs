//! Modes and size of the terminal.

use guard_tests::{World, until};

use crate::session::{Session, same};

#[test]
fn single_keys_arrive_in_raw_mode() {
    let script = "import sys, tty, termios, os\\n\
        old = termios.tcgetattr(0); tty.setraw(0); os.write(1, b'ready')\\n\
        keys = b''\\n\
        while not keys.endswith(b'q'): keys += os.read(0, 100)\\n\
        termios.tcsetattr(0, termios.TCSADRAIN, old); print(); print(keys)";
    let shown = same(|session| {
        session.line(&format!("$RUN python3 -c \"exec('''{script}''')\""), &["''')\"\r\n", "ready"]);
        session.keys("\x03\x1a\x1c\x04\x16\r\n\x1b[Aäq", &["\r\n"]);
        session.prompt();
    });
    assert!(shown.contains(r"b'\x03\x1a\x1c\x04\x16\r\n\x1b[A\xc3\xa4q'"), "{shown}");
}

/// This includes the end of the input, which the kernel stores as a zero byte.
#[test]
fn input_typed_ahead_arrives() {
    let world = World::open();
    let mut session = Session::start(&world, true);
    let wait = "while ! [ -e go ]; do sleep 0.05; done";
    session.line(&format!("echo ready; {wait}; $RUN od -c; echo status $?"), &["status $?\r\n", "ready\r\n"]);
    session.keys("a\nb\x04\x04", &["a\r\nb"]);
    world.write("work/go", "");
    session.keys("", &["a  \\n   b\r\n0000003\r\n", "status 0\r\n"]);
    session.prompt();
    session.leave();
}

#[test]
fn size_is_the_operators() {
    let shown = same(|session| {
        session.line("$RUN stty size", &["30 100"]);
        session.prompt();
        let script = "trap \"stty size\" WINCH; echo ready; while :; do sleep 0.05; done";
        session.line(&format!("$RUN sh -c '{script}'"), &["done'\r\n", "ready\r\n"]);
        session.screen.resize(41, 77);
        session.keys("", &["41 77\r\n"]);
        session.keys("\x03", &["^C"]);
        session.prompt();
        session.line("$RUN sh -c 'kill -STOP $$; stty size'", &["Stopped"]);
        session.prompt();
        session.screen.resize(20, 66);
        session.line("fg", &["20 66\r\n"]);
        session.prompt();
    });
    assert!(shown.contains("20 66"));
}

/// This includes modes that the command changed: natively the change would stay.
#[test]
fn modes_are_restored_however_it_ends() {
    let world = World::open();
    let mut session = Session::start(&world, true);
    let usual = session.screen.modes();
    let raw = |session: &Session| until("raw mode", || session.screen.modes() != usual);
    let usual_again = |session: &Session| until("the usual modes", || session.screen.modes() == usual);

    session.line("$RUN stty raw -echo", &[]);
    assert_eq!(session.screen.modes(), usual);
    for signal in ["TERM", "HUP", "INT", "KILL"] {
        session.line("$RUN sh -c 'echo $$ > pid; echo ready; exec sleep 1000'", &["ready\r\n"]);
        raw(&session);
        let pid = world.read("work/pid").expect("a pid");
        assert_eq!(world.native(&["kill", &format!("-{signal}"), pid.trim()]).status, 0);
        session.prompt();
        assert_eq!(session.screen.modes(), usual, "the command got SIG{signal}");
    }
    for signal in ["TERM", "HUP", "INT", "QUIT", "ALRM", "VTALRM", "PROF"] {
        session.line("$RUN sh -c 'echo ready; exec sleep 1000'", &["ready\r\n"]);
        raw(&session);
        let front =
            world.native(&["pkill", &format!("-{signal}"), "-of", &format!("{} -- sh -c", audit(&world))]);
        assert_eq!(front.status, 0, "{}", front.stderr);
        session.prompt();
        assert_eq!(session.screen.modes(), usual, "the guard got SIG{signal}");
    }
    session.line("$RUN sh -c 'echo ready; kill -STOP $$; echo on'", &["ready\r\n", "Stopped"]);
    usual_again(&session);
    session.prompt();
    session.line("fg", &["on\r\n"]);
    session.prompt();
    session.leave();
}

/// Returns a part of the command line that only this world's guards have: the path of the audit log.
fn audit(world: &World) -> String {
    format!("{} -q", world.root().join("audit.jsonl").display())
}
