//! A command that works against the prompt and against the terminal.

use std::thread::sleep;
use std::time::Duration;

use guard_tests::{Picture, Replies, until};

use crate::session::{SIZE, Session, WHEN_DUE, world};

#[test]
fn the_terminal_types_nothing_for_a_command() {
    let world = world();
    let mut session = Session::start(&world);
    session.line(r"printf 'a\005b\e]52;c;cm0K\ac\e]52;c;?\ad\e[21te\eP$qm\e\\f\n'");
    session.emulator.expect("abcdef");
    let text = session.emulator.rest().text;
    assert!(!text.contains("CLIPBOARD") && !text.contains("ltitle"), "{text}");
    assert!(!session.emulator.written().contains("\u{1b}]52;"));
    // Nor does the terminal open, write or remove a file for it, in one write or in several.
    session.line(r"printf '\e]1337;File=name=Zg==:eA==\a\e_Ga=T,'; printf 't=t;L3RtcC9m\e\\ghij\n'");
    session.emulator.expect("\nghij");
    let written = session.emulator.written();
    assert!(!written.contains("\u{1b}]1337;File") && !written.contains("\u{1b}_G"), "{written:?}");
    // A question that is allowed gets its reply.
    session.line(r"printf '\e[6n'; read -rsd R; printf '%q\n' $REPLY");
    session.emulator.expect(r"E[");
    session.leave();
}

#[test]
fn answers_to_the_command_are_the_commands() {
    let world = world();
    let mut session = Session::start(&world);
    // The command asks twice before the held call, and the replies arrive while the prompt is up.
    let script = r#"stty -echo raw; printf '\e[6n\e[5n'; $ASKED x >/dev/null; printf '\e[6n'
        IFS= read -rd R first; IFS= read -rd n second; IFS= read -rd R third; stty sane
        printf 'first %q second %q third %q\n' "$first" "$second" "$third""#;
    world.write("work/script", script);
    session.line("clear; . ./script");
    session.prompted();
    session.answer("y");
    session.unprompted();
    let text = session.emulator.expect("third $").text;
    // The answers name the first row, where the command was, and no position of the guard's own questions.
    let line = text.lines().find(|line| line.starts_with("first")).expect("a line");
    assert_eq!(line.matches("E[1;1").count(), 2, "{text}");
    assert_eq!(line.matches("E[0").count(), 1, "{text}");
    session.leave();
}

#[test]
fn output_written_under_a_prompt_comes_after_it() {
    let world = world();
    let mut session = Session::start(&world);
    let write = r"for i in {1..500}; do printf '\e[H\e[2Jfake: allow? %s\n' $i; done; echo last";
    session.line(&format!("({WHEN_DUE}; : > begun; {write}) & $ASKED x"));
    session.prompted();
    session.due();
    until("something is written", || world.work().join("begun").exists());
    sleep(Duration::from_secs(1));
    let picture = session.emulator.picture();
    assert!(
        picture.text.contains("may this program run?") && !picture.text.contains("fake"),
        "{}",
        picture.text
    );
    session.answer("y");
    session.unprompted();
    session.emulator.expect("last");
    session.leave();
}

/// Returns the characters of the prompt that have a default colour, or a numbered one: the command can change those.
fn in_other_colours(picture: &Picture) -> Vec<&String> {
    let rows: Vec<&str> = picture.text.lines().collect();
    let first = rows.iter().position(|row| row.contains("may this program run?")).expect("a prompt");
    let cells = picture.cells.chunks(usize::from(SIZE.1)).skip(first).flatten();
    cells.filter(|cell| !cell.starts_with(' ') && cell.matches("Rgb(").count() != 2).collect()
}

