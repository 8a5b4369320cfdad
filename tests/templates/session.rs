//! Runs work natively, and the same under a template.

use std::process::Command;

use guard_tests::{Ended, World, ended};

/// A world with a template for its workspace, written into its home.
pub struct Session {
    pub world: World,
    path: String,
}

impl Session {
    /// Creates a world that contains only the policy.
    pub fn new(template: &str) -> Session {
        Session::with(template, None)
    }

    /// Creates a world with a directory of tools in `PATH`, and without a policy.
    pub fn without_policy(tools: &str) -> Session {
        Session { world: World::bare(), path: path(Some(tools)) }
    }

    /// Creates such a world with somebody to answer, by `approvals resolve`.
    pub fn attended(template: &str) -> Session {
        let session = Session::begin(World::bare().attended(), template, None);
        let file = session.world.home().join(".openclaw/guard.json");
        let text = std::fs::read_to_string(&file).expect("a policy");
        let text =
            text.replacen("\"version\": 1,", "\"version\": 1, \"approvals\": {\"routes\": [\"cli\"]},", 1);
        std::fs::write(&file, text).expect("a policy");
        session
    }

    /// Creates such a world with a directory of tools in `PATH`.
    pub fn with(template: &str, tools: Option<&str>) -> Session {
        Session::begin(World::bare(), template, tools)
    }

    fn begin(world: World, template: &str, tools: Option<&str>) -> Session {
        let session = Session { world, path: path(tools) };
        let written = ended(session.command().args(["init", "--template", template]));
        assert_eq!(written.status, 0, "{template}: {}", written.stderr);
        session
    }

    /// Returns the guard's command.
    pub fn command(&self) -> Command {
        let mut command = self.world.command();
        command.env("PATH", &self.path);
        command
    }

    /// Returns the command that runs its arguments without the guard.
    pub fn native_command(&self) -> Command {
        let mut command = self.world.native_command();
        command.env("PATH", &self.path);
        command
    }

    /// Runs a script under the template.
    pub fn guarded(&self, script: &str) -> Ended {
        ended(self.command().args(["--", "bash", "-c", script]))
    }

    /// Runs a script under the template. Output and status must be as natively, with nothing asked and
    /// nothing denied.
    ///
    /// # Panics
    /// When they are not.
    pub fn same(template: &str, prepare: impl Fn(&World), script: &str) -> Ended {
        Session::same_with(template, None, prepare, script)
    }

    /// Like [`Session::same`], with a directory of tools in `PATH`.
    ///
    /// # Panics
    /// As [`Session::same`].
    pub fn same_with(template: &str, tools: Option<&str>, prepare: impl Fn(&World), script: &str) -> Ended {
        let script = format!("set -e\n{script}");
        let native = Session { world: World::bare(), path: path(tools) };
        prepare(&native.world);
        let expected = ended(native.native_command().args(["bash", "-c", &script]));
        assert_eq!(expected.status, 0, "the script itself: {}\n{}", expected.stdout, expected.stderr);
        let session = Session::with(template, tools);
        prepare(&session.world);
        let found = session.guarded(&script);
        assert_eq!(found.status, 0, "{}\n{}", found.stdout, found.stderr);
        assert_eq!(session.world.denied(), Vec::<String>::new(), "{}", found.stderr);
        assert_eq!(found.guard_lines(), Vec::<&str>::new());
        let root = |session: &Session| session.world.root().to_str().expect("a plain path").to_owned();
        let stdout = found.stdout.replace(&root(&session), &root(&native));
        assert_eq!(stdout, expected.stdout, "stderr:\n{}", found.stderr);
        assert!(session.world.audit().iter().any(|line| line["verdict"] == "allow"), "it was guarded");
        found
    }

    /// Runs a script that tries what a template does not allow. Each `try NAME COMMAND` in it must fail.
    ///
    /// # Panics
    /// When one succeeds.
    pub fn refused(&self, script: &str) -> Ended {
        let script = format!(
            "try() {{ local name=$1; shift; if \"$@\" >/dev/null 2>&1; then echo \"GOT $name\"; else echo \"no $name\"; fi; }}\n{script}"
        );
        let count = script.matches("\ntry ").count();
        let ended = self.guarded(&script);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        let tried = ended.stdout.lines().filter(|line| line.starts_with("no ")).count();
        assert!(!ended.stdout.contains("GOT "), "{}\n{}", ended.stdout, ended.stderr);
        assert!(count > 0 && tried == count, "{tried} of {count}: {}", ended.stdout);
        ended
    }
}

/// Returns a PATH that is the same on every machine.
fn path(tools: Option<&str>) -> String {
    let system = "/usr/local/bin:/usr/bin:/bin";
    tools.map_or_else(|| system.to_owned(), |tools| format!("{tools}:{system}"))
}
