//! An operator's shell on a terminal, in which commands are run natively or guarded.

use std::process::Command;

use guard_tests::{Screen, World, give_environment, words};

/// The prompt of the operator's shell.
const PROMPT: &str = "OUT> ";

/// An operator's shell; `$RUN` runs a command, natively or guarded.
pub struct Session {
    pub screen: Screen,
}

impl Session {
    pub fn start(world: &World, guarded: bool) -> Session {
        Session::with(world, guarded, &["--noediting"])
    }

    /// Starts the shell with other options of bash.
    pub fn with(world: &World, guarded: bool, options: &[&str]) -> Session {
        let mut runner = if guarded { world.command() } else { world.native_command() };
        if guarded {
            runner.args(["-q", "--"]);
        }
        let mut shell = Command::new("bash");
        shell.args(["--norc", "--noprofile"]).args(options).arg("-i");
        shell.env("RUN", words(&runner)).env("PS1", PROMPT).env("TERM", "dumb").env("LC_ALL", "C.UTF-8");
        shell.env("HISTFILE", "/dev/null").env_remove("TMUX");
        give_environment(&runner, &mut shell);
        shell.current_dir(world.work());
        let mut session = Session { screen: Screen::start(&shell) };
        session.screen.expect(PROMPT);
        session
    }

    /// Types a line and waits for what it must show: the next prompt if nothing is named.
    pub fn line(&mut self, line: &str, shows: &[&str]) {
        self.keys(&format!("{line}\n"), shows);
        if shows.is_empty() {
            self.screen.expect(PROMPT);
        }
    }

    /// Types keys, and waits for what they must show.
    pub fn keys(&mut self, keys: &str, shows: &[&str]) {
        self.screen.keys(keys);
        for text in shows {
            self.screen.expect(text);
        }
    }

    /// Pauses as a human does. A shell reports what it puts into the foreground before it does so, and what
    /// is typed before the guard has the keyboard is echoed twice (docs/compatibility.md).
    pub fn pause(&self) {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }

    /// Waits for the operator's prompt.
    pub fn prompt(&mut self) {
        self.screen.expect(PROMPT);
    }

    /// Leaves the shell. Returns everything that was shown, with process numbers made equal.
    pub fn leave(mut self) -> String {
        self.screen.keys("exit\n");
        let (_, text) = self.screen.end();
        numbered(&text)
    }
}

/// Plays the same natively and guarded, each time in an empty workspace. Returns what was shown.
pub fn both(play: impl Fn(&World, &mut Session)) -> [String; 2] {
    let world = World::open();
    [false, true].map(|guarded| {
        world.reset();
        let mut session = Session::start(&world, guarded);
        play(&world, &mut session);
        session.leave()
    })
}

/// Like [`both`], where nothing may differ. Returns what was shown natively.
pub fn same(play: impl Fn(&mut Session)) -> String {
    let [native, guarded] = both(|_, session| play(session));
    assert_eq!(guarded, native, "guarded on the left");
    native
}

/// Replaces the process numbers in a shell's lines about jobs, as `[1] 4711`. Drops empty lines: their number
/// after an interrupted pipeline depends on the order in which its processes end.
fn numbered(text: &str) -> String {
    let mut result = String::new();
    let mut parts = text.split("] ");
    result.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let rest = part.trim_start_matches(|character: char| character.is_ascii_digit());
        let pid = if rest.len() < part.len() { "PID" } else { "" };
        result.push_str(&format!("] {pid}{rest}"));
    }
    while result.contains("\r\n\r\n") {
        result = result.replace("\r\n\r\n", "\r\n");
    }
    result
}
