//! Shared harness of the end-to-end tests: a home, a workspace and a policy in a temporary directory, and the
//! real `openclaw-guard`, which runs in them.
#![forbid(unsafe_code)]

mod arena;
mod collector;
mod compare;
mod emulator;
mod flips;
pub mod gateway;
mod held;
mod loader;
pub mod model;
mod needs;
mod numbers;
mod page;
mod port;
mod pty;
mod python;
mod run;
mod screen;
pub mod served;
mod still;
mod transcript;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guard_policy::environment::{Inherit, inherited};
use tempfile::TempDir;

pub use arena::Arena;
pub use collector::Collector;
pub use compare::{Same, Tree, compile, program, program_text, search_path, tree};
pub use emulator::{Emulator, Picture, Replies};
pub use flips::compile_flips;
pub use held::Held;
pub use loader::LOADER;
pub use needs::{
    dependencies, fetched, has, has_floor, has_socket_scope, is_foreign, is_long_form, lacks_floor,
    lasting_directory, toolchain,
};
pub use page::Announced;
pub use port::free_port;
pub use pty::give_environment;
pub use python::python_environment;
pub use run::{
    behind, descendants, ended, ended_with_input, is_soak, limit, rounds, skip, status_of, until, words,
};
pub use screen::Screen;
pub use still::{Still, recording};
pub use transcript::{Shell, Step, steps, steps_under};

/// Returns the path of the guard under test: OPENCLAW_GUARD, or the one built beside the tests.
#[must_use]
pub fn guard() -> PathBuf {
    beside_the_tests("OPENCLAW_GUARD", "openclaw-guard")
}

/// The log of denials below a world's directory.
pub const DENIALS: &str = "audit.jsonl.d/denials.jsonl";

/// Returns the path of a program that a variable names, or that was built beside the tests.
fn beside_the_tests(variable: &str, name: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let exe = std::env::current_exe().expect("a test has a path");
    // target/PROFILE/deps/NAME-HASH
    let profile = exe.ancestors().nth(2).expect("tests are built in target/PROFILE/deps");
    let program = profile.join(name);
    assert!(program.exists(), "{} is not built: scripts/build-tests", program.display());
    program
}

/// Copies the guard to a path. Another process writes the copy: children that other tests start inherit what
/// this one has open for writing, and a program that is open for writing cannot start (ETXTBSY).
///
/// # Panics
/// When that fails.
pub fn copy_guard(to: &Path) {
    let copied = ended(Command::new("cp").arg("--remove-destination").arg(guard()).arg(to));
    assert_eq!(copied.status, 0, "{}", copied.stderr);
}

/// The parts of this repository that cargo needs to build any of its crates.
pub const PROJECT: [&str; 11] = [
    "Cargo.toml",
    "Cargo.lock",
    "approvals",
    "bench",
    "cli",
    "fuzz",
    "openclaw",
    "policy",
    "shim",
    "supervisor",
    "tests",
];

/// Returns the path of the guard built with the feature `test-layers`.
///
/// # Panics
/// When it is not there.
#[must_use]
pub fn without_layers() -> PathBuf {
    beside_the_tests("OPENCLAW_GUARD_LAYERS", "guard-layers")
}

/// Returns the layers that are off in every test (GUARD_LAYERS_OFF, separated by commas), so that tests fail
/// which need them.
#[must_use]
pub fn layers_off() -> Option<String> {
    std::env::var("GUARD_LAYERS_OFF").ok().filter(|off| !off.is_empty())
}

/// Returns the directory of this crate's sources and data: GUARD_TESTS, or where it was compiled.
#[must_use]
pub fn sources() -> PathBuf {
    std::env::var_os("GUARD_TESTS").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct Ended {
    /// What it wrote on stdout.
    pub stdout: String,
    /// What it and the guard wrote on stderr.
    pub stderr: String,
    /// Its exit status; 128 + n where signal n ended it.
    pub status: i32,
}

impl Ended {
    /// Returns the lines that the guard itself wrote.
    #[must_use]
    pub fn guard_lines(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("openclaw-guard: ")).collect()
    }
}

/// A home and a workspace in a temporary directory, which is removed at the end.
#[derive(Debug)]
pub struct World {
    directory: TempDir,
    policy: Option<PathBuf>,
    attended: bool,
    /// Whether its policies get [`with_routes`].
    has_routes: bool,
    tiers: Option<String>,
}

/// Every choice of who decides: the values of `--tiers`.
pub const TIERS: [&str; 4] = ["broker", "broker,floored", "broker,kernel", "broker,floored,kernel"];

