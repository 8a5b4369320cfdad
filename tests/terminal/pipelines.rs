//! A guard whose standard descriptors are not all the terminal.

use crate::session::same;

#[test]
fn a_part_of_a_pipeline() {
    let shown = same(|session| {
        session.line("echo piped | $RUN cat | tr a-z A-Z", &["PIPED"]);
        session.prompt();
        session.line("$RUN seq 3 | $RUN tac; $RUN cat < /dev/null; yes | $RUN head -1", &[]);
        session.line("$RUN sh -c 'echo out; echo err >&2; test -t 0 && echo in' 2>f; cat f", &[]);
        session.line("$RUN sh -c 'test -t 0; echo $?; test -t 1; echo $?; test -t 2; echo $?' | cat", &[]);
        session.line("x=$($RUN sh -c 'echo $((6 * 7))'); echo got $x", &[]);
    });
    assert!(shown.contains("got 42"), "{shown}");
}

#[test]
fn control_c_ends_the_whole_pipeline() {
    same(|session| {
        session
            .line("sleep 1000 | $RUN sh -c 'echo ready >&2; exec sleep 1000' | sleep 1000", &["ready\r\n"]);
        session.keys("\x03", &["^C"]);
        session.prompt();
        session.line("echo status $? ${PIPESTATUS[@]}", &[]);
        session.line("$RUN sh -c 'echo ready >&2; exec sleep 1000' | cat", &["ready\r\n"]);
        session.keys("\x1a", &["Stopped"]);
        session.prompt();
        session.line("jobs", &[]);
        session.line("fg", &["cat\r\n"]);
        session.keys("\x03", &["^C"]);
        session.prompt();
    });
}

#[test]
fn the_keyboard_is_left_to_the_program_that_reads_it() {
    same(|session| {
        // A program after the guard reads the terminal …
        session.line(
            "$RUN sh -c 'echo ready >&2; sleep 1' | sh -c 'read a < /dev/tty; echo \"<$a>\"'",
            &["ready\r\n"],
        );
        session.line("typed", &["<typed>"]);
        session.prompt();
        // … and so does one inside it, although its input is a pipe.
        session.line(
            "echo x | $RUN sh -c 'echo ready; read a < /dev/tty; read b; echo \"<$a$b>\"'",
            &["ready\r\n"],
        );
        session.pause();
        session.line("typed", &["<typedx>"]);
        session.prompt();
        session.line("stty -a | grep -o '.icanon'", &[]);
    });
}

#[test]
fn lines_in_a_pipeline_start_at_the_left_margin() {
    let shown = same(|session| {
        session.line(
            "true | $RUN sh -c 'printf \"a\\nb\\r\\nc\\rd\\n\\n\"' | cat; true | $RUN printf 'x\\ny\\n'",
            &[],
        );
        session.line("true | $RUN sh -c 'for i in 1 2 3; do echo $i; sleep 0.1; done'", &[]);
    });
    assert!(shown.contains("x\r\ny\r\n"), "{shown:?}");
}
