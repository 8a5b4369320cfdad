//! Compiles the policy in force again when one of its paths leads elsewhere.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::text::shown;

use super::{PolicyReader, first};
use crate::config::SetupError;
use crate::panics::caught;

impl PolicyReader {
    /// Compiles the policy in force again if a path of it leads elsewhere since it was compiled.
    pub(super) fn follow(&mut self) {
        let Some(elsewhere) = self.source.followed.take_due() else { return };
        let stores = self.source.stores.clone();
        let error = match caught(|| self.apply(None, Some(stores), Some(&elsewhere))) {
            Ok(Ok(())) => {
                self.unfollowed = None;
                return;
            }
            Ok(Err(error)) => {
                // The tree may have brought that about for a moment, to keep the policy from following.
                if may_pass(&error) {
                    self.source.followed.put_back(elsewhere.clone());
                }
                first(&error)
            }
            Err(fault) => fault.to_string(),
        };
        self.refuse_to_follow(&elsewhere, &error);
    }

    /// Tells once of a directory that could not be searched, so that its names count as before.
    pub(super) fn tell_as_before(&mut self, directory: Option<&Path>) {
        if let Some(directory) = directory.filter(|directory| self.as_before.as_deref() != Some(directory)) {
            let path = shown(directory.as_os_str().as_bytes());
            let line =
                format!("openclaw-guard: {path} cannot be searched: names in it lead where they led before");
            self.reporter.notice(line);
        }
        self.as_before = directory.map(Path::to_owned);
    }

    /// Reports each problem once, however often the policy is compiled again.
    fn refuse_to_follow(&mut self, elsewhere: &Path, error: &str) {
        let path = shown(elsewhere.as_os_str().as_bytes());
        let problem = format!("{path} leads elsewhere now, and the policy cannot follow: {error}");
        if self.unfollowed.as_ref() != Some(&problem) {
            self.refuse(&problem, elsewhere);
            self.unfollowed = Some(problem);
        }
    }
}

/// Returns the line for a policy that follows.
pub(super) fn followed(elsewhere: &Path) -> String {
    let path = shown(elsewhere.as_os_str().as_bytes());
    format!("openclaw-guard: {path} leads elsewhere now; the policy was compiled again and is in force")
}

/// Whether the same policy may compile a moment later.
fn may_pass(error: &SetupError) -> bool {
    !matches!(error, SetupError::TakesFromKernel | SetupError::Invalid(_) | SetupError::NotText { .. })
}
