//! `guard.json` as written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::allowlist_entry::AllowlistEntry;
use super::approvals::Approvals;
use super::audit::Audit;
use super::elevated::{AgentElevated, ElevatedSection};
use super::limits::LimitsSection;
use super::network::Network;
use super::node::Node;
use super::persistence::Persistence;
use super::schema_patterns::{DENY_PATTERN, DIRECTORY, NAME, PATH_DIRECTORY, PROGRAM, RULE_PATTERN};
use crate::environment::Inherit;
use crate::paths::expansion::trim;
use crate::paths::workspace::names_workspace;
use crate::programs::safe_bins::Profile;
use crate::{Ask, Outcome, Permission, Preset, Security, Template};

/// A parsed `guard.json`. Everything it leaves out is absent here: defaults are the compiler's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "guard.json", description = "The policy of openclaw-guard.", deny_unknown_fields)]
pub struct Document {
    /// The schema of this file, for editors. The guard ignores it.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<String>,
    /// The version of this format: 1.
    #[schemars(extend("const" = 1))]
    pub(crate) version: u64,
    /// A template whose rules count below those of this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) extends: Option<Template>,
    /// Which programs may start.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) exec: ExecSection,
    /// Which files may be read, written and run.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) permissions: Permissions,
    /// Settings for one agent, by its name. "*" is every agent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) agents: BTreeMap<String, Agent>,
    /// How a human is asked.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) approvals: Approvals,
    /// Sockets.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) network: Network,
    /// Which of OpenClaw's tools its agents may use. It takes away from what openclaw.json allows, and adds nothing.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) tools: Tools,
    /// The audit log.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) audit: Audit,
    /// This machine as a node of OpenClaw's gateway.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) node: Node,
    /// How much a session may take.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) limits: LimitsSection,
    /// Commands that run outside the guard after a yes: `openclaw-guard run-outside`.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) elevated: ElevatedSection,
    /// Questions with the answers that this policy must give. `openclaw-guard policy test` checks them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) examples: Vec<Example>,
}

/// `exec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct ExecSection {
    #[serde(flatten)]
    pub(crate) mode: Mode,
    /// How long a human has to answer, in milliseconds. Default: 120000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) timeout_ms: Option<u64>,
    /// After how many milliseconds the guard reports that an approved program is still running. Default: 10000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) running_notice_ms: Option<u64>,
    /// Programs that only start others, such as shells. They need `x`, but no allowlist entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(regex(pattern = PROGRAM)))]
    pub(crate) carriers: Option<Vec<String>>,
    /// The only directories from which programs can start. Default: those in which the rules grant `x`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(regex(pattern = DIRECTORY)))]
    pub(crate) roots: Option<Vec<String>>,
    /// Whether guarded programs may trace each other (strace, gdb). Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_ptrace: Option<bool>,
    #[serde(flatten)]
    pub(crate) safe_bins: SafeBinSection,
    /// Programs that belong to skills.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) skills: Skills,
    /// Directories to put at the front of the command's PATH.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(regex(pattern = PATH_DIRECTORY)))]
    pub(crate) path_prepend: Option<Vec<String>>,
    /// Which of the operator's variables the command inherits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environment: Option<Inherit>,
}

/// The safe bins of `exec`, at the top level and in an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct SafeBinSection {
    /// Programs that need no allowlist entry if their arguments make them read only standard input.
    #[serde(skip_serializing_if = "Option::is_none", rename = "safeBins")]
    #[schemars(inner(regex(pattern = PROGRAM)))]
    pub(crate) names: Option<Vec<String>>,
    /// The directories in which safe bins must be. Default: /bin and /usr/bin.
    #[serde(skip_serializing_if = "Option::is_none", rename = "safeBinTrustedDirs")]
    #[schemars(inner(regex(pattern = DIRECTORY)))]
    pub(crate) trusted_dirs: Option<Vec<String>>,
    /// The arguments that a safe bin accepts, by the program's name. An agent's come before those of the top level.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", rename = "safeBinProfiles")]
    #[schemars(extend("propertyNames" = { "pattern": PROGRAM }))]
    pub(crate) profiles: BTreeMap<String, Profile>,
}

/// `agents.NAME.exec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct AgentExec {
    #[serde(flatten)]
    pub(crate) mode: Mode,
    #[serde(flatten)]
    pub(crate) safe_bins: SafeBinSection,
}

/// `exec.skills`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Skills {
    /// The list `skills.bins` of the gateway.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) bins: Vec<SkillBin>,
}

/// A program that belongs to a skill, as in the gateway's `skills.bins`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct SkillBin {
    /// The program's name.
    #[schemars(regex(pattern = PROGRAM))]
    pub(crate) name: String,
    /// The real path of the program.
    #[schemars(regex(pattern = DIRECTORY))]
    pub(crate) resolved_path: String,
}