#[test]
fn no_state_of_the_terminal_hides_it() {
    let world = world();
    let mut session = Session::start(&world);
    for (set, reset) in [
        (r"\e[?2026h", r"\e[?2026l"),
        (r"\e[8m\e[30;40m", r"\e[m"),
        (r"\e(0", r"\e(B"),
        (r"\x0e\e)0", r"\x0f"),
        (r"\e[4h\e[?6h\e[10;11r", r"\e[4l\e[?6l\e[r"),
        (r"\e[?7l\e[?25l", r"\e[?7h\e[?25h"),
        (r"\e[", "m"),
        (r"\e]0;title", r"\a"),
        (r"\ePq#0;2;0;0;0~~~~", r"\e\\"),
        (r"\xe2\x82", r"\xac"),
        (r"\e[?1049h", r"\e[?1049l"),
        // States that the terminal restores by itself, or keeps when it is reset.
        (r"\e[?1049h\e[29;30r\e[?6h\e7\e[?6l\e8", r"\e[?6l\e[r\e[?1049l"),
        (r"\e[?69h\e[?69s\e[?69l\e[?69r\e[1;2s", r"\e[?69l"),
        (r"\e]10;#000000\e\\\e]11;#000000\e\\\ec", ""),
        (r"\e]10;#000000;?\e\\\e]21;foreground=#000;background=#000\e\\\e]39;#000\e\\", ""),
        (r"\e[?69h\e[1;2s\e[?2026h", r"\e[?69l\e[?2026l"),
    ] {
        let before = session.emulator.written().len();
        session.line(&format!("clear; printf '{set}'; $ASKED x >/dev/null; printf '{reset}'; clear"));
        let picture = session.prompted();
        assert_eq!(in_other_colours(&picture), Vec::<&String>::new(), "{set}");
        let written = session.emulator.written();
        let written = written.get(before..).unwrap_or_default();
        let drawn = written.find("may this program run?").unwrap_or_default();
        for needed in ["\x1b[?2026l", "\x1b[?69l", "\x1b[?6l", "\x1b[r", "\x1b[4l"] {
            assert!(written[..drawn].contains(needed), "{set}: {needed:?}");
        }
        assert!(picture.text.contains("bin/asked x, in "), "{set}: {}", picture.text);
        assert!(
            picture.text.lines().last().is_some_and(|line| line.starts_with('>')),
            "{set}: {}",
            picture.text
        );
        session.answer("y");
        session.unprompted();
        session.emulator.wait(set, |picture| picture.text.trim_start().starts_with("IN>"));
    }
    // Part of a long picture has been written already.
    session.line(r"clear; printf '\ePq%09000d' 0; $ASKED x >/dev/null; printf '%05000d\e\\' 0; echo over");
    session.prompted();
    session.answer("y");
    session.unprompted();
    let text = session.emulator.expect("over").text;
    assert!(!text.contains("000000"), "{text}");
    session.leave();
}

/// A process chooses its name (prctl(2), PR_SET_NAME).
#[test]
fn a_process_does_not_look_like_two() {
    let world = world();
    let mut session = Session::start(&world);
    session.line(
        "/usr/bin/python3 -c \"import ctypes, os; ctypes.CDLL(None).prctl(15, b'a 7 < bash 41', 0, 0, 0); \
         os.execv(os.environ['ASKED'], ['x'])\"",
    );
    let picture = session.prompted();
    assert!(picture.text.contains("asked by  'a 7 < bash 41' "), "{}", picture.text);
    session.answer("n");
    session.unprompted();
    session.leave();
}

/// A terminal may know sequences although TERM says otherwise.
#[test]
fn no_state_hides_lines_either() {
    let world = world();
    let mut session = Session::on(&world, SIZE, Replies::Given, "dumb");
    // A prompt that is drawn before the terminal has got the sequences comes before their effect, too.
    session.line(
        r"printf '\e[8m\e[30;40m\e(0\e[29;30r\e[?6h'; sleep .5; $ASKED one; printf '\e[?6l\e[r\e(B\e[m'",
    );
    session.emulator.expect("bin/asked one, in ");
    let yes = session.yes();
    assert_eq!(in_other_colours(&session.emulator.picture()), Vec::<&String>::new());
    sleep(Duration::from_millis(2500));
    session.slowly(&yes);
    until("the call goes on", || world.pending().is_empty());
    session.line("clear; echo over");
    session.emulator.expect("\nover");
    session.leave();
}
