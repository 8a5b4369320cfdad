//! A guarded command with held calls, and the operator who answers from another terminal.

use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Ended, World, descendants, guard, limit, status_of};

/// A running guarded command.
#[derive(Debug)]
pub struct Held<'w> {
    world: &'w World,
    child: Child,
    number: usize,
}

impl World {
    /// Starts a command under the guard, without a terminal, and does not wait for it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start<S: AsRef<OsStr>>(&self, argv: &[S]) -> Held<'_> {
        let mut command = self.command();
        command.arg("--").args(argv);
        self.start_command(command)
    }

    /// Starts a command made by [`World::command`] in the same way.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_command(&self, mut command: Command) -> Held<'_> {
        use std::os::unix::process::CommandExt;
        let number = (0..).find(|number| self.read(format!("out.{number}")).is_none()).unwrap_or_default();
        let output = |name: &str| {
            Stdio::from(std::fs::File::create(self.root().join(format!("{name}.{number}"))).expect("a file"))
        };
        command.stdin(Stdio::null()).stdout(output("out")).stderr(output("err")).process_group(0);
        let child = command.spawn().expect("to start the guard");
        Held { world: self, child, number }
    }

    /// Runs `openclaw-guard approvals …` as the same operator, outside of the guard.
    pub fn approvals<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ended {
        let mut command = Command::new(guard());
        command.arg("approvals").args(arguments).env("HOME", self.home()).current_dir(self.root());
        command.env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME");
        crate::ended(&mut command)
    }

    /// Returns the questions that wait for an answer, oldest first.
    ///
    /// # Panics
    /// When the list cannot be had.
    #[must_use]
    pub fn pending(&self) -> Vec<Value> {
        let output = self.approvals(&["list", "--json"]);
        let list = serde_json::from_str(&output.stdout);
        let mut list: Vec<Value> = list.unwrap_or_else(|error| panic!("{error}: {output:?}"));
        list.sort_by_key(|approval| approval["createdAtMs"].as_u64());
        list
    }

    /// Waits until exactly this many questions wait.
    ///
    /// # Panics
    /// When that never happens.
    #[must_use]
    pub fn wait_for(&self, count: usize) -> Vec<Value> {
        let end = Instant::now() + limit();
        loop {
            let pending = self.pending();
            if pending.len() == count {
                return pending;
            }
            assert!(Instant::now() < end, "{count} expected, waiting: {pending:#?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for one question and answers it. Returns the question.
    ///
    /// # Panics
    /// When none comes, or it cannot be answered so.
    pub fn answer(&self, decision: &str) -> Value {
        let asked = self.wait_for(1).remove(0);
        let output = self.resolve(&asked, decision);
        assert_eq!(output.status, 0, "{output:?}");
        asked
    }

    /// Answers a question.
    pub fn resolve(&self, asked: &Value, decision: &str) -> Ended {
        self.approvals(&["resolve", asked["id"].as_str().expect("an id"), decision])
    }
}

impl Held<'_> {
    /// Returns the process id of the guard.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the guard.
    ///
    /// # Panics
    /// When it hangs.
    pub fn end(mut self) -> Ended {
        let status = status_of(&mut self.child);
        self.ended_with(status)
    }

    /// Answers each question with what `decide` returns, until the guard ends. Returns the questions that took their answer.
    ///
    /// # Panics
    /// When the guard hangs, or the list cannot be had.
    pub fn answer_all<'d>(mut self, mut decide: impl FnMut(&Value) -> &'d str) -> (Vec<Value>, Ended) {
        let mut asked = Vec::new();
        while !self.has_ended() {
            for question in self.world.pending() {
                let decision = decide(&question);
                if self.world.resolve(&question, decision).status == 0 {
                    asked.push(question);
                }
            }
        }
        (asked, self.end())
    }

    /// Returns whether the guard has ended.
    ///
    /// # Panics
    /// When its state cannot be queried.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_some()
    }

    /// Returns what the command has written on stdout so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.world.read(format!("out.{}", self.number)).unwrap_or_default()
    }

    /// Returns what the command and the guard have written on stderr so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.world.read(format!("err.{}", self.number)).unwrap_or_default()
    }

    fn ended_with(&self, status: i32) -> Ended {
        Ended { stdout: self.stdout(), stderr: self.stderr(), status }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            for process in descendants(self.child.id()) {
                // A process that has ended needs no signal.
                let _ =
                    Command::new("kill").args(["-KILL", &process.to_string()]).stderr(Stdio::null()).status();
            }
            let _ = self.child.wait();
        }
    }
}