/// Settings that an agent may override.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct Mode {
    /// A value for `security` and `ask` in one word. If one of them is set too, the stricter value counts.
    #[serde(skip_serializing_if = "Option::is_none", rename = "mode")]
    pub(crate) preset: Option<Preset>,
    /// Which programs may start. Default: allowlist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) security: Option<Security>,
    /// When a human is asked. Default: on-miss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask: Option<Ask>,
    /// What happens to a question if nobody can be asked. Default: deny.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask_fallback: Option<Security>,
    /// Whether code in an argument (`python -c`) is asked about every time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict_inline_eval: Option<bool>,
    /// Whether the programs in `exec.skills` may start without an allowlist entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auto_allow_skills: Option<bool>,
}

impl Mode {
    /// The stricter of `security` and the security that `mode` implies, with the key that sets it.
    pub(crate) fn security(&self) -> Option<(Security, &'static str)> {
        let preset = self.preset.map(|preset| (preset.security(), "mode"));
        self.security.map(|security| (security, "security")).into_iter().chain(preset).min_by_key(|s| s.0)
    }

    /// Of `ask` and the ask that `mode` implies, the one that asks more, with the key that sets it.
    pub(crate) fn ask(&self) -> Option<(Ask, &'static str)> {
        let preset = self.preset.map(|preset| (preset.ask(), "mode"));
        preset.into_iter().chain(self.ask.map(|ask| (ask, "ask"))).max_by_key(|a| a.0)
    }

    /// `askFallback`, with the key.
    pub(crate) fn fallback(&self) -> Option<(Security, &'static str)> {
        self.ask_fallback.map(|fallback| (fallback, "askFallback"))
    }
}

/// `permissions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Permissions {
    /// Rules by path.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) filesystem: Filesystem,
    /// Whether the loader, libraries and locale data may be read without a rule. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<bool>,
    /// Which files that later run outside the guard are protected from writing. Default: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) persistence: Option<Persistence>,
}

/// `permissions.filesystem`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Filesystem {
    /// Permissions by pattern. The longest matching pattern counts. `${workspace}` is the directory to work in,
    /// `${above}` each directory above it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = { "pattern": RULE_PATTERN }))]
    pub(crate) rules: BTreeMap<String, Permission>,
    /// Patterns that are denied, whatever the rules say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = DENY_PATTERN)))]
    pub(crate) deny: Vec<String>,
    /// Patterns of paths that nobody misses, such as histories. What is not allowed there is denied without a question and
    /// without a line on the terminal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = DENY_PATTERN)))]
    pub(crate) quiet: Vec<String>,
    /// The permission of paths that no rule covers. Default: `---`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<Permission>,
    /// The largest file that is opened to be read, in bytes. Default: no bound.
    #[serde(rename = "maxReadBytes", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) max_read_bytes: Option<u64>,
}

/// `agents.NAME`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Agent {
    /// Which programs may start.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) exec: AgentExec,
    /// Programs that may start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowlist: Vec<AllowlistEntry>,
    /// Which files may be read, written and run.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) permissions: Permissions,
    /// Whose commands may run outside the guard. It only restricts the `elevated` of the whole policy.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) elevated: AgentElevated,
}

/// A question as `openclaw-guard check --batch` takes it, with its answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Example {
    /// The operation: `read`, `write` or `exec` with `path` (`exec` also with `argv`), `connect` or `bind` with
    /// `address`.
    pub(crate) op: String,
    /// The expected answer.
    pub(crate) outcome: Outcome,
    /// The agent. Default: the one that `--agent` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

/// `tools`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Tools {
    /// The only tools, by name, group (`group:fs`) or pattern (`web_*`). An empty list allows all.
    #[schemars(inner(regex(pattern = NAME)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow: Option<Vec<String>>,
    /// Tools that nobody may use.
    #[schemars(inner(regex(pattern = NAME)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deny: Option<Vec<String>>,
    /// What is read, by the tool `read` as by every other tool and program.
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) read: ReadTool,
}

/// `tools.read`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct ReadTool {
    /// OpenClaw's name for `permissions.filesystem.maxReadBytes`. If both are set, the smaller one counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) max_size_bytes: Option<u64>,
}

impl Document {
    /// The document as plain JSON, without comments.
    pub fn to_json(&self) -> String {
        // Serializing strings, numbers and string-keyed maps cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// `extends`: the template below this document.
    pub fn extends(&self) -> Option<Template> {
        self.extends
    }

    /// `approvals`: how a human is asked.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// The agents that have a section, including `*`.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    /// Whether a pattern depends on the workspace.
    pub fn names_workspace(&self) -> bool {
        let sections = self.agents.values().map(|agent| &agent.permissions).chain([&self.permissions]);
        let files = sections.map(|permissions| &permissions.filesystem);
        let of_files = |files: &Filesystem| {
            files.rules.keys().chain(&files.deny).chain(&files.quiet).any(|one| names_workspace(one))
        };
        let mut entries =
            self.agents.values().flat_map(|agent| &agent.allowlist).chain(&self.elevated.allowlist);
        files.into_iter().any(of_files)
            || entries.any(|entry| names_workspace(trim(&entry.pattern)))
            || self.extends.is_some_and(Template::is_for_a_workspace)
    }

    /// `audit.path`, as written: `~` is not expanded.
    pub fn audit_path(&self) -> Option<&str> {
        self.audit.path.as_deref()
    }
}

fn is_empty<T: Default + PartialEq>(section: &T) -> bool {
    *section == T::default()
}
