//! Claude Code and Codex, as a person uses them: started in a project, in a terminal, until an edit is finished. Whoever wraps an agent
//! must not be asked anything for that.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use guard_tests::gateway::installed_directory;
use guard_tests::model::{Model, Step};
use guard_tests::{Emulator, Replies, World, ended, has, is_long_form};
use serde_json::json;

/// How long an agent may take, on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// What is denied to Claude Code: what it tries to make for later runs outside. A market of plugins, and an entry for the
/// desktop.
const DENIED_TO_CLAUDE_CODE: [&str; 2] =
    ["write ~/.claude/plugins/marketplaces", "write ~/.local/share/applications"];

/// A home with a project, an agent in `PATH`, and with or without a policy.
pub struct Desk {
    pub world: World,
    pub tools: PathBuf,
    arguments: Vec<String>,
}

impl Desk {
    fn new(world: World, tools: PathBuf, template: Option<&str>, arguments: &[&str]) -> Desk {
        let world = world.asking();
        world.write("home/app/hello.txt", "hello\n");
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        let desk = Desk { world, tools, arguments };
        if let Some(template) = template {
            let made = ended(desk.guard().args(["init", "--template", template]));
            assert_eq!(made.status, 0, "{}", made.stderr);
        }
        desk
    }

    pub fn project(&self) -> PathBuf {
        self.world.home().join("app")
    }

    fn file(&self) -> String {
        self.project().join("hello.txt").display().to_string()
    }

    fn path(&self) -> String {
        format!("{}:/usr/local/bin:/usr/bin:/bin", self.tools.display())
    }

    fn guard(&self) -> Command {
        let mut command = self.world.command();
        command.current_dir(self.project()).env("PATH", self.path()).env("TERM", "xterm-256color");
        command
    }

    /// The agent under the guard, on a terminal.
    fn agent(&self, environment: &[(&str, &str)], argv: &[String]) -> Agent<'_> {
        let mut command = self.guard();
        command.envs(environment.iter().copied()).args(&self.arguments).arg("--").args(argv);
        Agent { desk: self, screen: Emulator::start(&command, (40, 120), Replies::Given) }
    }
}

struct Agent<'d> {
    desk: &'d Desk,
    screen: Emulator,
}