/// Rules for programs and libraries of the system, for policies of tests.
pub const SYSTEM: &str = r#""/usr/**": "r-x", "/bin/**": "r-x", "/lib/**": "r-x", "/lib64/**": "r-x", "/etc/**": "r--", "/proc/**": "r--", "/sys/**": "r--", "/dev/**": "rw-""#;

/// Inserts `approvals.routes` into the text of a policy that has none.
fn with_routes(text: &str) -> String {
    const ROUTES: &str = r#""routes": ["cli", "terminal", "socket"]"#;
    if text.contains("\"routes\"") {
        return text.to_owned();
    }
    match text.contains("\"approvals\": {") {
        true => text.replacen("\"approvals\": {", &format!("\"approvals\": {{{ROUTES}, "), 1),
        false => text.replacen("\"version\": 1", &format!("\"version\": 1, \"approvals\": {{{ROUTES}}}"), 1),
    }
}

impl World {
    /// Creates a world without a policy file: the built-in policy applies.
    #[must_use]
    pub fn bare() -> World {
        World::bare_in(tempfile::Builder::new().prefix("guard-").tempdir().expect("a temporary directory"))
    }

    /// Creates a world as [`World::bare`], in this directory.
    ///
    /// # Panics
    /// When its directories cannot be made.
    #[must_use]
    pub fn bare_in(directory: TempDir) -> World {
        fs::create_dir(directory.path().join("home")).expect("a home");
        fs::create_dir(directory.path().join("work")).expect("a workspace");
        let tiers = std::env::var("GUARD_TIERS").ok().filter(|tiers| !tiers.is_empty());
        World { directory, policy: None, attended: false, has_routes: false, tiers }
    }

    /// Creates a world that allows everything, also leaving something behind, for tests of mechanism and not
    /// of policy. Programs can start from everywhere, including the place of the policy, so reading goes
    /// through the broker.
    #[must_use]
    pub fn open() -> World {
        World::open_with("/")
    }

