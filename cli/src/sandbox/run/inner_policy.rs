//! The policy of the guard in a container.
//!
//! What programs may start and where they may connect is as in the policy in force. Its rules for files name paths of the
//! host, which mean something else in a container: there the file map consists of what the settings mount and of the
//! image's programs. Denials that name no place (`**/.env`) hold in both.

use guard_openclaw::approvals_store::Stores;
use guard_policy::text::shown;
use guard_policy::{Document, Security};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk};
use serde_json::{Map, Value, json};

use crate::sandbox::SandboxError;
use crate::sandbox::container::STATE;
use crate::sandbox::question::{SandboxConfig, SessionSandbox};

/// Where an image has its programs.
const PROGRAMS: [&str; 6] = ["/usr/**", "/bin/**", "/sbin/**", "/lib/**", "/lib64/**", "/opt/**"];
/// The keys of `exec` that name directories of the host.
const OF_THE_HOST: [&str; 3] = ["roots", "pathPrepend", "skills"];

/// Makes the text of the policy.
pub fn text(
    options: &Options,
    config: &SandboxConfig,
    sandbox: &SessionSandbox,
) -> Result<String, SandboxError> {
    let paths = &config.paths;
    let written = config::read(paths, |path| std::fs::read(path))?;
    let stores = Stores::load(&paths.state_directory);
    let in_force = config::compile(options, paths, Disk::Used, written.as_deref(), &stores)?;
    let document = written.as_deref().map(String::from_utf8_lossy);
    let document = document.map(|text| Document::parse("", &text)).transpose();
    let document = document.map_err(|problems| {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        SandboxError::Place(format!("the policy is invalid ({first}): mend it"))
    })?;
    let operators: Value = document
        .as_ref()
        .and_then(|document| serde_json::from_str(&document.to_json()).ok())
        .unwrap_or_default();

    let mut exec = section(&operators, "exec");
    OF_THE_HOST.iter().for_each(|key| drop(exec.remove(*key)));
    exec.insert("security".to_owned(), in_force.security().as_str().into());
    exec.insert("ask".to_owned(), in_force.ask().as_str().into());
    exec.insert("askFallback".to_owned(), in_force.ask_fallback().as_str().into());
    // The three keys above say what a mode stands for.
    exec.remove("mode");
    let mut agents = Map::new();
    for (name, agent) in operators["agents"].as_object().into_iter().flatten() {
        let mut kept = Map::new();
        for key in ["allowlist", "exec"] {
            if let Some(value) = agent.get(key) {
                kept.insert(key.to_owned(), value.clone());
            }
        }
        agents.insert(name.clone(), kept.into());
    }
    let mut rules = rules(sandbox);
    if document.is_none() && in_force.security() == Security::Allowlist {
        // Without a guard.json, programs of the system and of the workspace may start.
        let all: Vec<Value> = rules.keys().map(|pattern| json!({ "pattern": pattern })).collect();
        agents.insert("*".to_owned(), json!({ "allowlist": all }));
    }
    rules.extend(["/etc/**", "/sys/fs/cgroup/**"].map(|pattern| (pattern.to_owned(), json!("r--"))));
    let deny = operators.pointer("/permissions/filesystem/deny").and_then(Value::as_array);
    let deny: Vec<&Value> = deny
        .into_iter()
        .flatten()
        .filter(|pattern| pattern.as_str().is_some_and(|pattern| pattern.starts_with("**")))
        .collect();
    let policy = json!({
        "version": 1,
        "exec": exec,
        "permissions": { "filesystem": { "rules": rules, "deny": deny } },
        "network": section(&operators, "network"),
        "agents": agents,
        // The log ends with the container. What is denied is on stderr, too.
        "audit": { "path": format!("{STATE}/audit.jsonl"), "onError": "continue" },
    });
    let text = serde_json::to_string_pretty(&policy).unwrap_or_default();
    // The policy must be valid before a container starts.
    Document::parse("the policy for the container", &text).map_err(|problems| {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        SandboxError::Place(format!("no policy can be made for the container: {}", shown(first.as_bytes())))
    })?;
    Ok(text)
}

fn section(document: &Value, name: &str) -> Map<String, Value> {
    document.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The rules of the file map: for the image's programs, for what is mounted, and for the directories in memory.
fn rules(sandbox: &SessionSandbox) -> Map<String, Value> {
    let SessionSandbox { settings, layout, .. } = sandbox;
    let mut rules: Map<_, _> = PROGRAMS.iter().map(|pattern| ((*pattern).to_owned(), json!("r-x"))).collect();
    for tmpfs in &settings.docker.tmpfs {
        let directory = tmpfs.split(':').next().unwrap_or_default();
        rules.insert(below(directory), json!("rwx"));
    }
    for mount in layout.mounts(settings) {
        rules.insert(below(&mount.target), json!(if mount.read_only { "r-x" } else { "rwx" }));
    }
    rules
}

fn below(directory: &str) -> String {
    format!("{}/**", directory.trim_end_matches('/'))
}
