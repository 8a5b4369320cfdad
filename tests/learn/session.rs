//! A learning session, and the same script under the learned policy.

use std::path::PathBuf;
use std::process::Command;

use guard_tests::{Ended, World, ended};
use serde_json::Value;

/// All values of `--width`.
pub const WIDTHS: [&str; 3] = ["tight", "normal", "wide"];

/// Tries what no session here does: each `try NAME COMMAND` must fail.
const TRIES: &str = r#"try() { local name=$1; shift; if "$@" >/dev/null 2>&1; then echo "GOT $name"; else echo "no $name"; fi; }
try write sh -c 'echo x > ~/x'
try second cat ~/other/README
try key cat ~/.ssh/id_rsa
try policy sh -c 'echo x >> ../guard.json'
try state ls ~/.openclaw"#;

/// A learning session: its world and its PATH.
pub struct Session {
    pub world: World,
    path: String,
}

impl Session {
    /// Creates its own world, with a second project, a key, and tools in `PATH`.
    pub fn new(tools: Option<&str>) -> Session {
        let world = World::bare();
        for (path, text) in [("home/.ssh/id_rsa", "secret\n"), ("home/other/README", "another project\n")] {
            world.write(path, text);
        }
        let system = "/usr/local/bin:/usr/bin:/bin";
        Session { world, path: tools.map_or_else(|| system.to_owned(), |tools| format!("{tools}:{system}")) }
    }

    /// Returns the guard's command, with nobody to ask and with the session's PATH.
    pub fn command(&self) -> Command {
        let mut command = self.world.command();
        command.env("PATH", &self.path);
        command
    }

    /// Returns the path of the learned policy.
    pub fn output(&self) -> PathBuf {
        self.world.root().join("guard.json")
    }

    /// Learns from a script, and writes guard.json in this width.
    pub fn learn(&self, width: &str, script: &str) -> Ended {
        let output = self.output();
        let mut command = self.command();
        ended(command.args(["learn", "--width", width, "-o"]).arg(output).args(["--", "bash", "-c", script]))
    }

    /// Runs a script under the learned policy.
    pub fn again(&self, script: &str) -> Ended {
        ended(self.command().arg("--policy").arg(self.output()).args(["--", "bash", "-c", script]))
    }
}

/// Learns from a script in each width, runs it again under the policy, and tries what it did not do.
///
/// # Panics
/// If the second run is denied anything or ends differently, or if an attempt succeeds.
pub fn learned(tools: Option<&str>, prepare: impl Fn(&World), script: &str) {
    let script = format!("set -e\n{script}");
    for width in WIDTHS {
        let session = Session::new(tools);
        prepare(&session.world);
        let first = session.learn(width, &script);
        assert_eq!(first.status, 0, "{width}: the script itself: {}\n{}", first.stdout, first.stderr);
        let policy = session.world.read("guard.json").expect("a policy");
        let second = session.again(&script);
        assert_eq!(
            session.world.denied(),
            Vec::<String>::new(),
            "{width}: {}\n{policy}\n{}",
            second.stderr,
            first.stderr
        );
        assert_eq!(second.status, 0, "{width}: {}\n{}\n{policy}", second.stdout, second.stderr);
        assert_eq!(second.stdout, first.stdout, "{width}\n{policy}");
        let shown = ended(session.command().arg("--policy").arg(session.output()).args(["policy", "show"]));
        let rules: Value = serde_json::from_str(&shown.stdout).expect("JSON");
        for pattern in rules["permissions"]["filesystem"]["rules"].as_object().expect("rules").keys() {
            assert!(!["/**", "~/**", "~/*", "/home/**"].contains(&pattern.as_str()), "{width}: {pattern}");
        }
        // An unseen program that is no carrier. `wide` lets all system programs start, so it has another.
        let unseen = format!(
            "{TRIES}\ntry unseen {}",
            if width == "wide" { "/tmp/none" } else { "/usr/bin/od --version" }
        );
        let tried = session.again(&unseen);
        assert!(!tried.stdout.contains("GOT "), "{width}: {}\n{}\n{policy}", tried.stdout, tried.stderr);
        assert_eq!(tried.stdout.matches("no ").count(), unseen.matches("\ntry ").count(), "{}", tried.stdout);
    }
}
