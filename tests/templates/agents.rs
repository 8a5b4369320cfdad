//! Published agents under their templates, with a model that makes them work in the workspace and then reach
//! out of it: the work succeeds, access outside is refused, and the session continues.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use guard_tests::gateway::{Release, installed_directory, node, package};
use guard_tests::model::{Model, Step, set_in_openclaw};
use guard_tests::{Ended, ended, guard, has, is_long_form, sources, steps};
use serde_json::json;

use crate::session::Session;

/// A text that no model may receive.
const SECRET: &str = "the-operators-key";
/// One command that tries what is outside.
const OUT: &str = "cat ~/.ssh/id_rsa; cat ~/other/notes; echo x > ~/x; echo still here";

/// Returns the session of an agent that is in a directory of `PATH`.
fn session(template: &str, directory: PathBuf) -> Session {
    prepared(Session::with(template, Some(directory.to_str().expect("a plain path"))))
}

/// Returns such a session without a policy, where only the agent's profile opens what is its own. Its home is in /tmp, where
/// even the names in a home are asked for.
fn profiled(directory: PathBuf) -> Session {
    prepared(Session::without_policy(directory.to_str().expect("a plain path")))
}

fn prepared(session: Session) -> Session {
    session.world.write("home/.ssh/id_rsa", SECRET);
    session.world.write("home/other/notes", SECRET);
    session
}

/// Returns the path of a file of the world.
fn path(session: &Session, name: &str) -> String {
    session.world.root().join(name).display().to_string()
}

