//! Decides about one call: about the tool by OpenClaw's steps, and about what the call reaches for by
//! guard.json. The strictest decision counts.
//!
//! Why: docs/decisions.md, "The gate judges a tool's call by its parameters, and denies what it cannot read."

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use guard_approvals::served;
use guard_openclaw::command_text;
use guard_openclaw::sandbox::agent_id;
use guard_policy::environment::Variable;
use guard_policy::tools::{
    CallSite, EffectiveTools, FileSize, GUARD_STEP, Inventory, JudgedPath, Reach, RemovedBy, SeenWarnings,
    Sender, Surface, ToolContext, ToolNeed, effective, judge_file, judge_url, needs, restrict,
};
use guard_policy::{Access, Outcome, Reason, Request, Security, Source};
use guard_supervisor::audit::Operation;
use guard_supervisor::config::realpath::Links;
use serde_json::Value;

use super::protocol::Question;
use super::repository;
use super::sources::{AgentPolicy, Loaded};
use crate::check::command;

/// The maximum number of names in a directory that are compared with a given name.
const MAX_NAMES: usize = 10_000;
/// The longest name of a tool, an agent or a session, in bytes.
const MAX_NAME: usize = 512;

/// A decision about a call.
#[derive(Debug)]
pub struct Judged {
    /// The agent whose policy counted.
    pub agent: String,
    /// The tool, as policies write it.
    pub tool: String,
    /// The part that decided, which is the strictest.
    pub part: Part,
    /// The other parts.
    pub others: Vec<Part>,
    /// How long a human has to answer.
    pub timeout_ms: u64,
}

/// One thing that a call reaches for.
#[derive(Debug)]
pub struct Part {
    /// A real path, an address, a command; empty where the tool alone decides.
    pub target: Vec<u8>,
    /// What the call does with it. `None` where `target` is not a real path, and so stands for no certain file.
    pub access: Option<Operation>,
    /// Whether `target` is what the call means. If not, it is another reading of the same text, such as that of
    /// another release.
    pub is_meant: bool,
    /// The decision.
    pub outcome: Outcome,
    /// The reason.
    pub reason: Reason<'static>,
}

/// What holds for every call.
pub struct CallJudge<'j> {
    /// The policies.
    pub loaded: &'j Arc<Loaded>,
    /// What `~` stands for.
    pub home: &'j Path,
    /// The state directory.
    pub state: &'j Path,
    /// The variables that resolve the names of programs.
    pub env: &'j [Variable],
    /// Whether the kernel holds the calls of commands.
    pub is_wrapped: bool,
    /// Whether nobody is asked.
    pub is_unattended: bool,
}

impl Part {
    /// A decision about the tool, whatever the call reaches for.
    fn of_tool(outcome: Outcome, reason: Reason<'static>) -> Part {
        Part { target: Vec::new(), access: None, is_meant: true, outcome, reason }
    }
}

