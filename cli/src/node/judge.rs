//! Judges a command before it runs, as `check -- 'text'` does.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_openclaw::command_text::{self, Evaluation};
use guard_openclaw::node::{Denied, InvokeError, NodeApprovals, PolicySnapshot, Tightened};
use guard_policy::analysis::quoted;
use guard_policy::environment::{Variable, for_shell, with_overrides};
use guard_policy::{Access, Outcome, Policy, Request, Security};
use guard_supervisor::config::environment;
use guard_supervisor::config::options::Options;
use sha2::{Digest, Sha256};

use super::host::NodeHost;
use super::policies::CompiledPolicy;
use super::shell_code;
use crate::check::command::evaluate;

/// The policy for one call.
pub struct CallPolicy {
    /// The options of the guard that runs the command.
    pub options: Options,
    compiled: Arc<CompiledPolicy>,
    /// A digest by which a changed policy is recognised.
    pub digest: String,
}

/// Whom a call is for.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The agent, if one is named.
    pub agent: Option<&'a str>,
    /// OpenClaw's key of the session.
    pub session_key: Option<&'a str>,
    /// Stricter settings for this call.
    pub tightened: Tightened,
}

/// What the policy says of a command.
pub enum TextVerdict {
    /// The command may run.
    Runs,
    /// Somebody has to approve the command.
    Asks,
    /// The command may not run.
    No(Denied),
}

impl CallPolicy {
    /// Reads the policy in force for a call that runs in this directory.
    ///
    /// # Errors
    /// If there is no valid policy. Nothing runs then.
    pub fn read(host: &NodeHost, caller: Caller<'_>, cwd: &Path) -> Result<CallPolicy, InvokeError> {
        let broken = |why: String| InvokeError::unavailable(format!("openclaw-guard: {why}"));
        let text = host.files.approvals().map_err(|error| broken(error.to_string()))?;
        let set = NodeApprovals::parse(text.clone()).map_err(|error| broken(error.to_string()))?;
        let agent = caller.agent.unwrap_or(guard_policy::store::MAIN);
        let securities = [host.options.exec_security, set.security(agent), caller.tightened.security];
        let asks = [host.options.exec_ask, set.ask(agent), caller.tightened.ask];
        let options = Options {
            agent: agent.to_owned(),
            agent_is_named: true,
            session_key: caller.session_key.map(str::to_owned),
            exec_security: securities.into_iter().flatten().reduce(Security::min_security),
            exec_ask: asks.into_iter().flatten().reduce(guard_policy::Ask::max_ask),
            // The gateway chooses directory and variables.
            untrusted_environment: true,
            ..host.options.clone()
        };
        let compiled = host.policies.policy(&options, cwd).map_err(|error| broken(error.to_string()))?;
        let digest = Sha256::new_with_prefix(compiled.document).chain_update(text.unwrap_or_default());
        let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(CallPolicy { options, compiled, digest })
    }

    /// The policy that the run's guard will find.
    pub fn policy(&self) -> &Policy {
        &self.compiled.policy
    }

    /// The settings that a plan depends on.
    pub fn snapshot(&self) -> PolicySnapshot {
        PolicySnapshot {
            security: self.policy().security().as_str().to_owned(),
            ask: self.policy().ask().as_str().to_owned(),
            ask_fallback: self.policy().ask_fallback().as_str().to_owned(),
            auto_allow_skills: false,
            allowlist_rules: Vec::new(),
        }
    }

    /// The variables of a command that sets those in `set`.
    ///
    /// # Errors
    /// If the command may not set one of them.
    pub fn environment<'e>(
        &self,
        argv: &[String],
        set: impl Iterator<Item = (&'e String, &'e String)>,
    ) -> Result<RunEnvironment, InvokeError> {
        let set: Vec<Variable> =
            set.map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes())).collect();
        let checked = with_overrides(Vec::new(), set.clone());
        let mut wrong = Vec::new();
        let blocked: Vec<_> = checked.blocked.iter().map(|rejected| rejected.name.as_str()).collect();
        let invalid: Vec<_> = checked.invalid.iter().map(|name| String::from_utf8_lossy(name)).collect();
        let is_nul = set.iter().any(|(_, value)| value.contains(&0));
        if !blocked.is_empty() {
            wrong.push(format!("blocked override keys: {}", blocked.join(", ")));
        }
        if !invalid.is_empty() || is_nul {
            wrong.push(format!("invalid non-portable override keys: {}", invalid.join(", ")));
        }
        if !wrong.is_empty() {
            let why = wrong.join("; ");
            let message = format!("SYSTEM_RUN_DENIED: environment override rejected ({why})");
            return Err(InvokeError::invalid(message));
        }
        let set = if is_shell(argv) { for_shell(checked.env) } else { checked.env };
        let own = std::env::vars_os().map(|(name, value)| {
            use std::os::unix::ffi::OsStringExt;
            (name.into_vec(), value.into_vec())
        });
        let given = with_overrides(own.collect(), set).env;
        let found =
            environment::filtered(given.clone(), self.policy(), &self.compiled.paths.state_directory).env;
        Ok(RunEnvironment { given, found })
    }

    /// Reads a command as text, like OpenClaw's node. `has_text` says whether the call has the command as text as
    /// well.
    pub fn evaluate(&self, argv: &[String], has_text: bool, cwd: &Path, env: &[Variable]) -> Evaluation {
        let text = shell_code::of_gateway(argv, has_text).map_or_else(|| quoted(argv), str::to_owned);
        evaluate(self.policy(), &text, cwd, &self.compiled.paths.home, Some(env))
    }

    /// Whether no run may read a file or load it as code under the policy.
    pub fn hides(&self, path: &Path) -> bool {
        let path = path.as_os_str().as_bytes();
        let outcome = |access| guard_policy::decide(self.policy(), &Request::File { path, access }).outcome;
        [Access::READ, Access::MAP].into_iter().all(|access| outcome(access) == Outcome::Deny)
    }

    /// Returns the verdict on a command, as text.
    pub fn verdict(&self, evaluation: &Evaluation, is_strict: bool) -> TextVerdict {
        if self.policy().security() == Security::Deny {
            return TextVerdict::No(Denied::Security);
        }
        let has_code = || {
            let mut risks = evaluation.segments.iter().flat_map(|segment| &segment.risks);
            risks.any(|risk| risk.name() == "inline-eval")
        };
        match command_text::verdicts(self.policy(), evaluation).whole.outcome {
            Outcome::Deny => TextVerdict::No(Denied::Miss),
            Outcome::Ask => TextVerdict::Asks,
            Outcome::Allow if is_strict && has_code() => TextVerdict::Asks,
            Outcome::Allow => TextVerdict::Runs,
        }
    }
}

/// The variables of a run.
pub struct RunEnvironment {
    /// The variables for the run's guard, which filters them.
    pub given: Vec<Variable>,
    /// What the command gets.
    pub found: Vec<Variable>,
}

/// Whether a shell interprets the command. Such a command gets fewer variables, as in OpenClaw.
fn is_shell(argv: &[String]) -> bool {
    const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "csh", "tcsh"];
    let name = argv.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    SHELLS.contains(&name)
}

/// The directory of a call. It need not exist.
pub fn directory(host: &NodeHost, named: Option<&str>) -> PathBuf {
    named.map_or_else(|| host.cwd.clone(), |cwd| host.cwd.join(cwd))
}
