//! `sandbox explain`

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use guard_openclaw::sandbox::WorkspaceAccess;
use guard_policy::text::{shown, shown_json};
use guard_policy::tools::Release;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde_json::{Value, json};

use super::SandboxError;
use super::access::SessionAccess;
use super::question::{SandboxConfig, SessionSandbox};
use crate::tools::release;

/// What OpenClaw's answer refers to.
const DOCUMENTS: &str = "https://docs.openclaw.ai/sandbox";

/// Which session.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard sandbox explain\n  \
    openclaw-guard sandbox explain --session-key agent:main:telegram:group:-100\n  \
    openclaw-guard --agent work sandbox explain --json | jq .sandbox.sessionIsSandboxed\n\n\
    Without --session-key, the session is the agent's main session. --json has the keys of\n\
    `openclaw sandbox explain --json`, and the keys `why`, `container` and `refused`.\n\n\
    Exit status: 0; 125 when openclaw.json cannot be used.")]
pub struct ExplainArgs {
    /// OpenClaw's configuration [default: openclaw.json in its state directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Answer as this release does [default: the one that wrote the configuration]
    #[arg(long, value_name = "VERSION", value_parser = release)]
    release: Option<Release>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn explain(options: &Options, arguments: &ExplainArgs) -> Result<Exit, SandboxError> {
    let config = SandboxConfig::read(options, arguments.config.as_deref(), arguments.release)?;
    let sandbox = config.session(options)?;
    let refusal = config.refusal(&sandbox).map(|refusal| refusal.to_string());
    let access = SessionAccess::new(&config, &sandbox)?;
    let text = if arguments.json {
        let json = value(&sandbox, &access, refusal.as_deref());
        let json = serde_json::to_string_pretty(&json).unwrap_or_default();
        shown_json(&json).into_owned() + "\n"
    } else {
        render(&sandbox, &access, refusal.as_deref())
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

fn word(value: impl serde::Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

/// The mounts of its container, if it has one.
fn mounts(sandbox: &SessionSandbox) -> Vec<Value> {
    let is_sandboxed = sandbox.session.is_sandboxed(sandbox.settings.mode);
    if !is_sandboxed || !sandbox.has_container() {
        return Vec::new();
    }
    let mounts = sandbox.layout.mounts(&sandbox.settings);
    let value = |mount: &guard_openclaw::sandbox::SandboxMount| {
        json!({
            "hostRoot": mount.source,
            "containerRoot": mount.target,
            "writable": !mount.read_only,
            "source": mount.origin.as_str(),
        })
    };
    mounts.iter().map(value).collect()
}

fn value(sandbox: &SessionSandbox, access: &SessionAccess, refusal: Option<&str>) -> Value {
    let SessionSandbox { session, settings, layout } = sandbox;
    let is_sandboxed = session.is_sandboxed(settings.mode);
    let source = match (is_sandboxed, settings.workspace_access) {
        (false, _) => "direct",
        (true, WorkspaceAccess::Rw) => "agent",
        (true, _) => "sandbox",
    };
    let workspace = if is_sandboxed { &layout.workspace } else { &layout.agent_workspace };
    let mut value = json!({
        "docsUrl": DOCUMENTS,
        "agentId": session.agent,
        "sessionKey": session.key,
        "mainSessionKey": session.main_key,
        "sandbox": {
            "mode": settings.mode,
            "scope": settings.scope,
            "backend": settings.backend,
            "workspaceAccess": settings.workspace_access,
            "workspaceRoot": layout.workspace_root,
            "effectiveHostWorkspaceRoot": workspace,
            "workspaceMounts": mounts(sandbox),
            "workspaceSource": source,
            "sessionIsSandboxed": is_sandboxed,
            "tools": access.tools(),
        },
        "elevated": access.elevated(),
        "fixIt": access.keys(settings.mode),
        "why": sandbox.why(),
    });
    if !is_sandboxed {
        value["sandbox"]["runtimeWorkdir"] = layout.agent_workspace.clone().into();
    } else if sandbox.has_container() {
        value["sandbox"]["runtimeWorkdir"] = settings.docker.workdir.clone().into();
        value["container"] = json!({ "name": layout.container, "scopeKey": layout.scope_key });
    }
    if let Some(refusal) = refusal {
        value["refused"] = refusal.into();
    }
    value
}

fn render(sandbox: &SessionSandbox, access: &SessionAccess, refusal: Option<&str>) -> String {
    let SessionSandbox { session, settings, layout } = sandbox;
    let is_sandboxed = session.is_sandboxed(settings.mode);
    let mut lines = vec![format!("agent {}, session {}", session.agent, session.key)];
    let mut add = |name: &str, text: String| lines.push(format!("  {name:<11}{text}"));
    add("sandboxed", format!("{}: {}", if is_sandboxed { "yes" } else { "no" }, sandbox.why()));
    add("backend", settings.backend.clone());
    add("scope", format!("{}, {}", word(settings.scope), layout.scope_key));
    add("workspace", format!("{} ({})", layout.agent_workspace, word(settings.workspace_access)));
    if is_sandboxed && sandbox.has_container() {
        add("container", layout.container.clone());
        add("image", settings.docker.image.clone());
        add("network", settings.docker.network.clone());
        for mount in layout.mounts(settings) {
            let access = if mount.read_only { "ro" } else { "rw" };
            add(
                "mount",
                format!("{} -> {} {access} ({})", mount.source, mount.target, mount.origin.as_str()),
            );
        }
    }
    if is_sandboxed {
        for (name, list, origin) in access.lists() {
            add(
                name,
                format!("{} ({origin})", if list.is_empty() { "*".to_owned() } else { list.join(" ") }),
            );
        }
    }
    if let Some(refusal) = refusal {
        add("refused", refusal.to_owned());
    }
    lines.iter().map(|line| shown(line.as_bytes()) + "\n").collect()
}