    /// Creates a world like [`World::open`], but programs start only from `/usr`, `bin` and `work`, so that
    /// the kernel decides what it may.
    #[must_use]
    pub fn floored() -> World {
        let world = World::open_with(r#"/usr", "@/bin", "@/work"#);
        fs::create_dir(world.root().join("bin")).expect("a directory");
        world
    }

    fn open_with(roots: &str) -> World {
        World::bare().policy(&format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off", "roots": ["{roots}"]}},
                "permissions": {{"persistence": false, "filesystem": {{"rules": {{"/**": "rwx"}}, "default": "rwx"}}}}}}"#,
        ))
    }

    /// Sets the guard.json. In it, `@` stands for the directory of this world, and `SYSTEM` for the rules of
    /// the system.
    #[must_use]
    pub fn policy(mut self, text: &str) -> World {
        let text = text.replace("SYSTEM", SYSTEM).replace('@', self.root().to_str().expect("a plain path"));
        let text = if self.has_routes { with_routes(&text) } else { text };
        let path = self.root().join("guard.json");
        fs::write(&path, text).expect("a policy");
        self.policy = Some(path);
        self
    }

    /// Replaces the policy by an edited text.
    #[must_use]
    pub fn policy_text(self, edit: impl FnOnce(String) -> String) -> World {
        let text = self.read("guard.json").expect("a policy");
        self.policy(&edit(text))
    }

    /// Switches on, or off, the protection of what would run outside, in a policy that switches it off.
    ///
    /// # Panics
    /// When the policy does not switch it off.
    #[must_use]
    pub fn with_persistence(self, is_on: bool) -> World {
        const OFF: &str = r#""persistence": false"#;
        self.policy_text(|text| {
            assert!(text.contains(OFF), "{text}");
            text.replace(OFF, &format!(r#""persistence": {is_on}"#))
        })
    }

    /// Returns the policy's file, if there is one.
    #[must_use]
    pub fn policy_file(&self) -> Option<&Path> {
        self.policy.as_deref()
    }

    /// Has somebody answer questions; otherwise the policy's fallback settles them at once. Where the policy names no
    /// routes, it gets those that need no gateway: a question waits for `approvals resolve` only if `cli` is named.
    #[must_use]
    pub fn attended(mut self) -> World {
        (self.attended, self.has_routes) = (true, true);
        if self.policy.is_some() { self.policy_text(|text| text) } else { self }
    }

    /// As [`World::attended`], with the policy as it is.
    #[must_use]
    pub fn asking(mut self) -> World {
        self.attended = true;
        self
    }

    /// Sets who decides; the default is GUARD_TIERS, or the guard's own choice.
    pub fn set_tiers(&mut self, tiers: &str) {
        self.tiers = Some(tiers.to_owned());
    }

    /// Returns the directory of this world, a real path.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("a real path")
    }

    /// Returns the workspace: the current directory of commands.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// Returns the home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Writes a file below the world's directory, and creates the directories that it needs.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directories");
        fs::write(&path, content).expect("a file");
        path
    }

    /// Reads a file below the world's directory; returns None if it is not there.
    #[must_use]
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    /// Returns the guard with this world's policy; a subcommand or `--` comes next.
    #[must_use]
    pub fn command(&self) -> Command {
        match layers_off() {
            None => self.command_of(&guard()),
            Some(off) => {
                let mut command = self.command_of(&without_layers());
                command.env("GUARD_TEST_LAYERS_OFF", off);
                command
            }
        }
    }

    /// Does as [`World::command`], for another build of the guard.
    #[must_use]
    pub fn command_of(&self, guard: &Path) -> Command {
        let mut command = Command::new(guard);
        if let Some(policy) = &self.policy {
            command.arg("--policy").arg(policy);
        }
        if !self.attended {
            command.arg("--unattended");
        }
        if let Some(tiers) = &self.tiers {
            command.args(["--tiers", tiers]);
        }
        self.set_directories(&mut command);
        command.arg("--audit").arg(self.root().join("audit.jsonl"));
        command
    }

    /// Removes the variables that the guard would drop: what cargo and an editor's terminal set for the tests
    /// differs from machine to machine, and between guarded and native runs.
    fn set_directories(&self, command: &mut Command) {
        let vars = std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
        for dropped in inherited(vars, Inherit::Host).dropped {
            command.env_remove(OsStr::from_bytes(&dropped.name));
        }
        // Variables that the test runner sets, such as the name of the test.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"NEXTEST")) {
            command.env_remove(name);
        }
        command
            .current_dir(self.work())
            .env("HOME", self.home())
            .env("PATH", search_path())
            .stdin(Stdio::null());
    }

    /// Runs a command under the guard.
    pub fn guarded<S: AsRef<OsStr>>(&self, argv: &[S]) -> Ended {
        ended(self.command().arg("--").args(argv))
    }

    /// Runs a shell command line under the guard.
    pub fn sh(&self, line: &str) -> Ended {
        self.guarded(&["sh", "-c", line])
    }

    /// Runs a command in the same place without the guard, but as the guard runs it: no_new_privs, no
    /// capabilities.
    pub fn native<S: AsRef<OsStr>>(&self, argv: &[S]) -> Ended {
        ended(self.native_command().args(argv))
    }

    /// Returns the command that runs its arguments natively.
    #[must_use]
    pub fn native_command(&self) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--no-new-privs", "--inh-caps=-all"]);
        if is_root() {
            command.arg("--bounding-set=-all");
        }
        command.arg("--");
        self.set_directories(&mut command);
        command
    }

    /// Returns the lines of the audit log, from both of its parts, in the order of their times.
    #[must_use]
    pub fn audit(&self) -> Vec<serde_json::Value> {
        let text = self.audit_text();
        let mut lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        // Without the Z, a time sorts before those that have more digits of the same second.
        let time = |line: &serde_json::Value| {
            line["time"].as_str().map(|time| time.trim_end_matches('Z').to_owned())
        };
        lines.sort_by_cached_key(time);
        lines
    }

    /// Returns the text of the audit log: programs, and then denials.
    #[must_use]
    pub fn audit_text(&self) -> String {
        ["audit.jsonl", DENIALS].map(|part| self.read(part).unwrap_or_default()).concat()
    }

    /// Returns what was denied, by the log: operation and path. Leaves out denials that no policy asks about
    /// or reports: ps looks at other users' processes, and does without. A denial occurs once, however often it was
    /// repeated.
    #[must_use]
    pub fn denied(&self) -> Vec<String> {
        let text = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let audit = self.audit();
        let denied = audit
            .iter()
            .filter(|line| line["verdict"] == "deny" && line["because"]["path"] != "builtin.unmentioned")
            .filter(|line| line["count"].is_null());
        denied.map(|line| format!("{} {}", text(line, "operation"), text(line, "path"))).collect()
    }
}

/// Returns how many calls these lines of the audit log are about: equal denials are one line and a count.
pub fn calls<'l>(lines: impl IntoIterator<Item = &'l serde_json::Value>) -> u64 {
    lines.into_iter().map(|line| line["count"].as_u64().unwrap_or(1)).sum()
}

/// Returns whether the tests run as root.
#[must_use]
pub fn is_root() -> bool {
    fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t")))
}
