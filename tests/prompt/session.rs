//! A guarded shell in a terminal emulator. Starting `bin/asked` asks the operator.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use guard_tests::{Emulator, Picture, Replies, World, limit};

/// The usual size: rows and columns.
pub const SIZE: (u16, u16) = (30, 100);
/// Makes a line wait for [`Session::due`].
pub const WHEN_DUE: &str = "until rm due 2>/dev/null; do sleep 0.1; done";
/// The command's prompt.
const PROMPT: &str = "IN> ";

/// `bin/asked` prints its arguments, and is on no allowlist. Everything else of the system may run.
pub fn world() -> World {
    world_with(600_000)
}

/// Returns the world with this time to answer, in milliseconds.
pub fn world_with(timeout: u64) -> World {
    let text = format!(
        r#"{{"version": 1, "exec": {{"security": "allowlist", "ask": "on-miss", "timeoutMs": {timeout},
            "carriers": ["bash", "sh", "dash", "env", "vim.basic", "vim", "less", "tmux"]}},
            "agents": {{"*": {{"allowlist": [{{"pattern": "/usr/**"}}]}}}},
            "permissions": {{"filesystem": {{"rules": {{SYSTEM, "@/work/**": "rwx", "@/bin/**": "r-x", "@/home/**": "rwx"}}, "default": "---"}}}}}}"#
    );
    let world = World::bare().policy(&text).attended();
    let path = world.write("bin/asked", std::fs::read("/bin/echo").expect("echo"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("to change a mode");
    world
}

/// A guarded shell.
pub struct Session {
    pub emulator: Emulator,
    root: String,
}

impl Session {
    /// Starts a shell in this world, on a terminal of the usual size that answers.
    pub fn start(world: &World) -> Session {
        Session::on(world, SIZE, Replies::Given, "xterm-256color")
    }

    /// Starts a shell on another terminal.
    pub fn on(world: &World, size: (u16, u16), replies: Replies, term: &str) -> Session {
        let mut command = world.command();
        command.args(["-q", "--", "bash", "--norc", "--noprofile", "-i"]);
        command.env("TERM", term).env("PS1", PROMPT).env("HISTFILE", "/dev/null").env("LC_ALL", "C.UTF-8");
        command.env("ASKED", world.root().join("bin/asked")).env_remove("TMUX");
        let session = Session::of(world, &command, size, replies);
        session.emulator.expect(PROMPT.trim_end());
        session
    }

    /// Starts another command.
    pub fn of(world: &World, command: &Command, size: (u16, u16), replies: Replies) -> Session {
        Session {
            emulator: Emulator::start(command, size, replies),
            root: world.root().display().to_string(),
        }
    }

    /// Types a line.
    pub fn line(&mut self, line: &str) {
        self.emulator.keys(&format!("{line}\n"));
    }

    /// Waits for a prompt of the guard's, and until it accepts keys.
    pub fn prompted(&self) -> Picture {
        let picture = self.emulator.expect(" s left");
        // The prompt ignores what is typed in its first half second.
        sleep(Duration::from_millis(1000));
        picture
    }

    /// Waits until no prompt is shown.
    pub fn unprompted(&self) -> Picture {
        self.emulator.wait("no prompt", |picture| !picture.text.contains(" s left"))
    }

    /// Types a line that shows something, and that makes a call ask in the background once it is
    /// [`due`](Session::due).
    pub fn later(&mut self, shown: &str) {
        self.line(&format!(
            "({WHEN_DUE}; exec $ASKED later ${{EPOCHREALTIME#*.}}) >/dev/null 2>&1 & clear; {shown}"
        ));
    }

    /// Lets the line of [`Session::later`] make its call.
    pub fn due(&self) {
        std::fs::write(format!("{}/work/due", self.root), "").expect("a file");
    }

    /// Waits for a prompt that takes words. Returns the yes that it takes, with the number that it shows.
    pub fn yes(&self) -> String {
        let text = self.emulator.expect("type yes ").text;
        let rest = text.split("type yes ").last().expect("a number");
        format!("yes {}", rest.split(' ').next().expect("a number"))
    }

    /// Types keys one by one, then Enter, without waiting for them to be shown.
    pub fn slowly(&mut self, keys: &str) {
        for key in keys.chars() {
            self.emulator.keys(&key.to_string());
            sleep(Duration::from_millis(100));
        }
        self.emulator.keys("\r");
        sleep(Duration::from_millis(100));
    }

    /// Answers as a human does: sees each key before the next one and before pressing Enter, and types it again if the
    /// prompt did not accept it yet.
    pub fn answer(&mut self, keys: &str) {
        for (at, key) in keys.char_indices() {
            self.key(key, &keys[..at + key.len_utf8()]);
        }
        self.emulator.keys("\r");
    }

    fn key(&mut self, key: char, line: &str) {
        let typed = |picture: &Picture| {
            picture
                .text
                .lines()
                .any(|shown| shown.strip_prefix('>').is_some_and(|shown| shown.trim() == line))
        };
        let end = Instant::now() + limit();
        while !typed(&self.emulator.picture()) {
            assert!(Instant::now() < end, "{line:?} is not taken:\n{}", self.emulator.picture().text);
            self.emulator.keys(&key.to_string());
            let soon = Instant::now() + Duration::from_secs(5);
            while !typed(&self.emulator.picture()) && Instant::now() < soon {
                sleep(Duration::from_millis(20));
            }
        }
    }

    /// Returns what is shown, with everything made equal that differs from run to run.
    pub fn snapshot(&self, picture: &Picture) -> String {
        self.normalised(&picture.text)
    }

    /// Returns a text with everything made equal that differs from run to run.
    pub fn normalised(&self, text: &str) -> String {
        normalised(text, &self.root)
    }

    /// Leaves the shell. Returns its status.
    pub fn leave(mut self) -> i32 {
        self.line("exit");
        self.emulator.end()
    }
}

/// Replaces directories, digests, ids, processes and seconds by placeholders.
fn normalised(text: &str, root: &str) -> String {
    let name = root.rsplit('/').next().unwrap_or_default();
    let text = unnamed(text, name);
    let mut out = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        let (core, end) = word.split_at(word.trim_end_matches([' ', '\n', ',', ')']).len());
        let hex = |core: &str| core.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let digest = core.rsplit(':').next().unwrap_or_default();
        if digest.len() >= 16 && hex(digest) {
            out.push_str(&core[..core.len() - digest.len()]);
            out.push_str(&"0".repeat(digest.len()));
        } else if core.len() >= 3 && core.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str("999");
        } else {
            out.push_str(core);
        }
        out.push_str(end);
    }
    out
}

/// Replaces the name of the world's directory, which line breaks may split.
fn unnamed(text: &str, name: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let name: Vec<char> = name.chars().collect();
    for start in 0..characters.len() {
        let spaces = |at: &usize| matches!(characters[*at], ' ' | '\n');
        let columns: Vec<usize> =
            (start..characters.len()).filter(|at| !spaces(at)).take(name.len()).collect();
        let same = columns.iter().zip(&name).take_while(|(at, letter)| characters[**at] == **letter).count();
        if same > "guard-".len() {
            columns[..same].iter().skip("guard-".len()).for_each(|at| characters[*at] = 'X');
        }
    }
    characters.into_iter().collect()
}

/// Compares the text with a file of `screens`. With BLESS set, writes the file instead.
pub fn assert_snapshot(name: &str, text: &str) {
    let path = guard_tests::sources().join("prompt/screens").join(format!("{name}.txt"));
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("to write a screen");
        return;
    }
    let known = std::fs::read_to_string(&path).expect("a screen: BLESS=1 writes it");
    assert_eq!(text, known, "{}", path.display());
}