impl CallJudge<'_> {
    /// Decides about a call.
    pub fn judge(&self, question: &Question) -> Judged {
        let tool = self.loaded.release.catalogue().name(&question.tool);
        let mut judged = Judged {
            agent: question.agent_id.as_deref().map(agent_id).unwrap_or_default(),
            tool,
            part: Part::of_tool(Outcome::Deny, by_gate("nothing allows it")),
            others: Vec::new(),
            timeout_ms: 0,
        };
        match self.parts(question, &mut judged) {
            Ok(mut parts) => {
                let strictest = (0..parts.len()).min_by_key(|&at| parts[at].outcome);
                judged.part = strictest.map_or_else(left_by_openclaw, |at| parts.remove(at));
                judged.others = parts;
            }
            Err(why) => judged.part.reason = why,
        }
        judged
    }

    /// What the call reaches for, or why it cannot be judged.
    fn parts(&self, question: &Question, judged: &mut Judged) -> Result<Vec<Part>, Reason<'static>> {
        check_names(question, &judged.tool)?;
        let mut inventory = Inventory::of_release(self.loaded.release);
        inventory.add_plugin_tool(&judged.tool, "");
        let context = context(question);
        let tools = effective(&self.loaded.settings, &context, &inventory, &mut SeenWarnings::default());
        let mut tools = tools.map_err(|issue| by_gate(issue.to_string()))?;
        judged.agent.clone_from(&tools.agent);
        let agent =
            self.loaded.agent(&tools.agent).map_err(|why| by_gate(format!("there is no policy: {why}")))?;
        judged.timeout_ms = agent.policy.timeout_ms();
        restrict(&mut tools, agent.policy.tools(), &inventory);
        if let Some(reason) = removed(&tools, &judged.tool) {
            return Err(reason);
        }
        let needs = needs(&judged.tool, &question.params).map_err(|why| by_gate(why.to_string()))?;
        let derived = derived(question, &judged.tool);
        let is_judged =
            |need: &ToolNeed| !matches!(need, ToolNeed::Command { .. }) || self.judges_text(question, &tools);
        let needs = needs.into_iter().chain(derived).filter(is_judged);
        Ok(needs.flat_map(|need| self.judge_need(&need, &agent)).collect())
    }

    /// Whether a command is judged by its text. That is so if it may run on the gateway's host, and the kernel does
    /// not hold its calls.
    fn judges_text(&self, question: &Question, tools: &EffectiveTools) -> bool {
        let text = |name: &str| question.params.get(name).and_then(Value::as_str);
        let is_elevated = question.params.get("elevated").is_some_and(|value| *value != Value::Bool(false));
        let is_elsewhere = |host: Option<&str>| match host {
            Some("node") => true,
            Some("gateway") => false,
            _ => tools.is_sandboxed,
        };
        let configured = is_elsewhere(self.loaded.settings.exec_host(&tools.agent));
        let asked = question.params.get("host").is_none_or(Value::is_null) || is_elsewhere(text("host"));
        !self.is_wrapped && (is_elevated || !configured || !asked)
    }

    fn judge_need(&self, need: &ToolNeed, agent: &AgentPolicy) -> Vec<Part> {
        let part = match need {
            ToolNeed::File { path, access, reach } => return self.file(path, *access, *reach, agent),
            ToolNeed::Url(url) => {
                let verdict = judge_url(&agent.policy, url, served(self.state));
                let target = url.clone().into_bytes();
                let reason = verdict.reason.into_owned();
                let (access, outcome) = (Some(Operation::Connect), verdict.outcome);
                Part { target, access, is_meant: true, outcome, reason }
            }
            ToolNeed::Command { text, directory } => self.command(text, directory.as_deref(), agent),
            ToolNeed::SessionDirectory(path) => self.session_directory(path, agent),
        };
        vec![part]
    }

    /// Returns the part for the path that the text means. If the text may also stand for a path with a stricter
    /// verdict, returns that part too.
    fn file(&self, path: &str, access: Access, reach: Reach, agent: &AgentPolicy) -> Vec<Part> {
        let links = Links::default();
        let bases: Vec<Vec<u8>> =
            agent.bases.iter().map(|base| base.as_os_str().as_bytes().to_vec()).collect();
        let site = CallSite {
            home: self.home.as_os_str().as_bytes(),
            bases: &bases,
            real: &|path| real(&links, path),
            names: &names,
            size: &size,
            site: &|path| repository::site(&agent.policy, path),
        };
        let operation = if access == Access::READ { Operation::Read } else { Operation::Write };
        let judged = judge_file(&agent.policy, path, access, reach, &site);
        let mut parts = judged.into_iter().map(|JudgedPath { path, is_real, verdict }| {
            let request = Request::File { path: &path, access };
            let verdict = if self.is_unattended { agent.policy.fallback(&request, verdict) } else { verdict };
            let (outcome, reason) = (verdict.outcome, verdict.reason.into_owned());
            Part { target: path, access: is_real.then_some(operation), is_meant: true, outcome, reason }
        });
        let Some(meant) = parts.next() else { return Vec::new() };
        let strictest = parts.min_by_key(|part| part.outcome).filter(|part| part.outcome < meant.outcome);
        let strictest = strictest.map(|part| Part { is_meant: false, ..part });
        std::iter::once(meant).chain(strictest).collect()
    }

    fn command(&self, text: &str, directory: Option<&str>, agent: &AgentPolicy) -> Part {
        let policy = &agent.policy;
        let cwd = match directory {
            Some(directory) => agent.bases[0].join(directory),
            None => agent.bases[0].clone(),
        };
        let evaluation = command::evaluate(policy, text, &cwd, self.home, Some(self.env));
        let whole = command_text::verdicts(policy, &evaluation).whole;
        let is_unanswered = self.is_unattended && whole.outcome == Outcome::Ask;
        let outcome = match whole.outcome {
            _ if !is_unanswered => whole.outcome,
            _ if policy.ask_fallback() == Security::Full => Outcome::Allow,
            _ => Outcome::Deny,
        };
        let reason = whole.reason.into_owned();
        let access = Some(Operation::Exec);
        Part { target: text.as_bytes().to_vec(), access, is_meant: true, outcome, reason }
    }

    /// If the session begins in another directory, its relative paths would be judged in the wrong place.
    fn session_directory(&self, path: &str, agent: &AgentPolicy) -> Part {
        let real = real(&Links::default(), Path::new(path).as_os_str().as_bytes());
        let is_base = |real: Vec<u8>| agent.bases.iter().any(|base| base.as_os_str().as_bytes() == real);
        let is_known = real.is_some_and(is_base);
        let outcome = if is_known { Outcome::Allow } else { Outcome::Deny };
        let reason = by_gate(
            "a session may begin only in the workspace of its agent: elsewhere its relative paths are not known",
        );
        Part { target: path.as_bytes().to_vec(), access: None, is_meant: true, outcome, reason }
    }
}

