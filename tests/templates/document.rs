//! The commands of docs/openclaw.md for Claude Code and Codex, run as written there, with a model that does
//! what it is asked and repeats what its shell prints.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use guard_tests::gateway::installed_directory;
use guard_tests::model::{Model, Step};
use guard_tests::{Shell, World, guard, has, is_long_form, sources, steps_under};
use serde_json::{Value, json};

/// Replays the steps under a title, in a home with a key, a project and the guard. The agent is in `PATH` and
/// gets these variables.
fn replay(title: &str, tools: &Path, world: &World, variables: &[(&str, &str)]) {
    world.write("home/.ssh/id_rsa", "the-operators-key");
    fs::create_dir(world.home().join("project")).expect("a directory");
    fs::create_dir(world.root().join("bin")).expect("a directory");
    symlink(guard(), world.root().join("bin/openclaw-guard")).expect("a link");
    let path = format!("{}/bin:{}:/usr/local/bin:/usr/bin:/bin", world.root().display(), tools.display());
    let all: Vec<_> =
        [("PATH", &*path), ("LANG", "C.UTF-8")].into_iter().chain(variables.iter().copied()).collect();
    let mut shell = Shell::new(&world.home(), &all);
    let document = fs::read_to_string(sources().join("../docs/openclaw.md")).expect("docs/openclaw.md");
    let steps = steps_under(&document, title);
    assert!(steps.iter().any(|step| step.command.starts_with("openclaw-guard -- ")), "{steps:#?}");
    let differences: Vec<String> = steps.iter().filter_map(|step| shell.replay(step).err()).collect();
    assert!(differences.is_empty(), "docs/openclaw.md:\n{}", differences.join("\n"));
}

/// Returns a model that reads the key with this tool, and repeats the result.
fn model(tool: &'static str, arguments: Value) -> Model {
    Model::start(vec![Step::Call(tool, arguments), Step::Quotes])
}

const READ: &str = "cat ~/.ssh/id_rsa";

#[test]
fn claude_code() {
    if !is_long_form() {
        return;
    }
    let tools =
        installed_directory("claude-code", None).join("node_modules/@anthropic-ai/claude-code-linux-x64");
    let model = model("Bash", json!({"command": READ, "description": "reads it"}));
    // Claude Code requires root to declare that it is in a sandbox.
    let variables = [
        ("ANTHROPIC_BASE_URL", &*model.url()),
        ("ANTHROPIC_API_KEY", "none"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("IS_SANDBOX", "1"),
    ];
    replay("Claude Code", &tools, &World::bare(), &variables);
    assert!(!model.heard().contains("the-operators-key"));
}

#[test]
fn codex() {
    if !is_long_form() || !has(&["node"]) {
        return;
    }
    let tools = installed_directory("codex", None).join("node_modules/.bin");
    let (model, world) = (model("exec_command", json!({"cmd": READ})), World::bare());
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}/v1\"\nenv_key = \"KEY\"\nwire_api = \"responses\"\n",
        model.url()
    );
    world.write("home/.codex/config.toml", config);
    replay("Codex", &tools, &world, &[("KEY", "none")]);
    assert!(!model.heard().contains("the-operators-key"));
}
