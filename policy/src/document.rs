//! `guard.json` as written.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::environment::Inherit;
use crate::safe_bins::Profile;
use crate::{Ask, Permission, Preset, Problem, Security, read};

/// A parsed `guard.json`. Everything it leaves out is absent here: defaults are the compiler's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Document {
    pub(crate) version: u64,
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) exec: ExecSection,
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) permissions: Permissions,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) agents: BTreeMap<String, Agent>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(crate) approvals: Map<String, Value>,
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) network: Network,
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) audit: Audit,
}

/// `exec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExecSection {
    #[serde(flatten)]
    pub(crate) mode: Mode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) carriers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) roots: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allow_ptrace: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) safe_bins: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) safe_bin_trusted_dirs: Option<Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) safe_bin_profiles: BTreeMap<String, Profile>,
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) skills: Skills,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path_prepend: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) environment: Option<Inherit>,
}

/// `exec.skills`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Skills {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) bins: Vec<SkillBin>,
}

/// A program that a skill brings, as the gateway's `skills.bins` lists them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkillBin {
    pub(crate) name: String,
    pub(crate) resolved_path: String,
}

/// What an agent may set, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mode {
    #[serde(skip_serializing_if = "Option::is_none", rename = "mode")]
    pub(crate) preset: Option<Preset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) security: Option<Security>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask: Option<Ask>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ask_fallback: Option<Security>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strict_inline_eval: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auto_allow_skills: Option<bool>,
}

impl Mode {
    /// `security` or what `mode` says of it, with the key; with both the stricter.
    pub(crate) fn security(&self) -> Option<(Security, &'static str)> {
        let preset = self.preset.map(|preset| (preset.security(), "mode"));
        self.security.map(|security| (security, "security")).into_iter().chain(preset).min_by_key(|s| s.0)
    }

    /// `ask` or what `mode` says of it, with the key; with both the one that asks more.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Permissions {
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) filesystem: Filesystem,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) base: Option<bool>,
}

/// `permissions.filesystem`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Filesystem {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) rules: BTreeMap<String, Permission>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deny: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<Permission>,
}

/// `agents.NAME`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Agent {
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) exec: Mode,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowlist: Vec<AllowlistEntry>,
    #[serde(skip_serializing_if = "is_empty")]
    pub(crate) permissions: Permissions,
}

/// An entry of `agents.NAME.allowlist`, as OpenClaw writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AllowlistEntry {
    pub(crate) pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arg_pattern: Option<String>,
    /// `id`, `source`, `lastUsedAt` and the like: bookkeeping.
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

/// `network`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Network {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unix_datagram: Option<bool>,
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

/// `audit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Audit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

impl Document {
    /// Reads a document; `file` is only for messages. Every problem found is reported.
    pub fn parse(file: &str, text: &str) -> Result<Document, Vec<Problem>> {
        read::document(file, text)
    }

    /// The document as plain JSON, without comments.
    pub fn to_json(&self) -> String {
        // Strings, numbers and string-keyed maps: nothing here can fail to serialize.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The agents that have a section, `*` included.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    /// `approvals`, for whoever routes them.
    pub fn approvals(&self) -> &Map<String, Value> {
        &self.approvals
    }

    /// Keys that are read but not acted on, and would have an effect.
    pub(crate) fn unused(&self) -> Vec<String> {
        let exec = &self.exec;
        let modes = std::iter::once(&exec.mode).chain(self.agents.values().map(|agent| &agent.exec));
        let strict = modes.into_iter().any(|mode| mode.strict_inline_eval == Some(true));
        let prepend = exec.path_prepend.as_ref().is_some_and(|dirs| !dirs.is_empty());
        let keys = [
            ("strictInlineEval", strict),
            ("pathPrepend", prepend),
            ("environment", exec.environment.is_some()),
        ];
        let mut unused: Vec<_> = keys
            .iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(key, _)| format!("exec.{key} is read but not acted on yet"))
            .collect();
        let sections =
            [("approvals", &self.approvals), ("network", &self.network.other), ("audit", &self.audit.other)];
        for (section, keys) in sections {
            for (key, _) in keys.iter().filter(|(_, v)| has_effect(v)) {
                unused.push(format!("{section}.{key} is read but not acted on yet"));
            }
        }
        unused
    }
}

fn has_effect(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => map.values().any(has_effect),
        _ => true,
    }
}

fn is_empty<T: Default + PartialEq>(section: &T) -> bool {
    *section == T::default()
}
