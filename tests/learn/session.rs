//! A session that is learned from, and the same under what was learned.

use std::path::PathBuf;
use std::process::Command;

use guard_tests::{Ended, World, ended};
use serde_json::Value;

/// All widths.
pub const WIDTHS: [&str; 3] = ["tight", "normal", "wide"];

/// What tries what no session here does: each `try NAME COMMAND` must fail.
const TRIES: &str = r#"try() { local name=$1; shift; if "$@" >/dev/null 2>&1; then echo "GOT $name"; else echo "no $name"; fi; }
try write sh -c 'echo x > ~/x'
try second cat ~/other/README
try key cat ~/.ssh/id_rsa
try policy sh -c 'echo x >> ../guard.json'
try state ls ~/.openclaw"#;

/// Where a session is.
pub struct Session {
    pub world: World,
    path: String,
}

impl Session {
    /// A world of its own, with a second project, a key, and tools in `PATH`.
    pub fn new(tools: Option<&str>) -> Session {
        let world = World::bare();
        for (path, text) in [("home/.ssh/id_rsa", "secret\n"), ("home/other/README", "another project\n")] {
            world.write(path, text);
        }
        let system = "/usr/local/bin:/usr/bin:/bin";
        Session { world, path: tools.map_or_else(|| system.to_owned(), |tools| format!("{tools}:{system}")) }
    }

    /// The guard, with nobody to ask. Of temporary directories there is one below the world's.
    pub fn command(&self) -> Command {
        let mut command = self.world.command();
        command.env("PATH", &self.path);
        command
    }

    /// Where what is learned is written.
    pub fn output(&self) -> PathBuf {
        self.world.root().join("guard.json")
    }

    /// Learns from a script into guard.json of this width.
    pub fn learn(&self, width: &str, script: &str) -> Ended {
        let output = self.output();
        let mut command = self.command();
        ended(command.args(["learn", "--width", width, "-o"]).arg(output).args(["--", "bash", "-c", script]))
    }

    /// A script under what was learned.
    pub fn again(&self, script: &str) -> Ended {
        ended(self.command().arg("--policy").arg(self.output()).args(["--", "bash", "-c", script]))
    }
}

/// Learns from a script in each width, runs it again under that, and tries what it did not do.
///
/// # Panics
/// When something of it is denied, or ends otherwise, or something else is not denied.
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
        // With an unseen program, a carrier aside: where all of the system's may start, this one is the tree's.
        let unseen = format!(
            "{TRIES}\ntry unseen {}",
            if width == "wide" { "/tmp/none" } else { "/usr/bin/od --version" }
        );
        let tried = session.again(&unseen);
        assert!(!tried.stdout.contains("GOT "), "{width}: {}\n{}\n{policy}", tried.stdout, tried.stderr);
        assert_eq!(tried.stdout.matches("no ").count(), unseen.matches("\ntry ").count(), "{}", tried.stdout);
    }
}
