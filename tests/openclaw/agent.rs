//! An agent of OpenClaw whose exec tool runs in the guard, set up by the commands of docs/openclaw.md.

use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use guard_tests::gateway::{Gateway, Release, gateway};
use guard_tests::model::{Model, Step as Turn, set_in_openclaw};
use guard_tests::{Ended, Shell, Step, is_foreign, sources, steps_under};
use serde_json::{Value, json};

use crate::setup::{Running, fresh, started, variables};
use crate::world::{approver, eventually};

for_each_release! { held_approved_and_finished }

/// The beginnings of the ids of the document's two questions.
const IDS: [&str; 2] = ["3f0c1c1e", "8d21a7b4"];

/// Returns the commands of the document's section on OpenClaw.
fn document() -> Vec<Step> {
    let text = std::fs::read_to_string(sources().join("../docs/openclaw.md")).expect("docs/openclaw.md");
    steps_under(&text, "OpenClaw")
}

/// Prepares what the document assumes: a gateway with a model, a project, and a program.
fn prepare(gateway_home: &Gateway, model: &Model) {
    let home = gateway_home.home();
    for name in ["project", "tools"] {
        std::fs::create_dir(home.join(name)).expect("a directory");
    }
    std::fs::copy("/bin/echo", home.join("tools/release")).expect("a program");
    gateway_home.configure(|config| set_in_openclaw(config, &model.url()));
}

/// The operator, whose shells have these variables and this home.
struct Operator {
    variables: Vec<(String, String)>,
    home: PathBuf,
}

impl Operator {
    fn shell(&self) -> Shell {
        let variables: Vec<_> = self.variables.iter().map(|(name, value)| (&**name, &**value)).collect();
        Shell::new(&self.home, &variables)
    }

    /// Starts a turn of the agent, in its own shell.
    fn agent(&self, command: &str) -> JoinHandle<Ended> {
        let (mut shell, command) = (self.shell(), command.to_owned());
        thread::spawn(move || shell.run(&command))
    }

    /// Waits for a question that is not in `known`, and returns its id.
    fn question(&self, known: &[String]) -> String {
        let mut found = None;
        eventually("a question", || {
            let output = self.shell().run("openclaw-guard approvals list --json 2>/dev/null").stdout;
            let list: Vec<Value> = serde_json::from_str(&output).unwrap_or_default();
            let mut ids = list.iter().filter_map(|question| question["id"].as_str());
            found = ids.find(|id| !known.iter().any(|known| known == id)).map(str::to_owned);
            found.is_some()
        });
        found.expect("it was found")
    }
}

/// Returns a step of the document with the ids of this run.
fn with_ids(step: &Step, ids: &[String]) -> Step {
    let own = |text: &str| {
        ids.iter().zip(IDS).fold(text.to_owned(), |text, (id, recorded)| text.replace(recorded, &id[..8]))
    };
    Step { line: step.line, command: own(&step.command), output: own(&step.output) }
}

fn held_approved_and_finished(release: Release) {
    if !is_foreign() {
        return drop(gateway(release));
    }
    let exec = |version: &str| Turn::Call("exec", json!({"command": format!("~/tools/release {version}")}));
    let model = Model::start(vec![exec("1.2"), exec("1.3"), Turn::Quotes]);
    // This gateway is not started: the document's commands start one in its home.
    let gateway_home = Gateway::new(release);
    prepare(&gateway_home, &model);
    let operator = Operator { variables: variables(&gateway_home), home: gateway_home.home() };
    let all = document();
    let is_agent = |step: &Step| step.command.starts_with("openclaw agent ");
    let (before, rest) = all.split_at(all.iter().position(is_agent).expect("a turn of the agent"));
    let gateway = set_up(&operator, &gateway_home, before);
    let (turn, rest) = rest.split_first().expect("a turn of the agent");

    // The turn goes on while the operator answers.
    let waiting = operator.agent(&turn.command);
    let (mut shell, mut ids) = (operator.shell(), vec![operator.question(&[])]);
    for step in rest {
        if step.command.contains(IDS[1]) && ids.len() == 1 {
            ids.push(operator.question(&ids));
        }
        if step.command.contains(" audit ") {
            eventually("the turn ends", || waiting.is_finished());
        }
        shell.replay(&with_ids(step, &ids)).unwrap_or_else(|error| panic!("{error}"));
    }
    let output = waiting.join().expect("a turn");
    with_ids(turn, &ids).compare(&output).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((ids.len(), output.status), (2, 0), "{output:?}");

    // If somebody is connected to the gateway, the guard asks there.
    let app = approver(&gateway_home);
    let waiting = operator.agent("openclaw agent --agent main --session-id again --message again");
    for (version, decision) in [("1.2", "allow-once"), ("1.3", "deny")] {
        let card = app.card(&format!("/tools/release {version}"));
        assert_eq!(card["request"]["host"], "openclaw-guard", "{card:#}");
        app.resolve(&card, decision).expect("to answer");
    }
    let output = waiting.join().expect("a turn");
    assert!(output.stdout.lines().any(|line| line == "1.2"), "{output:?}");
    assert!(!output.stdout.lines().any(|line| line == "1.3"), "{output:?}");
    assert!(output.stdout.contains("openclaw-guard: denied exec /home/u/tools/release"), "{output:?}");
    drop(gateway);
}

/// Runs the commands before the agent's turn, one of which starts the gateway.
fn set_up(operator: &Operator, gateway_home: &Gateway, steps: &[Step]) -> Running {
    let (mut shell, mut gateway) = (operator.shell(), None);
    for step in steps {
        if step.command.ends_with("openclaw gateway") {
            gateway = Some(started(fresh(gateway_home), &step.command, gateway_home));
        } else {
            shell.replay(step).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    gateway.expect("one of them starts the gateway")
}
