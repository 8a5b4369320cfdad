//! The parameters of the commands that a gateway calls.

use std::collections::BTreeMap;

use guard_policy::{Ask, Security};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::InvokeError;
use super::plan::{Plan, PlanMismatch, command_text};

/// The maximum length of one argument, and of all of them together, in bytes: the kernel accepts no more (execve(2)).
const MAX_BYTES: usize = 2 << 20;

/// `system.run`, apart from its approval.
#[derive(Clone, Debug, PartialEq)]
pub struct RunParams {
    /// The arguments, the program first.
    pub argv: Vec<String>,
    /// Whether the call also has the command as the text that was shown: `rawCommand`.
    pub has_text: bool,
    /// The directory, if one is named.
    pub cwd: Option<String>,
    /// The variables that the call sets.
    pub env: BTreeMap<String, String>,
    /// How long the run may take, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The agent.
    pub agent_id: Option<String>,
    /// OpenClaw's key of the session.
    pub session_key: Option<String>,
    /// The run's id.
    pub run_id: Option<String>,
    /// Whether the gateway must not notify the agent of the run's end.
    pub is_silent: bool,
    /// Stricter settings for this run.
    pub tightened: Tightened,
    /// Whether somebody has approved the run.
    pub approval: Approval,
}

/// Stricter settings that a call carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tightened {
    /// `security`.
    pub security: Option<Security>,
    /// `ask`.
    pub ask: Option<Ask>,
    /// `strictInlineEval`: code in an argument needs an approval.
    pub strict_inline_eval: bool,
}

/// Whether somebody has approved a run at the gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum Approval {
    /// Nobody has approved the run.
    None,
    /// Somebody has approved this plan.
    Given(Box<Plan>),
}

/// `system.run.prepare`.
#[derive(Clone, Debug, PartialEq)]
pub struct PrepareParams {
    /// The arguments, the program first.
    pub argv: Vec<String>,
    /// Whether the call also has the command as a text to show: `rawCommand`.
    pub has_text: bool,
    /// The text that the gateway would show beside the command.
    pub preview: Option<String>,
    /// The directory, if one is named.
    pub cwd: Option<String>,
    /// The variables that the call sets.
    pub env: BTreeMap<String, String>,
    /// The agent.
    pub agent_id: Option<String>,
    /// OpenClaw's key of the session.
    pub session_key: Option<String>,
    /// Stricter settings for this run.
    pub tightened: Tightened,
}

/// `system.which`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhichParams {
    /// The names of programs that have no slash.
    pub bins: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawParams {
    #[serde(default)]
    command: Value,
    raw_command: Option<String>,
    cwd: Option<String>,
    #[serde(default)]
    env: Option<BTreeMap<String, Value>>,
    timeout_ms: Option<f64>,
    agent_id: Option<String>,
    session_key: Option<String>,
    run_id: Option<String>,
    system_run_plan: Option<Value>,
    approved: Option<bool>,
    approval_decision: Option<Value>,
    approval_source: Option<Value>,
    suppress_notify_on_exit: Option<bool>,
    security: Option<String>,
    ask: Option<String>,
    strict_inline_eval: Option<bool>,
}

impl RawParams {
    /// The arguments.
    fn argv(&self) -> Result<Vec<String>, InvokeError> {
        let required = || InvokeError::invalid("command required");
        let Value::Array(words) = &self.command else { return Err(required()) };
        let words: Option<Vec<_>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let words = words.ok_or_else(required)?;
        match words.first() {
            None => return Err(required()),
            Some(program) if program.trim().is_empty() => return Err(required()),
            Some(_) => {}
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err(InvokeError::invalid("command has a NUL byte"));
        }
        if words.iter().map(|word| word.len() + 1).sum::<usize>() > MAX_BYTES {
            return Err(InvokeError::invalid("command is too long: the kernel takes 2 MiB"));
        }
        self.check_raw(&words)?;
        Ok(words)
    }

    /// Checks that the text shown for a command stands for that command: `rawCommand` must be its text, or the
    /// code of its shell.
    fn check_raw(&self, argv: &[String]) -> Result<(), InvokeError> {
        let Some(raw) = given(self.raw_command.as_deref()) else { return Ok(()) };
        // The words after the code are the code's parameters.
        let code = argv.iter().skip(1).position(|word| word.starts_with('-') && word.contains('c'));
        let code = code.and_then(|at| argv.get(at + 2));
        let is_text = raw == command_text(argv) || code.is_some_and(|code| code.trim() == raw);
        if is_text {
            Ok(())
        } else {
            Err(InvokeError::invalid("INVALID_REQUEST: rawCommand does not match command"))
        }
    }

    /// Values that are not strings are ignored, as in OpenClaw.
    fn env(&self) -> BTreeMap<String, String> {
        let env = self.env.iter().flatten();
        env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    }

    fn tightened(&self) -> Tightened {
        Tightened {
            security: self.security.as_deref().and_then(Security::from_name),
            ask: self.ask.as_deref().and_then(Ask::from_name),
            strict_inline_eval: self.strict_inline_eval == Some(true),
        }
    }

