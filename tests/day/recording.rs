//! A question over a running Claude Code, and the recording of it that README.md shows. BLESS=1 writes it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use guard_tests::gateway::installed_directory;
use guard_tests::model::Step;
use guard_tests::{
    Emulator, Picture, Replies, Still, World, copy_guard, ended, has, is_long_form, is_root,
    lasting_directory, recording, skip, sources,
};
use serde_json::json;

use crate::agents::ClaudeCode;

/// Rows and columns.
const SIZE: (u16, u16) = (30, 100);
const LABEL: &str = "Claude Code under openclaw-guard: it runs make deploy, the guard asks about the program that make starts, and it goes on after a yes";

/// Makes the current directory the home of a user u, and runs the words there. Paths of a test's own are too long to be read.
const AT_HOME: &str =
    "mount -t tmpfs home /home && mkdir /home/u && mount --bind . /home/u && cd /home/u/app && exec \"$@\"";

struct Recorder {
    screen: Emulator,
    stills: Vec<(Still, Duration)>,
}

impl Recorder {
    fn expect(&self, text: &str) -> Picture {
        self.screen.expect(text)
    }

    /// Types slowly enough to be watched.
    fn types(&mut self, keys: &str) {
        self.screen.keys(keys);
        std::thread::sleep(Duration::from_millis(500));
    }

    /// Has what is shown now in the recording, for this many seconds.
    fn shows(&mut self, seconds: f32) -> usize {
        self.stills.push((self.screen.still(), Duration::from_secs_f32(seconds)));
        self.stills.len() - 1
    }
}

#[test]
fn a_question_over_claude_code() {
    if !is_long_form() {
        return;
    }
    if !is_root() || !has(&["unshare", "mount"]) {
        return skip("a home of its own, which root can mount");
    }
    let run = json!({"command": "make deploy", "description": "Deploy the site"});
    // Not in a repository of somebody else's, and where its program can be linked to.
    let cache = installed_directory("claude-code", None).join("..");
    let Some(directory) = lasting_directory(&cache.display().to_string()) else { return };
    let claude = ClaudeCode::new(World::bare_in(directory), None, &[], |_| vec![Step::Call("Bash", run)]);
    let world = &claude.desk.world;
    let init = ended(Command::new("git").args(["init", "-q"]).arg(claude.desk.project()));
    assert_eq!(init.status, 0, "{}", init.stderr);
    let programs = world.home().join(".local/bin");
    fs::create_dir(&programs).expect("a directory");
    let (from, to) = (claude.desk.tools.join("claude"), programs.join("claude"));
    // Only an owner may link.
    fs::hard_link(&from, &to).or_else(|_| fs::copy(from, to).map(drop)).expect("to install it");
    copy_guard(&programs);
    // Once told, it does not warn of the option again.
    world.write("home/.claude/settings.json", r#"{"skipDangerousModePermissionPrompt": true}"#);
    world.write("home/app/Makefile", "deploy:\n\t@~/bin/deploy --to production\n");
    let deploy = world.write("home/bin/deploy", "#!/bin/sh\necho deployed to $2\n");
    fs::set_permissions(deploy, fs::Permissions::from_mode(0o755)).expect("to change a mode");
    let state = world.read("home/.claude.json").expect("its state");
    world.write("home/.claude.json", state.replace(&world.home().display().to_string(), "/home/u"));
    let mut shell = Command::new("unshare");
    shell.args(["-m", "sh", "-ec", AT_HOME, "sh", "env", "-i"]).current_dir(world.home());
    // Nothing of this machine's, of which the guard would say that it is not inherited.
    let own = [
        ("HOME", "/home/u"),
        ("LANG", "C.UTF-8"),
        ("PATH", "/home/u/.local/bin:/usr/local/bin:/usr/bin:/bin"),
        ("PS1", "~/app$ "),
        ("TERM", "xterm-256color"),
    ];
    let set = claude.environment.iter().map(|(name, value)| (*name, value.as_str()));
    shell.args(own.into_iter().chain(set).map(|(name, value)| format!("{name}={value}")));
    shell.args(["bash", "--norc", "--noprofile", "-i"]);
    let mut recorder = Recorder { screen: Emulator::start(&shell, SIZE, Replies::Given), stills: Vec::new() };

    recorder.expect("~/app$");
    recorder.types("openclaw-guard -- claude --dangerously-skip-permissions");
    recorder.shows(1.5);
    recorder.types("\r");
    recorder.expect("bypass permissions on");
    std::thread::sleep(Duration::from_secs(1));
    recorder.shows(2.0);
    recorder.types("deploy the site");
    recorder.shows(1.5);
    recorder.types("\r");
    let question = recorder.expect(" s left");
    for row in ["wants to run: ", "because   "] {
        assert!(question.text.contains(row), "{}", question.text);
    }
    // It ignores what is typed in its first half second.
    std::thread::sleep(Duration::from_millis(1000));
    let asked = recorder.shows(6.0);
    recorder.types("y");
    recorder.shows(1.0);
    recorder.types("\r");
    recorder.expect("all done");
    std::thread::sleep(Duration::from_secs(1));
    let over = recorder.screen.picture();
    assert!(!over.text.contains(" s left") && over.text.contains("deployed to production"), "{}", over.text);
    recorder.shows(5.0);
    for keys in ["\x03", "\x03"] {
        recorder.types(keys);
    }
    recorder.screen.wait("a prompt", |picture| picture.text.trim_end().ends_with("~/app$"));
    recorder.types("exit\r");
    let _ = recorder.screen.end();

    let path = sources().join("../docs/claude-code.svg");
    let sentence = |rows: &[String]| {
        let row = rows.iter().find(|row| row.contains("wants to run: ")).expect("its sentence");
        row.trim().to_owned()
    };
    let sentence = sentence(&recorder.stills[asked].0.text());
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, recording(LABEL, &recorder.stills, asked)).expect("to write a recording");
    }
    // What Claude Code draws differs from run to run.
    let known = fs::read_to_string(&path).expect("a recording: BLESS=1 writes it");
    assert!(known.contains(&sentence), "{}: {sentence:?} is not in it: BLESS=1 writes it", path.display());
}
