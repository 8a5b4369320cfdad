//! Questions about variables: `env`, `env-binding`, `binding`.

use std::collections::BTreeMap;

use guard_openclaw::oracle::{Binding, EnvBinding};
use guard_policy::environment::{Variable, for_shell, with_overrides};
use guard_policy::text::shown_json;
use guard_policy::{Policy, Reason};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::check::output::ReasonOutput;

/// `env`: what a command gets of `base`, with what it wants to set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    base: BTreeMap<String, String>,
    #[serde(default)]
    overrides: Option<BTreeMap<String, String>>,
    /// What interprets the command; a shell is told less.
    #[serde(default)]
    interpreter: Interpreter,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Interpreter {
    #[default]
    None,
    Shell,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EnvAnswer<'a> {
    env: Map<String, Value>,
    dropped: Map<String, Value>,
    rejected_blocked: Vec<&'a str>,
    rejected_invalid: Vec<String>,
}

impl EnvQuestion {
    pub fn answer(self, policy: &Policy) -> String {
        let inherited = policy.environment(variables(self.base));
        let overrides = variables(self.overrides.unwrap_or_default());
        let overrides = match self.interpreter {
            Interpreter::None => overrides,
            Interpreter::Shell => for_shell(overrides),
        };
        let result = with_overrides(inherited.env, overrides);
        let reason = |because: &Reason<'_>| json!(ReasonOutput::from_reason(because));
        to_line(&EnvAnswer {
            env: result.env.into_iter().map(|(name, value)| (text(name), text(value).into())).collect(),
            dropped: inherited
                .dropped
                .into_iter()
                .map(|one| (text(one.name), reason(&one.because)))
                .collect(),
            rejected_blocked: result.blocked.iter().map(|rejected| &rejected.name[..]).collect(),
            rejected_invalid: result.invalid.into_iter().map(text).collect(),
        })
    }
}

fn variables(map: BTreeMap<String, String>) -> Vec<Variable> {
    map.into_iter().map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect()
}

/// All of it came from JSON, as text.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `env-binding`: the hash to which an approval is bound.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvBindingQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    #[serde(default)]
    env: Option<Map<String, Value>>,
}

impl EnvBindingQuestion {
    pub fn answer(&self) -> String {
        to_line(&env_binding(self.env.as_ref()))
    }
}

/// What is no string does not count, as in OpenClaw.
fn env_binding(env: Option<&Map<String, Value>>) -> EnvBinding {
    let variables = env.into_iter().flatten();
    EnvBinding::new(variables.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))))
}

/// `binding`: whether what is about to run is what was approved.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BindingQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    #[serde(default)]
    run_id: String,
    approved: Option<Bound>,
    actual: Bound,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Bound {
    argv: Vec<String>,
    cwd: Option<String>,
    agent_id: Option<String>,
    session_key: Option<String>,
    env: Option<Map<String, Value>>,
}

impl From<Bound> for Binding {
    fn from(bound: Bound) -> Binding {
        let env = env_binding(bound.env.as_ref());
        let Bound { argv, cwd, agent_id, session_key, .. } = bound;
        Binding::new(argv, cwd.as_deref(), agent_id.as_deref(), session_key.as_deref(), env)
    }
}

impl BindingQuestion {
    pub fn answer(self) -> String {
        let approved = self.approved.map(Binding::from);
        let answer = match Binding::from(self.actual).check(approved.as_ref()) {
            Ok(()) => json!({ "ok": true }),
            Err(mismatch) => mismatch.answer(&self.run_id),
        };
        answer.to_string()
    }
}

fn to_line(answer: &impl Serialize) -> String {
    // Strings and maps of strings: there is nothing that could fail.
    let json = serde_json::to_string(answer).unwrap_or_default();
    shown_json(&json).into_owned()
}
