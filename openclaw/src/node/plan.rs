//! The plan that an approval at the gateway covers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The arguments; the first is the program's real path, unless the program is a shell.
    pub argv: Vec<String>,
    /// The real path of the directory.
    pub cwd: Option<String>,
    /// The arguments as text.
    pub command_text: String,
    /// Another text to show, if it differs from the arguments as text.
    pub command_preview: Option<String>,
    /// The agent.
    pub agent_id: Option<String>,
    /// OpenClaw's key of the session.
    pub session_key: Option<String>,
    /// The program or script, with the hash of its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutable_file_operand: Option<FileOperand>,
    /// The settings under which it was prepared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_snapshot: Option<PolicySnapshot>,
}

/// A file among the arguments, with the hash of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileOperand {
    /// The index of the argument.
    pub argv_index: usize,
    /// Its real path.
    pub path: String,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// The settings that a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicySnapshot {
    /// `security`.
    pub security: String,
    /// `ask`.
    pub ask: String,
    /// `askFallback`.
    pub ask_fallback: String,
    /// `autoAllowSkills`.
    pub auto_allow_skills: bool,
    /// The entries that the gateway has set.
    pub allowlist_rules: Vec<Value>,
}

/// A plan that does not match a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanMismatch;

impl Plan {
    /// Reads a plan. `None` if the value is not a plan.
    pub fn parse(value: &Value) -> Option<Plan> {
        let plan: Plan = value.is_object().then(|| serde_json::from_value(value.clone()).ok())??;
        (!plan.argv.is_empty() && !plan.command_text.trim().is_empty()).then_some(plan)
    }

    /// Checks that the plan is for this command.
    ///
    /// # Errors
    /// If anything differs.
    pub fn check(
        &self,
        argv: &[String],
        cwd: Option<&str>,
        agent: Option<&str>,
        session: Option<&str>,
    ) -> Result<(), PlanMismatch> {
        let given = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let is_same = self.argv == argv
            && self.command_text == command_text(argv)
            && given(&self.cwd).as_deref() == cwd
            && given(&self.agent_id).as_deref() == agent
            && given(&self.session_key).as_deref() == session;
        if is_same { Ok(()) } else { Err(PlanMismatch) }
    }
}

/// The arguments as text, in the form in which gateways show and compare them.
pub fn command_text(argv: &[String]) -> String {
    let word = |word: &String| match word {
        word if word.is_empty() => "\"\"".to_owned(),
        word if word.contains(|c: char| c == '"' || is_space(c)) => {
            format!("\"{}\"", word.replace('"', "\\\""))
        }
        word => word.clone(),
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// What `\s` matches in JavaScript.
fn is_space(c: char) -> bool {
    matches!(c, '\u{feff}') || c.is_whitespace() && c != '\u{85}'
}