impl Agent<'_> {
    /// Waits until the screen shows one of these texts, and returns which.
    fn shows(&self, texts: &[&str]) -> usize {
        self.until(&texts.join(" or "), || {
            let picture = self.screen.picture().text;
            texts.iter().position(|text| picture.contains(text))
        })
    }

    fn until<T>(&self, what: &str, mut done: impl FnMut() -> Option<T>) -> T {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(done) = done() {
                return done;
            }
            let asked = self.asked();
            assert!(asked.is_empty(), "{what}: it asks: {asked:#?}\n{}", self.screen.picture().text);
            assert!(Instant::now() < end, "{what}: never; there is:\n{}", self.screen.picture().text);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Types the prompt that has it begin.
    fn goes_on(&mut self) {
        self.screen.keys("go on");
        std::thread::sleep(Duration::from_millis(300));
        self.screen.keys("\r");
    }

    /// What was asked about so far.
    fn asked(&self) -> Vec<String> {
        let records = self.desk.world.audit();
        let asked = records.iter().filter(|record| record["event"] == "requested");
        asked.map(|record| record["path"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Waits for the edit, ends the agent with these keys, and checks what it cost: no question, and no line on what it draws.
    fn finishes(mut self, keys: &[&str], may_be_denied: &[&str]) {
        let file = self.desk.file();
        self.until("the edit", || {
            fs::read_to_string(&file).is_ok_and(|text| text == "changed\n").then_some(())
        });
        self.shows(&["all done"]);
        let drawn = self.screen.written();
        assert!(!drawn.contains("openclaw-guard: denied "), "over what it draws: {drawn}");
        for key in keys {
            self.screen.keys(key);
            std::thread::sleep(Duration::from_millis(300));
        }
        let asked = self.asked();
        let written = self.screen.written();
        let status = self.screen.end();
        let denied = self.desk.world.denied();
        println!("{} questions, status {status}; denied: {denied:#?}", asked.len());
        assert_eq!(asked, Vec::<String>::new(), "{denied:#?}");
        let home = self.desk.world.home().display().to_string();
        let denied: Vec<String> = denied.iter().map(|line| line.replace(&home, "~")).collect();
        assert_eq!(denied, may_be_denied);
        let lines = written.lines().filter(|line| line.contains("openclaw-guard: denied "));
        let lines = lines.filter(|line| !line.contains(" more time")).count();
        assert!(lines <= may_be_denied.len(), "{lines} lines: {written}");
    }
}

/// Claude Code at the desk of somebody who uses it already.
pub struct ClaudeCode {
    pub desk: Desk,
    pub environment: Vec<(&'static str, String)>,
    _model: Model,
}

impl ClaudeCode {
    /// With a model that takes these steps.
    pub fn new(
        world: World,
        template: Option<&str>,
        arguments: &[&str],
        steps: impl FnOnce(&Desk) -> Vec<Step>,
    ) -> ClaudeCode {
        let tools =
            installed_directory("claude-code", None).join("node_modules/@anthropic-ai/claude-code-linux-x64");
        let desk = Desk::new(world, tools, template, arguments);
        let project = desk.project().display().to_string();
        let state = json!({"hasCompletedOnboarding": true, "theme": "dark", "numStartups": 3,
            "customApiKeyResponses": {"approved": ["none-none-none-none"], "rejected": []},
            "projects": {project: {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}});
        desk.world.write("home/.claude.json", state.to_string());
        let model = Model::start(steps(&desk));
        let environment = [
            ("ANTHROPIC_BASE_URL", &*model.url()),
            ("ANTHROPIC_API_KEY", "none-none-none-none"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("IS_SANDBOX", "1"),
        ];
        let environment = environment.map(|(name, value)| (name, value.to_owned())).to_vec();
        // Once without the guard, as somebody has done who uses it already: it makes its directories in the home.
        let idle = Model::start(Vec::new());
        let mut first = desk.world.native_command();
        first.env("PATH", desk.path()).current_dir(desk.project()).envs(environment.iter().cloned());
        let first = ended(first.env("ANTHROPIC_BASE_URL", idle.url()).args(["claude", "-p", "go on"]));
        assert_eq!(first.status, 0, "{}\n{}", first.stdout, first.stderr);
        for directory in [".claude/plugins", ".local/state/claude", ".local/share/claude"] {
            fs::create_dir_all(desk.world.home().join(directory)).expect("a directory");
        }
        ClaudeCode { desk, environment, _model: model }
    }
}

fn claude_code(template: Option<&str>, arguments: &[&str]) {
    let claude = ClaudeCode::new(World::bare(), template, arguments, |desk| {
        let edit = json!({"file_path": desk.file(), "old_string": "hello", "new_string": "changed"});
        vec![
            Step::Call("Read", json!({"file_path": desk.file()})),
            Step::Call("Edit", edit),
            Step::Call("Bash", json!({"command": "cat hello.txt", "description": "a step"})),
        ]
    });
    let environment: Vec<_> =
        claude.environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let argv = ["claude", "--permission-mode", "acceptEdits"].map(str::to_owned);
    let mut agent = claude.desk.agent(&environment, &argv);
    loop {
        match agent.shows(&[
            "accept edits on",
            "trust this folder",
            "Do you want to use this API key",
            "Enter to confirm",
        ]) {
            0 => break,
            2 => agent.screen.keys("\x1b[A\r"),
            _ => agent.screen.keys("\r"),
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    agent.goes_on();
    agent.finishes(&["\x03", "\x03", "\x03", "\x04"], &DENIED_TO_CLAUDE_CODE);
}

#[test]
fn claude_code_with_a_policy() {
    if is_long_form() {
        claude_code(Some("claude-code"), &[]);
    }
}

#[test]
fn claude_code_without_a_policy() {
    if is_long_form() {
        claude_code(None, &["--profile", "claude-code"]);
    }
}

/// As docs/templates.md says.
const CODEX: [&str; 6] =
    ["codex", "--no-daemon", "--sandbox", "danger-full-access", "--ask-for-approval", "never"];

fn codex(template: Option<&str>, arguments: &[&str]) {
    if !has(&["node"]) {
        return;
    }
    let tools = installed_directory("codex", None).join("node_modules/.bin");
    let desk = Desk::new(World::bare(), tools, template, arguments);
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: hello.txt\n@@\n-hello\n+changed\n*** End Patch\nEOF";
    let runs = |command: &str| Step::Call("exec_command", json!({"cmd": command}));
    let model = Model::start(vec![runs("cat hello.txt"), runs(patch), runs("git init -q . && git status")]);
    let configure = |url: &str| {
        let provider = format!(
            "name = \"scripted\"\nbase_url = \"{url}/v1\"\nenv_key = \"KEY\"\nwire_api = \"responses\""
        );
        let project = desk.project().display().to_string();
        let config = format!(
            "model = \"scripted\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\n{provider}\n\
             [projects.\"{project}\"]\ntrust_level = \"trusted\"\n"
        );
        desk.world.write("home/.codex/config.toml", config);
    };
    // Once without the guard, as somebody has done who uses it already: it puts its own skills into the home.
    let idle = Model::start(Vec::new());
    configure(&idle.url());
    let mut first = desk.world.native_command();
    first.env("PATH", desk.path()).env("KEY", "none").current_dir(desk.project());
    let first = ended(first.args(["codex", "exec", "--skip-git-repo-check", "go on"]));
    assert_eq!(first.status, 0, "{}\n{}", first.stdout, first.stderr);
    configure(&model.url());
    let mut agent = desk.agent(&[("KEY", "none")], &CODEX.map(str::to_owned));
    while agent.shows(&["? for shortcuts", "Press enter to continue"]) != 0 {
        agent.screen.keys("\r");
        std::thread::sleep(Duration::from_millis(500));
    }
    agent.goes_on();
    agent.finishes(&["\x03", "\x03"], &[]);
}

#[test]
fn codex_with_a_policy() {
    if is_long_form() {
        codex(Some("codex"), &[]);
    }
}

#[test]
fn codex_without_a_policy() {
    if is_long_form() {
        codex(None, &["--profile", "codex"]);
    }
}