/// The decision about a call that reaches for nothing.
fn left_by_openclaw() -> Part {
    let text = "OpenClaw's policy leaves this tool";
    Part::of_tool(Outcome::Allow, Reason::new(Source::Openclaw, "", "OpenClaw's tools", text))
}

/// The paths that OpenClaw itself found in a patch.
fn derived<'q>(question: &'q Question, tool: &str) -> impl Iterator<Item = ToolNeed> + 'q {
    let is_patch = tool == "apply_patch";
    question.derived_paths.iter().filter(move |_| is_patch).map(|path| ToolNeed::File {
        path: path.clone(),
        access: Access::READ | Access::WRITE,
        reach: Reach::Exact,
    })
}

fn check_names(question: &Question, tool: &str) -> Result<(), Reason<'static>> {
    if question.v != 1 {
        return Err(by_gate("the plugin speaks another version: run `openclaw-guard gate install`"));
    }
    let named = [&question.agent_id, &question.session_key, &question.run_id, &question.tool_call_id];
    let mut names = named.into_iter().flatten().map(String::as_str).chain([tool]);
    if names.any(|name| name.len() > MAX_NAME || name.contains(char::is_control)) {
        return Err(by_gate("a name is too long, or has control characters in it"));
    }
    if tool.is_empty() {
        return Err(by_gate("a tool must have a name"));
    }
    Ok(())
}

/// Returns who asks. A sender who is not known to be the owner does not count as the owner.
fn context(question: &Question) -> ToolContext {
    let requester = question.requester.as_ref();
    let sender = requester.map_or_else(Sender::default, |requester| Sender {
        id: requester.sender_id.clone(),
        name: requester.sender_name.clone(),
        username: requester.sender_username.clone(),
        e164: requester.sender_e164.clone(),
        is_owner: None,
    });
    let is_owner = requester.and_then(|requester| requester.sender_is_owner).unwrap_or(false);
    // Calls by `POST /tools/invoke` get ids of this form from the gateway.
    let is_http = question.tool_call_id.as_deref().is_some_and(|id| id.starts_with("http-"));
    ToolContext {
        agent: question.agent_id.clone(),
        channel: requester.and_then(|requester| requester.channel.clone()),
        account: requester.and_then(|requester| requester.account_id.clone()),
        session_key: question.session_key.clone(),
        sender: Sender { is_owner: Some(is_owner), ..sender },
        surface: if is_http { Surface::Http } else { Surface::Session },
        ..ToolContext::default()
    }
}

fn removed(tools: &EffectiveTools, tool: &str) -> Option<Reason<'static>> {
    if tools.allowed.iter().any(|allowed| allowed == tool) {
        return None;
    }
    let Some((step, removal)) = tools.removal(tool) else { return Some(by_gate("there is no such tool")) };
    let source = if step.label == GUARD_STEP { Source::Global } else { Source::Openclaw };
    let why = match &removal.by {
        RemovedBy::Deny(entry) => format!("deny \"{entry}\""),
        RemovedBy::Allow => "not in its allow list".to_owned(),
    };
    Some(Reason::new(source, step.label.clone(), step.label.clone(), why))
}

/// A reason that does not come from a rule of the policy.
pub fn by_gate(text: impl Into<String>) -> Reason<'static> {
    Reason::new(Source::Builtin, "builtin.gate", "the gate for OpenClaw's tools", text.into())
}

/// The real path. `None` if the path depends on the process that resolves it, which here is the gate and not
/// the gateway.
fn real(links: &Links, path: &[u8]) -> Option<Vec<u8>> {
    let mut trail = links.trail(path);
    let depends = |path: &Vec<u8>| {
        let of_process = path.strip_prefix(b"/proc/").and_then(|rest| rest.first());
        of_process.is_some_and(u8::is_ascii_digit)
            || [&b"/proc/self"[..], b"/proc/thread-self"].iter().any(|own| path.starts_with(own))
    };
    if trail.iter().any(depends) {
        return None;
    }
    trail.pop()
}

/// The size of a regular file. A link has an unknown size: the judged path was real, so a link there is new and
/// was not judged.
fn size(path: &[u8]) -> FileSize {
    match fs::symlink_metadata(OsStr::from_bytes(path)) {
        Ok(metadata) if metadata.is_symlink() => FileSize::Unknown,
        Ok(metadata) if metadata.is_file() => FileSize::Bytes(metadata.len()),
        Ok(_) => FileSize::NoFile,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            FileSize::NoFile
        }
        Err(_) => FileSize::Unknown,
    }
}

fn names(directory: &[u8]) -> Option<Vec<Vec<u8>>> {
    let entries = match fs::read_dir(OsStr::from_bytes(directory)) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Some(Vec::new());
        }
        Err(_) => return None,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.ok()?.file_name().into_vec());
        if names.len() > MAX_NAMES {
            return None;
        }
    }
    Some(names)
}
