//! Symbolic links on the paths that the operator names. A rule is for the real path. If a guarded program has
//! made the link, the real path may be another place than the operator means.

use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use guard_policy::text::shown;
use guard_supervisor::config::SetupError;

use super::context::EditContext;
use super::request::Led;
use crate::confirm::yes;

/// A link that a guarded program may have made, on a path of the command line.
#[derive(Debug, thiserror::Error)]
#[error(
    "nothing was written: {named} leads to {real} by the symbolic link {link}, which a guarded program may have made. \
     Name {real} if you mean it, or give --follow-links",
    named = shown(.named.as_os_str().as_bytes()),
    real = shown(.real.as_os_str().as_bytes()),
    link = shown(.link.as_os_str().as_bytes())
)]
pub struct DoubtfulLink {
    named: PathBuf,
    real: PathBuf,
    link: PathBuf,
}

/// What becomes of symbolic links that a guarded program may have made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTrust {
    /// The links are followed.
    Given,
    /// The operator is asked; without a terminal nothing is written.
    Doubted,
}

/// Asks about each link that a guarded program may have made: the rule would be for what the link leads to.
/// Returns the first link to which the operator does not say yes on a terminal.
///
/// # Errors
/// When the policy in force does not compile.
pub fn doubted(context: &EditContext, led: &[Led]) -> Result<Option<DoubtfulLink>, SetupError> {
    let policy = context.in_force()?;
    for Led { named, links, real } in led {
        let Some(link) = context.paths.link_of_tree(&policy, links) else { continue };
        let [from, to, by] = [named, real, &link].map(|path| shown(path.as_os_str().as_bytes()));
        let question = format!(
            "openclaw-guard: {from} leads to {to} by the symbolic link {by}, which a guarded program may have made.\n\
             Write the rule for {to}?"
        );
        let is_meant = io::stdin().is_terminal() && yes(&question) == Some(true);
        if !is_meant {
            return Ok(Some(DoubtfulLink { named: named.clone(), real: real.clone(), link }));
        }
    }
    Ok(None)
}
