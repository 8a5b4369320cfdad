//! Questions about environment variables: `env`, `env-binding`, `binding`.

use std::collections::BTreeMap;

use guard_openclaw::oracle::{Binding, EnvBinding};
use guard_policy::environment::{Variable, for_shell, with_overrides};
use guard_policy::text::shown_json;
use guard_policy::{Policy, Reason};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::check::output::ReasonOutput;

/// `env`: which variables of `base` a command gets, together with those that it sets.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    base: BTreeMap<String, String>,
    #[serde(default)]
    overrides: Option<BTreeMap<String, String>>,
    /// What interprets the command; a shell gets fewer variables.
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
        let reason = |reason: &Reason<'_>| json!(ReasonOutput::from_reason(reason));
        to_line(&EnvAnswer {
            env: result.env.into_iter().map(|(name, value)| (text(name), text(value).into())).collect(),
            dropped: inherited.dropped.into_iter().map(|one| (text(one.name), reason(&one.reason))).collect(),
            rejected_blocked: result.blocked.iter().map(|rejected| &rejected.name[..]).collect(),
            rejected_invalid: result.invalid.into_iter().map(text).collect(),
        })
    }
}

fn variables(map: BTreeMap<String, String>) -> Vec<Variable> {
    map.into_iter().map(|(name, value)| (name.into_bytes(), value.into_bytes())).collect()
}

/// The bytes came from JSON, so they are UTF-8.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `env-binding`: the hash that binds an approval to its variables.
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

/// Values that are not strings are ignored, as in OpenClaw.
fn env_binding(env: Option<&Map<String, Value>>) -> EnvBinding {
    let variables = env.into_iter().flatten();
    EnvBinding::new(variables.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))))
}

/// `binding`: whether the command about to run is the one that was approved.
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
    // Serializing strings and maps of strings cannot fail.
    let json = serde_json::to_string(answer).unwrap_or_default();
    shown_json(&json).into_owned()
}
