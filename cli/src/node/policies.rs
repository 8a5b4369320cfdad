//! Keeps the policies of recent calls, because compiling one takes longer than starting most commands.
//!
//! A call gets the policy of an earlier call with the same settings in the same directory, for a few seconds at
//! most, and only while the files that make up the policy stay unchanged. The node judges a command's text by
//! that policy. The run's guard compiles its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guard_openclaw::approvals_store::Stores;
use guard_policy::{Ask, Policy, Security};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError, Stamps};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// How long a policy is used. It may go out of date unnoticed: links on the disk may lead elsewhere, for
/// instance.
const MAX_AGE: Duration = Duration::from_secs(5);
/// The maximum number of kept policies.
const MAX_KEPT: usize = 16;

/// The policies of recent calls.
#[derive(Default)]
pub struct RecentPolicies(Mutex<HashMap<Settings, Arc<CompiledPolicy>>>);

/// What a call may choose.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Settings {
    agent: String,
    security: Option<Security>,
    ask: Option<Ask>,
    directory: PathBuf,
}

/// A policy, and what it was compiled from.
pub struct CompiledPolicy {
    /// The policy that a guard in this directory would have.
    pub policy: Policy,
    /// The paths of this guard.
    pub paths: Paths,
    /// The SHA-256 of guard.json; without that file, the SHA-256 of an empty text.
    pub document: [u8; 32],
    stamps: Stamps,
}

impl RecentPolicies {
    /// Returns the policy in force for a guard with these options in this directory.
    ///
    /// # Errors
    /// If there is no valid policy.
    pub fn policy(&self, options: &Options, directory: &Path) -> Result<Arc<CompiledPolicy>, SetupError> {
        let settings = Settings {
            agent: options.agent.clone(),
            security: options.exec_security,
            ask: options.exec_ask,
            directory: directory.canonicalize().map_err(SetupError::NoDirectory)?,
        };
        let kept = self.0.lock().get(&settings).cloned();
        if let Some(kept) = kept.filter(|kept| kept.is_current()) {
            return Ok(kept);
        }
        let compiled = Arc::new(CompiledPolicy::read(options, &settings.directory)?);
        let mut all = self.0.lock();
        all.retain(|_, kept| kept.stamps.age() < MAX_AGE);
        // A link in the place of the directory may have led elsewhere meanwhile.
        if all.len() < MAX_KEPT && compiled.paths.start == settings.directory {
            all.insert(settings, Arc::clone(&compiled));
        }
        Ok(compiled)
    }
}

impl CompiledPolicy {
    fn read(options: &Options, directory: &Path) -> Result<CompiledPolicy, SetupError> {
        let paths = Paths::find_at(options, directory)?;
        // The stamps are taken before the files are read, so that a change during the read counts as a change.
        let stamps = Stamps::read([paths.sources(), paths.project_sources()].concat());
        let text = config::read(&paths, |path| std::fs::read(path))?;
        let stores = Stores::load(&paths.state_directory);
        let policy = config::compile(options, &paths, Disk::Used, text.as_deref(), &stores)?;
        let document = Sha256::digest(text.unwrap_or_default()).into();
        Ok(CompiledPolicy { policy, paths, document, stamps })
    }

    fn is_current(&self) -> bool {
        self.stamps.age() < MAX_AGE && self.stamps.are_current()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn no_more_are_kept_than_are_used() {
        let home = tempfile::tempdir().unwrap();
        let words = ["openclaw-guard", "--home", home.path().to_str().unwrap()];
        let options = Cli::try_parse_from(words).unwrap().options;
        let all = RecentPolicies::default();
        for number in 0..MAX_KEPT + 2 {
            let options = Options { agent: number.to_string(), ..options.clone() };
            all.policy(&options, home.path()).unwrap();
        }
        assert_eq!(all.0.lock().len(), MAX_KEPT);
    }

    #[test]
    fn a_policy_is_used_again_until_a_file_changes() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        fs::create_dir_all(home.join(".openclaw/guard")).unwrap();
        fs::create_dir_all(home.join("project/.openclaw")).unwrap();
        let guard = home.join("guard.json");
        fs::write(&guard, r#"{"version": 1}"#).unwrap();
        let words = ["openclaw-guard", "--home", home.to_str().unwrap(), "--policy", guard.to_str().unwrap()];
        let options = Cli::try_parse_from(words).unwrap().options;
        let all = RecentPolicies::default();
        let project = home.join("project");
        let policy = |options: &Options| all.policy(options, &project).unwrap();
        let mut before = policy(&options);
        assert!(Arc::ptr_eq(&before, &policy(&options)));
        let stricter = Options { exec_security: Some(Security::Deny), ..options.clone() };
        assert_eq!(policy(&stricter).policy.security(), Security::Deny);
        assert!(Arc::ptr_eq(&before, &policy(&options)));
        let state = before.paths.state_directory.clone();
        assert!(state.starts_with(&home), "it is not this test's");
        for (file, text) in [
            (guard.clone(), r#"{"version": 1, "exec": {"security": "deny"}}"#),
            (state.join("exec-approvals.json"), r#"{"version": 1}"#),
            (project.join(".openclaw/guard.json"), r#"{"version": 1}"#),
        ] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            let after = policy(&options);
            assert!(!Arc::ptr_eq(&before, &after), "{}", file.display());
            before = after;
        }
        assert_eq!(before.policy.security(), Security::Deny);
        fs::write(&guard, "{").unwrap();
        assert!(all.policy(&options, &project).is_err());
    }
}