    fn approval(&self, argv: &[String]) -> Result<Approval, InvokeError> {
        let source = self.approval_source.as_ref().filter(|source| !source.is_null());
        let decision = self.approval_decision.as_ref().and_then(Value::as_str);
        let is_explicit =
            self.approved == Some(true) || matches!(decision, Some("allow-once" | "allow-always"));
        if source.is_some_and(|source| !matches!(source.as_str(), Some("ask-fallback" | "auto-review"))) {
            return Err(InvokeError::invalid("approvalSource invalid"));
        }
        if source.is_some() && (self.approved.is_some() || self.approval_decision.is_some()) {
            return Err(InvokeError::invalid("approvalSource cannot be combined with explicit approval"));
        }
        let plan = match &self.system_run_plan {
            None => None,
            Some(plan) => {
                Some(Plan::parse(plan).ok_or_else(|| InvokeError::invalid("systemRunPlan invalid"))?)
            }
        };
        // A call that carries a denial counts as unapproved, whatever else it carries.
        if decision == Some("deny") || source.is_none() && !is_explicit {
            return Ok(Approval::None);
        }
        let name = if source.is_some() { "approvalSource" } else { "explicit approval" };
        let matching = plan.ok_or(PlanMismatch).and_then(|plan| {
            let [cwd, agent, session] =
                [&self.cwd, &self.agent_id, &self.session_key].map(|one| given(one.as_deref()));
            plan.check(argv, cwd, agent, session).map(|()| plan)
        });
        let plan =
            matching.map_err(|_| InvokeError::invalid(format!("{name} requires matching systemRunPlan")))?;
        // The policy asks for a human's yes. A `source` means that a model's review or the gateway's
        // `askFallback` has decided instead.
        match source {
            Some(_) => Ok(Approval::None),
            None => Ok(Approval::Given(Box::new(plan))),
        }
    }
}

/// A text that is not blank, trimmed.
fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

fn owned(text: Option<&str>) -> Option<String> {
    given(text).map(str::to_owned)
}

/// Reads the parameters of a call.
fn read<T: DeserializeOwned>(params: Option<&str>) -> Result<T, InvokeError> {
    let text = params.filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| InvokeError::thrown("paramsJSON required"))?;
    let value: Value =
        serde_json::from_str(text).map_err(|_| InvokeError::thrown("paramsJSON malformed JSON"))?;
    if !value.is_object() {
        return Err(InvokeError::thrown("paramsJSON must be an object"));
    }
    serde_json::from_value(value).map_err(|error| InvokeError::thrown(format!("paramsJSON: {error}")))
}

impl RunParams {
    /// Reads the parameters.
    ///
    /// # Errors
    /// The answer to a call whose parameters are missing or invalid.
    pub fn read(params: Option<&str>) -> Result<RunParams, InvokeError> {
        let raw: RawParams = read(params)?;
        let argv = raw.argv()?;
        let millis = raw.timeout_ms.filter(|millis| *millis > 0.0);
        Ok(RunParams {
            approval: raw.approval(&argv)?,
            has_text: given(raw.raw_command.as_deref()).is_some(),
            cwd: owned(raw.cwd.as_deref()),
            env: raw.env(),
            timeout_ms: millis.map(|millis| millis.ceil() as u64),
            agent_id: owned(raw.agent_id.as_deref()),
            session_key: owned(raw.session_key.as_deref()),
            run_id: owned(raw.run_id.as_deref()),
            is_silent: raw.suppress_notify_on_exit == Some(true),
            tightened: raw.tightened(),
            argv,
        })
    }
}

impl PrepareParams {
    /// Reads the parameters.
    ///
    /// # Errors
    /// The answer to a call whose parameters are missing or invalid.
    pub fn read(params: Option<&str>) -> Result<PrepareParams, InvokeError> {
        let raw: RawParams = read(params)?;
        let argv = raw.argv()?;
        Ok(PrepareParams {
            has_text: given(raw.raw_command.as_deref()).is_some(),
            preview: owned(raw.raw_command.as_deref()).filter(|raw| *raw != command_text(&argv)),
            cwd: owned(raw.cwd.as_deref()),
            env: raw.env(),
            agent_id: owned(raw.agent_id.as_deref()),
            session_key: owned(raw.session_key.as_deref()),
            tightened: raw.tightened(),
            argv,
        })
    }
}

impl WhichParams {
    /// Reads the parameters.
    ///
    /// # Errors
    /// The answer to a call whose parameters are missing or invalid.
    pub fn read(params: Option<&str>) -> Result<WhichParams, InvokeError> {
        #[derive(Deserialize)]
        struct RawBins {
            bins: Option<Value>,
        }
        let raw: RawBins = read(params)?;
        let Some(Value::Array(bins)) = raw.bins else { return Err(InvokeError::thrown("bins required")) };
        let names = bins.iter().filter_map(Value::as_str).map(str::trim);
        let bins = names.filter(|name| !name.is_empty() && !name.contains(['/', '\\', '\0']));
        Ok(WhichParams { bins: bins.map(str::to_owned).collect() })
    }
}
