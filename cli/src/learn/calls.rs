//! What OpenClaw's tools did, by the lines that `gate serve --observe` has written into the audit log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use guard_openclaw::gateway::{self, Config};
use guard_openclaw::real_path::real;
use guard_openclaw::sandbox::agent_id;
use guard_policy::learn::Used;
use guard_policy::tools::ToolSettings;
use guard_policy::{Outcome, WebEndpoint, WebTarget};
use guard_supervisor::audit::Operation;
use guard_supervisor::audit::reader::{Log, LoggedDecision};
use guard_supervisor::config::{self, Paths, options::Options};
use guard_supervisor::judge::recorder::Seen;
use serde_json::Value;

use super::LearnError;
use crate::sandbox::directories;

/// The calls of an agent's tools that went on, whatever the policy said of them.
#[derive(Debug, Default)]
pub struct ObservedCalls {
    /// What they reached for.
    pub seen: Seen,
    /// How many lines of the log these calls have.
    pub learned: usize,
    /// Lines of which no rule can be made: a command, a tool without a target, a text that the log has shortened.
    pub others: usize,
}

impl ObservedCalls {
    /// Reads the log.
    ///
    /// # Errors
    /// If there is no log, or no such call in it.
    pub fn read(options: &Options) -> Result<ObservedCalls, LearnError> {
        let agent = &options.agent;
        let log = Log::open(&config::audit_log(options)?)?;
        let mut calls = ObservedCalls::default();
        let mut paths: BTreeMap<Vec<u8>, Used> = BTreeMap::new();
        for entry in log.entries() {
            let entry = entry?;
            let call =
                entry.decision().filter(|call| call.is_observed && !call.is_reading && entry.agent == *agent);
            let Some(call) = call else { continue };
            if let Some((path, used)) = file(call) {
                let before = paths.entry(path).or_default();
                *before = *before | used;
            } else if let Some(host) = host(call) {
                let origin = format!("{}://{}", host.scheme().as_str(), host.authority());
                // OpenClaw looks the name up.
                calls.seen.hosts.by_name.insert(origin, BTreeSet::new());
            } else {
                calls.others += 1;
                continue;
            }
            calls.learned += 1;
        }
        if calls.learned == 0 {
            return Err(LearnError::NoCalls(agent.clone()));
        }
        calls.seen.paths = paths.into_iter().collect();
        Ok(calls)
    }
}

/// The file that a call read or wrote. `edit` and `apply_patch` read what they write.
fn file(call: &LoggedDecision) -> Option<(Vec<u8>, Used)> {
    let only_writes = call.argv.first().is_some_and(|tool| tool == "write");
    let used = match call.access? {
        Operation::Read => Used::READ,
        Operation::Write if only_writes => Used::WRITTEN,
        Operation::Write => Used::READ | Used::WRITTEN,
        _ => return None,
    };
    let is_whole = !call.path.ends_with('…') && !call.path.contains(char::REPLACEMENT_CHARACTER);
    // What is in /proc depends on who looks.
    let is_lasting = call.path.starts_with('/') && !call.path.starts_with("/proc/");
    (is_whole && is_lasting).then(|| (call.path.clone().into_bytes(), used))
}

/// The host that a call reached. A host that the gate denies by itself would stay denied under every policy.
fn host(call: &LoggedDecision) -> Option<WebEndpoint> {
    let is_hopeless = call.verdict == Outcome::Deny && call.reason.path == "builtin.gate";
    let is_learned = call.access == Some(Operation::Connect) && !is_hopeless;
    WebTarget::Url(&call.path).endpoint().ok().filter(|_| is_learned)
}

/// Returns the agent's name as openclaw.json writes it, and the paths for a policy of its tools. Relative paths begin
/// in the agent's workspace.
///
/// # Errors
/// What in openclaw.json is wrong.
pub fn agent_and_paths(options: &Options, paths: &Paths) -> Result<(String, Paths), LearnError> {
    let file = Config::read(&gateway::config(&paths.state));
    if let Some(problem) = file.problem() {
        return Err(LearnError::Openclaw(problem.to_string()));
    }
    let wrong = |error: &dyn ToString| LearnError::Openclaw(error.to_string());
    let empty = Value::Object(serde_json::Map::new());
    let content = file.content().unwrap_or(&empty);
    let agent = if options.agent_is_named {
        agent_id(&options.agent)
    } else {
        ToolSettings::from_config(content).map_err(|error| wrong(&error))?.default_agent().to_owned()
    };
    let workspace = directories(paths).agent_workspace(content, &agent).map_err(|error| wrong(&error))?;
    Ok((agent, paths.at(&real(Path::new(&workspace)))?))
}