/// Asserts the result, which is the same for every agent. `denied` lists the operations that the policy
/// refused.
fn look(session: &Session, model: &Model, ended: &Ended, denied: &[&str]) {
    let output = format!("{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.status, 0, "{output}");
    for (file, text) in [("made", "made\n"), ("written.txt", "changed\n"), ("after", "after\n")] {
        let file = format!("work/{file}");
        assert_eq!(session.world.read(&file).as_deref(), Some(text), "{file}: {output}");
    }
    for name in ["home/x", "home/.bashrc"] {
        assert!(!session.world.root().join(name).exists(), "{name}: {output}");
    }
    let heard = model.heard();
    assert!(!heard.contains(SECRET) && !output.contains(SECRET), "the key came through: {output}");
    assert!(
        heard.contains("Permission denied") && heard.contains("still here"),
        "the model was told: {output}"
    );
    let root = session.world.root().display().to_string() + "/";
    // Some agents first write to a temporary file beside the file, under a random name.
    let plain = |line: &String| line.replace(&root, "").split(".tmp.").next().unwrap_or_default().to_owned();
    let mut found: Vec<String> = session.world.denied().iter().map(plain).collect();
    found.sort();
    found.dedup();
    assert_eq!(found, denied, "{output}");
}

/// What is refused to Claude Code.
const DENIED: [&str; 4] =
    ["read home/.ssh/id_rsa", "read home/other/notes", "write home/.claude/settings.json", "write home/x"];

fn claude_code_directory() -> PathBuf {
    installed_directory("claude-code", None).join("node_modules/@anthropic-ai/claude-code-linux-x64")
}

#[test]
fn claude_code() {
    if is_long_form() {
        let ended = claude_code_works(&session("claude-code", claude_code_directory()), &DENIED, &[]);
        assert!(!ended.stderr.contains("profile claude-code: "), "a line: {}", ended.stderr);
    }
}

#[test]
fn claude_code_without_a_policy() {
    if is_long_form() {
        let denied = [&["read home"][..], &DENIED].concat();
        claude_code_works(&profiled(claude_code_directory()), &denied, &["--profile", "claude-code"]);
    }
}

/// Claude Code: its shell, its own tools for files, and no questions of its own.
fn claude_code_works(session: &Session, denied: &[&str], profile: &[&str]) -> Ended {
    let bash = |command: &str| Step::Call("Bash", json!({"command": command, "description": "a step"}));
    let write = |name: &str, text: &str| {
        Step::Call("Write", json!({"file_path": path(session, name), "content": text}))
    };
    let file = path(session, "work/written.txt");
    let model = Model::start(vec![
        bash("echo made > made; git init -q . && git status --short"),
        write("work/written.txt", "hello\n"),
        Step::Call("Edit", json!({"file_path": file, "old_string": "hello", "new_string": "changed"})),
        bash(OUT),
        Step::Call("Read", json!({"file_path": path(session, "home/.ssh/id_rsa")})),
        write("home/x", "x"),
        write("home/.claude/settings.json", "{}"),
        bash("echo after > after"),
    ]);
    let mut command = session.command();
    command
        .env("ANTHROPIC_BASE_URL", model.url())
        .env("ANTHROPIC_API_KEY", "none")
        .env("DISABLE_AUTOUPDATER", "1");
    // It requires a declaration that root is in a sandbox; here that is true.
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("IS_SANDBOX", "1");
    let ended =
        ended(command.args(profile).args(["--", "claude", "-p", "--dangerously-skip-permissions", "go on"]));
    assert!(ended.stdout.contains("all done"), "{}", ended.stdout);
    look(session, &model, &ended, denied);
    ended
}

fn codex_directory() -> PathBuf {
    installed_directory("codex", None).join("node_modules/.bin")
}

/// Returns the arguments of `codex exec` with a scripted model.
fn codex_arguments(model: &Model, sandbox: &str) -> Vec<String> {
    let provider = format!(
        "model_providers.scripted={{name=\"scripted\",base_url=\"{}/v1\",env_key=\"KEY\",wire_api=\"responses\"}}",
        model.url()
    );
    let fixed = [
        "exec",
        "--skip-git-repo-check",
        "--sandbox",
        sandbox,
        "-c",
        "model_provider=scripted",
        "-c",
        &provider,
    ];
    fixed.into_iter().chain(["-c", "model=scripted", "go on"]).map(str::to_owned).collect()
}

fn codex_runs(command: &str) -> Step {
    Step::Call("exec_command", json!({"cmd": command}))
}

/// What is refused to Codex.
const DENIED_TO_CODEX: [&str; 4] =
    ["read home/.ssh/id_rsa", "read home/other/notes", "write home/.codex/config.toml", "write home/x"];

#[test]
fn codex() {
    if is_long_form() && has(&["node"]) {
        codex_works(&session("codex", codex_directory()), &DENIED_TO_CODEX, &[]);
    }
}

#[test]
fn codex_without_a_policy() {
    if is_long_form() && has(&["node"]) {
        codex_works(&profiled(codex_directory()), &DENIED_TO_CODEX, &["--profile", "codex"]);
    }
}

/// Codex with its own sandbox off.
fn codex_works(session: &Session, denied: &[&str], profile: &[&str]) {
    // Runs once without the guard, as the template says: Codex then puts its own skills into ~/.codex.
    let idle = Model::start(Vec::new());
    let mut command = session.native_command();
    let first = ended(command.env("KEY", "none").arg("codex").args(codex_arguments(&idle, "read-only")));
    assert_eq!(first.status, 0, "{}\n{}", first.stdout, first.stderr);

    let patch =
        |body: &str| codex_runs(&format!("apply_patch <<'EOF'\n*** Begin Patch\n{body}\n*** End Patch\nEOF"));
    let model = Model::start(vec![
        codex_runs("echo made > made; git init -q . && git status --short"),
        patch("*** Add File: written.txt\n+hello"),
        patch("*** Update File: written.txt\n@@\n-hello\n+changed"),
        codex_runs(OUT),
        patch(&format!("*** Add File: {}\n+x", path(session, "home/x"))),
        patch(&format!("*** Add File: {}\n+x", path(session, "home/.codex/config.toml"))),
        codex_runs("echo after > after"),
    ]);
    let mut command = session.command();
    command.env("KEY", "none").args(profile).args(["--", "codex"]);
    command.args(codex_arguments(&model, "danger-full-access"));
    look(session, &model, &ended(&mut command), denied);
}

/// With its own sandbox on, Codex runs nothing, as the template says.
#[test]
fn codex_with_its_own_sandbox() {
    if !is_long_form() || !has(&["node"]) {
        return;
    }
    for sandbox in ["read-only", "workspace-write"] {
        let session = session("codex", codex_directory());
        let model = Model::start(vec![codex_runs("echo made > made")]);
        let mut command = session.command();
        command.env("KEY", "none").args(["--", "codex"]).args(codex_arguments(&model, sandbox));
        let ended = ended(&mut command);
        assert_eq!(ended.status, 0, "{}", ended.stderr);
        assert!(!session.world.work().join("made").exists(), "{sandbox}: {}", ended.stderr);
    }
}

/// Aider, which runs no command of a model's unasked, except the operator's tests.
#[test]
fn aider() {
    if !is_long_form() {
        return;
    }
    // Runs it as a module: its script names the directory in which it was made.
    let session = session("aider", installed_directory("aider-chat", None).join("bin"));
    let edit = |text: &str| Step::Says(format!("So:\n\nwritten.txt\n```\n{text}\n```\n"));
    let model = Model::start(vec![edit("hello"), edit("changed")]);
    session
        .world
        .write("work/check.sh", format!("echo made > made; ({OUT}) 2>&1\ngrep -q changed written.txt\n"));
    session.world.write("home/.gitconfig", "[user]\nname = A\nemail = a@b\n");
    let made = session.world.native(&["git", "init", "-q", "."]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let mut command = session.command();
    command.env("OPENAI_API_KEY", "none").args([
        "--",
        "sh",
        "-c",
        "python -m aider \"$@\" && echo after > after",
        "sh",
    ]);
    command.args(["--model", "openai/scripted", "--openai-api-base", &format!("{}/v1", model.url())]);
    command.args(["--yes-always", "--no-check-update", "--analytics-disable", "--no-show-model-warnings"]);
    command.args([
        "--edit-format",
        "whole",
        "--auto-test",
        "--test-cmd",
        "sh check.sh",
        "--message",
        "go on",
        "written.txt",
    ]);
    let ended = ended(&mut command);
    look(&session, &model, &ended, &["read home/.ssh/id_rsa", "read home/other/notes", "write home/x"]);
    let log = session.world.native(&["git", "log", "--oneline"]);
    assert!(log.stdout.lines().count() >= 2, "it commits: {}", log.stdout);
}

/// Returns the script that docs/openclaw.md writes, for this home and guard.
fn shell(session: &Session) -> String {
    let docs = fs::read_to_string(sources().join("../docs/openclaw.md")).expect("docs/openclaw.md");
    let step =
        steps(&docs).into_iter().find(|step| step.command.starts_with("cat >~/.openclaw/guarded-bash"));
    let written = step.expect("a script").command;
    let (_, script) = written.trim_end_matches("EOF").split_once('\n').expect("a here-document");
    let script = script.replace("$HOME", &path(session, "home")).replace("\\$", "$");
    let script = script.replace("$(command -v openclaw-guard)", &guard().display().to_string());
    let audit = format!("--audit {} --unattended --", path(session, "audit.jsonl"));
    script.replacen(" -- ", &format!(" {audit} "), 1)
}

/// OpenClaw's own agent, with its exec tool under the guard. The agent may set variables for a command, but
/// must not redirect the guard's files with them.
#[test]
fn openclaw() {
    if !is_long_form() {
        return;
    }
    let session = session("openclaw", PathBuf::from("/usr/bin"));
    let exec = |command: &str| Step::Call("exec", json!({"command": command}));
    let elsewhere = path(&session, "work/elsewhere");
    // A directory with an approval of the agent's own.
    let rules = json!({ path(&session, "home/other/notes"): "r" });
    let answers = json!({"version": 1, "agents": {"*": {"permissions": {"filesystem": {"rules": rules}}}}});
    let own = ["OPENCLAW_STATE_DIR", "OPENCLAW_HOME"].map(|name| (name.to_owned(), json!(elsewhere)));
    let own: serde_json::Map<String, serde_json::Value> = own.into_iter().collect();
    let model = Model::start(vec![
        exec("echo made > made; echo hello > written.txt; git init -q . && git status --short"),
        exec(&format!(
            "sed -i s/hello/changed/ written.txt; mkdir -p elsewhere/guard; echo '{answers}' > elsewhere/guard/approvals.json"
        )),
        exec(OUT),
        Step::Call("exec", json!({"command": format!("{OUT}; echo after > after"), "env": own})),
    ]);
    let mut config = json!({"tools": {"allow": ["exec", "process"]}});
    set_in_openclaw(&mut config, &model.url());
    config["agents"]["defaults"]["workspace"] = json!(session.world.work());
    let config = session.world.write("config.json", config.to_string());
    let script = session.world.write("guarded", shell(&session));
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut command = session.native_command();
    command.env("SHELL", &script).envs([("OPENCLAW_DISABLE_BONJOUR", "1"), ("OPENCLAW_SKIP_CHANNELS", "1")]);
    command.arg(node()).arg(package("openclaw", Some(Release::Current.version())).join("openclaw.mjs"));
    command.args(["agent", "exec", "go on", "--code-mode", "direct", "--json", "--config"]).arg(config);
    let ended = ended(command.arg("--cwd").arg(session.world.work()));
    look(&session, &model, &ended, &["read home/.ssh/id_rsa", "read home/other/notes", "write home/x"]);
    assert!(model.heard().contains("OPENCLAW_STATE_DIR"), "it may set that: {}", ended.stdout);
}
