//! Runs the commands of a session, answers what is asked, and counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use guard_tests::{World, ended, has};

use crate::daemon;

/// What a session cost.
pub struct Cost {
    /// What was asked about, in the order of the questions.
    pub questions: Vec<String>,
    /// The lines that the guard printed.
    pub lines: Vec<String>,
    /// The commands that failed, with their status.
    pub failed: Vec<String>,
    /// How many commands ran.
    pub commands: usize,
    /// What they printed, for the message of a failed test.
    pub output: String,
}

impl Cost {
    /// Checks that everything worked, and at what cost.
    ///
    /// # Panics
    /// If a command failed, or it cost something else.
    pub fn is(&self, questions: usize, lines: usize) {
        println!(
            "{} commands: {} questions, {} lines",
            self.commands,
            self.questions.len(),
            self.lines.len()
        );
        assert!(self.failed.is_empty(), "{:#?}\n{}", self.failed, self.output);
        let found = (self.questions.len(), self.lines.len());
        assert_eq!(found, (questions, lines), "{:#?}\n{:#?}", self.questions, self.lines);
    }
}

/// A home with a project in it, the template `coding`, and somebody to answer.
pub struct Day {
    pub world: World,
    project: PathBuf,
}

impl Day {
    /// Has a script, run natively in the home, make the project `~/app`.
    pub fn prepared(script: &str) -> Day {
        Day::begin(World::bare().attended(), script)
    }

    /// The same, with a git server for what is in `~/served`. `PORT` in the script is its port.
    pub fn with_remote(script: &str) -> Day {
        let world = World::bare().attended();
        let port = daemon::serve(&world.home().join("served"));
        Day::begin(world, &script.replace("PORT", &port.to_string()))
    }

    fn begin(world: World, script: &str) -> Day {
        let project = world.home().join("app");
        let made = ended(world.native_command().current_dir(world.home()).args(["bash", "-ec", script]));
        assert_eq!(made.status, 0, "{}", made.stderr);
        let day = Day { world, project };
        let written = ended(day.command().args(["init", "--template", "coding"]));
        assert_eq!(written.status, 0, "{}", written.stderr);
        let file = day.world.home().join(".openclaw/guard.json");
        let text = fs::read_to_string(&file).expect("a policy");
        let routes = "\"version\": 1, \"approvals\": {\"routes\": [\"cli\"]},";
        fs::write(&file, text.replacen("\"version\": 1,", routes, 1)).expect("a policy");
        day
    }

    fn command(&self) -> Command {
        let mut command = self.world.command();
        command.current_dir(&self.project).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command
    }

    /// Runs these commands, a line each, in one guarded shell in the project. Leaves out those whose program is not here.
    pub fn run(&self, commands: &str) -> Cost {
        let commands: Vec<&str> = commands.lines().map(str::trim).filter(|line| is_here(line)).collect();
        let mut script = String::new();
        for command in &commands {
            let failed = quoted(command);
            script.push_str(&format!(
                "{command}\nstatus=$?; [ $status = 0 ] || echo \"$status \"{failed} >&4\n"
            ));
        }
        let script = self.world.write("app.sh", script);
        let failed = self.world.write("failed", "");
        let output = self.world.write("output", "");
        let line = format!(". {} > {} 2>&1 4> {}", script.display(), output.display(), failed.display());
        let mut command = self.command();
        command.args(["--", "bash", "-c", &line]);
        let mut held = self.world.start_command(command);
        let mut questions = BTreeMap::new();
        while !held.has_ended() {
            for asked in self.world.pending() {
                let id = asked["id"].as_str().expect("an id").to_owned();
                questions.entry((asked["createdAtMs"].as_u64(), id)).or_insert_with(|| summary(&asked));
                // Nobody asks any more, if it has ended since.
                let _ = self.world.resolve(&asked, narrowest(&asked));
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let ended = held.end();
        let failed = fs::read_to_string(failed).expect("a file");
        Cost {
            questions: questions.into_values().collect(),
            lines: ended
                .guard_lines()
                .into_iter()
                .filter(|line| line.contains("denied"))
                .map(str::to_owned)
                .collect(),
            failed: failed.lines().map(str::to_owned).collect(),
            commands: commands.len(),
            output: fs::read_to_string(output).unwrap_or_default(),
        }
    }
}

/// Whether this machine has the program, or the shell itself does it.
fn is_here(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let is_builtin = ["cd", "export", "printf", "pwd"].contains(&word) || word.starts_with("./");
    !word.is_empty() && (is_builtin || has(&[word]))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The narrowest answer that is useful: for files what the command does in this directory, for programs this call as often
/// as it comes.
fn narrowest(asked: &serde_json::Value) -> &'static str {
    let answer = "allow-directory-command";
    let is_offered =
        asked["answers"].as_array().is_some_and(|offered| offered.iter().any(|one| one == answer));
    if is_offered { answer } else { "allow-session" }
}

/// What a question is about, for the message of a failed test.
fn summary(asked: &serde_json::Value) -> String {
    let text = |key: &str| asked[key].as_str().unwrap_or_default();
    format!("{} {} {}", text("operation"), text("resolvedPath"), asked["argv"])
}
