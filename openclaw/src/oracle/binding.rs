//! Checks whether a command is the one that was approved.

use guard_policy::environment::portable;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::collation::sort_key;

/// The variables that a command sets, in a form that can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvBinding {
    /// SHA-256 in lower-case hexadecimal; None if no variable counts.
    #[serde(rename = "envHash")]
    pub hash: Option<String>,
    /// The names that count, in OpenClaw's order.
    #[serde(rename = "envKeys")]
    pub keys: Vec<String>,
}

impl EnvBinding {
    /// Builds the binding. Names are trimmed. Only portable names count, because OpenClaw never sets others.
    ///
    /// The hash covers JSON, and so only text: a command with a value that is not UTF-8 cannot be bound, and
    /// the caller must refuse it.
    pub fn new<'e>(env: impl IntoIterator<Item = (&'e str, &'e str)>) -> EnvBinding {
        let mut entries: Vec<(&str, &str)> =
            env.into_iter().filter_map(|(name, value)| Some((portable(name.as_bytes())?, value))).collect();
        entries.sort_by_cached_key(|(name, _)| sort_key(name));
        // Serializing strings cannot fail.
        let json = serde_json::to_vec(&entries).unwrap_or_default();
        let hash =
            Sha256::digest(json).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        EnvBinding {
            hash: (!entries.is_empty()).then_some(hash),
            keys: entries.iter().map(|(name, _)| (*name).to_owned()).collect(),
        }
    }
}

/// The fields that OpenClaw stores for a command that a node is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    argv: Vec<String>,
    cwd: Option<String>,
    agent_id: Option<String>,
    session_key: Option<String>,
    env: EnvBinding,
}

impl Binding {
    /// Creates a binding. Directory, agent and session are trimmed, and blank ones are absent.
    pub fn new(
        argv: Vec<String>,
        cwd: Option<&str>,
        agent_id: Option<&str>,
        session_key: Option<&str>,
        env: EnvBinding,
    ) -> Binding {
        let given =
            |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        Binding { argv, cwd: given(cwd), agent_id: given(agent_id), session_key: given(session_key), env }
    }

    /// Checks that this command, which is about to run, is the approved one.
    ///
    /// # Errors
    /// The first difference. A request without a binding never matches.
    pub fn check(&self, approved: Option<&Binding>) -> Result<(), Mismatch> {
        let env_keys = self.env.keys.clone();
        let Some(approved) = approved else {
            return Err(Mismatch::Unbound { env_keys });
        };
        let same_command = !approved.argv.is_empty()
            && approved.argv == self.argv
            && approved.cwd == self.cwd
            && approved.agent_id == self.agent_id
            && approved.session_key == self.session_key;
        if !same_command {
            return Err(Mismatch::Request);
        }
        match (&approved.env.hash, &self.env.hash) {
            (expected, actual) if expected == actual => Ok(()),
            (None, Some(_)) => Err(Mismatch::EnvUnbound { env_keys }),
            (expected, actual) => Err(Mismatch::Env {
                env_keys,
                expected_env_hash: expected.clone(),
                actual_env_hash: actual.clone(),
            }),
        }
    }
}

/// Why a command is not the one that was approved. `Display` is OpenClaw's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The variables differ.
    #[error("approval id env binding mismatch")]
    Env {
        /// The variable names of the command about to run.
        env_keys: Vec<String>,
        /// The approved hash.
        expected_env_hash: Option<String>,
        /// The hash of the command about to run.
        actual_env_hash: Option<String>,
    },
    /// Variables are set, but none was approved.
    #[error("approval id missing env binding for requested env overrides")]
    EnvUnbound {
        /// The variable names of the command about to run.
        env_keys: Vec<String>,
    },
    /// The approved request has no binding.
    #[error("approval id does not match request")]
    Unbound {
        /// The variable names of the command about to run.
        env_keys: Vec<String>,
    },
    /// Arguments, directory, agent or session differ.
    #[error("approval id does not match request")]
    Request,
}

impl Mismatch {
    /// Returns OpenClaw's error code.
    pub fn code(&self) -> &'static str {
        match self {
            Mismatch::Request | Mismatch::Unbound { .. } => "APPROVAL_REQUEST_MISMATCH",
            Mismatch::EnvUnbound { .. } => "APPROVAL_ENV_BINDING_MISSING",
            Mismatch::Env { .. } => "APPROVAL_ENV_MISMATCH",
        }
    }

    /// Returns the response to the request for the run `run_id`, as OpenClaw's nodes send it.
    pub fn answer(&self, run_id: &str) -> Value {
        let mut details = match self {
            Mismatch::Request => json!({}),
            Mismatch::Unbound { env_keys } | Mismatch::EnvUnbound { env_keys } => {
                json!({ "envKeys": env_keys })
            }
            Mismatch::Env { env_keys, expected_env_hash, actual_env_hash } => json!({
                "envKeys": env_keys,
                "expectedEnvHash": expected_env_hash,
                "actualEnvHash": actual_env_hash,
            }),
        };
        details["code"] = self.code().into();
        details["runId"] = run_id.into();
        json!({ "ok": false, "message": self.to_string(), "details": details })
    }
}
