//! Once the prompt has gone, every cell of the screen is as before.

use std::process::Command;

use guard_tests::{Picture, Replies, give_environment, program_text, until, words};

use crate::session::{SIZE, Session, assert_snapshot, world};

/// Makes a call ask while this is shown. Returns what was shown before, during and after the prompt.
fn covered(session: &mut Session, shown: &str, sign: &str) -> [Picture; 3] {
    session.later(shown);
    session.emulator.expect(sign);
    let before = session.emulator.rest();
    session.due();
    let during = session.prompted();
    session.answer("n");
    session.unprompted();
    let after = session.emulator.rest();
    after.assert_same(&before);
    [before, during, after]
}

#[test]
fn a_shell() {
    let world = world();
    let mut session = Session::start(&world);
    let colours = r"printf '\e[1;31mred\e[0m \e[44mblue\e[K\e[0m\n\e[4;7m日本語\e[m é\n\e[38;5;200mpink \e[48;2;1;2;3mrgb\e[m\n'";
    covered(&mut session, colours, "pink rgb");
    // A pen color and a hidden cursor. Uses one command: between two, the shell would report the job that has
    // ended.
    let until = "bash -c 'until [ -e over ]; do sleep 0.1; done'";
    covered(&mut session, &format!(r"printf 'ab\e[32m\e[?25lcd'; {until}; printf '\e[?25h\e[m'"), "abcd");
    world.write("work/over", "");
    session.leave();
}

#[test]
fn an_editor() {
    let world = world();
    let vim = program_text("vim");
    let text: String = (1..200).map(|n| format!("line {n} of a file\n")).collect();
    world.write("work/file", text);
    let mut session = Session::start(&world);
    let [_, during, _] = covered(
        &mut session,
        &format!("{vim} -N -u NONE -i NONE -n +'set number hlsearch' +50 file"),
        "line 50",
    );
    // What the prompt does not cover stays visible.
    assert!(during.text.contains("line 40"), "{}", during.text);
    assert_snapshot("over-vim", &session.snapshot(&during));
    // vim goes on as before.
    session.emulator.keys("dd");
    session.emulator.wait("a line less", |picture| !picture.text.contains("line 50 "));
    session.line(":q!");
    session.emulator.expect("IN>");
    session.leave();
}

#[test]
fn a_pager() {
    let world = world();
    world.write("work/file", (1..200).map(|n| format!("line {n} of a file\n")).collect::<String>());
    let mut session = Session::start(&world);
    let less = program_text("less");
    let [_, during, _] = covered(&mut session, &format!("{less} file"), "line 20");
    assert_snapshot("over-less", &session.snapshot(&during));
    session.emulator.keys("/line 150\n");
    session.emulator.expect("line 160");
    session.emulator.keys("q");
    session.emulator.expect("IN>");
    session.leave();
}

/// What tmux knows about its pane: text with attributes, and the modes that are set.
struct Pane {
    tmux: String,
    socket: String,
}

impl Pane {
    fn ask(&self, words: &[&str]) -> String {
        let mut command = Command::new(&self.tmux);
        command.args(["-S", &self.socket]).args(words);
        String::from_utf8(command.output().expect("tmux").stdout).expect("text")
    }

    fn state(&self) -> String {
        const SET: &str = "#{alternate_on} cursor #{cursor_x},#{cursor_y} #{cursor_flag} insert #{insert_flag} \
            origin #{origin_flag} wrap #{wrap_flag} keypad #{keypad_flag} #{keypad_cursor_flag} \
            mouse #{mouse_standard_flag}#{mouse_button_flag}#{mouse_any_flag}#{mouse_sgr_flag} \
            margins #{scroll_region_upper} #{scroll_region_lower}";
        // tmux stores the letters of line-drawing characters, and draws the lines that they stand for.
        let text = self.ask(&["capture-pane", "-e", "-p"]).replace("\u{e}lqqk", "┌──┐").replace('\u{f}', "");
        text + &self.ask(&["display-message", "-p", SET])
    }
}

/// Programs on the alternate screen and on the scrolling one, in a different emulator than the guard's own
/// model.
#[test]
fn modes_that_a_program_has_set_are_restored() {
    let world = world();
    let mut runner = world.command();
    runner.args(["-q", "--", "bash", "--norc", "--noprofile", "-i"]);
    let pane = Pane { tmux: program_text("tmux"), socket: world.root().join("tmux").display().to_string() };
    let mut command = Command::new(&pane.tmux);
    command.args(["-f", "/dev/null", "-S", &pane.socket, "new-session", &words(&runner)]);
    give_environment(&runner, &mut command);
    command.env("ASKED", world.root().join("bin/asked")).env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8").env_remove("TMUX").current_dir(world.work());
    let mut session = Session::of(&world, &command, SIZE, Replies::Given);
    session.emulator.expect("bash-");
    for (n, set) in [
        r"margins\e[5;10r\e[?6h\e[2;3H",
        r"\e[29;1Hlast\e[29;1H\e[4hinsert",
        r"\e[?7lno wrap\e[28;90H0123456789abcdef",
        r"\e[28;1H\e(0lqqk\e(B\e[27;3Hboxes\e(0",
        r"\e)0\e[28;1H\x0elqqk\x0f\e[27;3Hboxes\x0e",
        r"\e[?1002h\e[?1006h\e[?2004h\e[?1h\e=\e[28;1Hmouse",
        r"\e[29;100Hx\e[29;97Hend",
        r"\e[29;1H\e[44m\e[K\e[1;33mfoot\e[10;10Hpen",
        r"\e[29;95Hlast\e[31m!",
        r"\e[29;96H\e[31mlast!",
        r"\e[28;1Ha\e[20bX\e[29;9H\tY\e[29;50H\e[ZZ\e[27;5fW\e[28`V",
        r"\e[20;1H\e[38;2;9;8;7;48;5;200m日本語\e[0;2;3;4;7mé\e[?25l",
        r"\e[28;1Hone\eEtwo\eDthree\e[25;1H\e[2Lfour\e[24;1H\e[Mfive\e[27;2H\e[3@\e[28;2H\e[P",
    ]
    .into_iter()
    .enumerate()
    {
        // The terminal restores the scrolling screen. Only some cases check that it does.
        let is_tried = |screen: &&str| !screen.is_empty() || [0, 1, 7, 11].contains(&n);
        for screen in ["", r"\e[?1049h\e[H\e[2J"].into_iter().filter(is_tried) {
            session.later(&format!("printf '{screen}\\e]2;set {n}\\a{set}'; read a; printf '\\ec'"));
            until("it to be set", || {
                pane.ask(&["display-message", "-p", "#{pane_title}"]).trim() == format!("set {n}")
            });
            let _ = session.emulator.rest();
            let before = pane.state();
            session.due();
            let during = session.prompted();
            assert!(during.text.contains("\n> ") || during.text.contains("\n>"), "{}", during.text);
            session.answer("n");
            session.unprompted();
            let _ = session.emulator.rest();
            assert_eq!(pane.state(), before, "{screen}{set}\n{}", session.emulator.picture().text);
            session.line("");
            session.line("printf '\\e]2;\\a'");
            until("the shell", || pane.ask(&["display-message", "-p", "#{pane_title}"]).trim().is_empty());
        }
    }
    session.line("exit");
    let _ = session.emulator.end();
}
