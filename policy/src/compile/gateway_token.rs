//! The file that holds the gateway's token: a process that reads it can answer the guard's questions.

use super::builder::MapBuilder;
use crate::config::approvals::TokenFileError;
use crate::paths::expansion::{Expanded, Paths, expand_home, replaceable_link};
use crate::paths::path_rules::PathRules;
use crate::verdict::CompiledReason;
use crate::{Grant, Source};

const KEY: &str = "approvals.gateway.tokenFile";

/// `approvals.gateway.tokenFile`, denied whatever the rules of the document grant.
pub(crate) struct TokenFile<'d> {
    written: &'d str,
    expanded: Expanded,
}

impl<'d> TokenFile<'d> {
    pub(crate) fn new(written: &'d str, home: &[u8]) -> TokenFile<'d> {
        TokenFile { written, expanded: expand_home(written, home) }
    }

    /// Denies the file to the tree.
    pub(crate) fn deny(&self, builder: &mut MapBuilder<'_>) {
        let reason = CompiledReason {
            source: Source::Builtin,
            path: KEY.to_owned(),
            rule: format!("builtin deny \"{}\"", self.written),
            text: format!("\"{}\" is always denied: it holds the gateway's token", self.written),
        };
        builder.deny(&self.expanded, &reason);
    }

    /// Returns the file's real path, or why the file must not be opened.
    ///
    /// # Errors
    /// If the rules of the document open it.
    pub(crate) fn vetted_path(&self, map: &PathRules, paths: &Paths<'_>) -> Result<Vec<u8>, TokenFileError> {
        let without = map.without(|reason| reason.path == KEY);
        let written = [&self.expanded.literal, self.expanded.pattern.as_bytes()].concat();
        let real = self.expanded.resolved(paths, true);
        let real =
            real.map_or_else(|| written.clone(), |real| [&real.literal, real.pattern.as_bytes()].concat());
        for path in [&written, &real] {
            let rights = without.find(path).rights;
            for (grant, verb) in [(rights.w, "write"), (rights.r, "read")] {
                if grant == Grant::Yes {
                    return Err(TokenFileError::Granted { verb, path: path.clone() });
                }
            }
        }
        let is_the_trees = |path: &[u8]| without.find(path).is_the_trees();
        match replaceable_link(&written, paths, is_the_trees) {
            Some(link) => Err(TokenFileError::ReplaceableLink { link }),
            None => Ok(real),
        }
    }
}

/// Returns the refusal as a warning of the policy.
pub(crate) fn warning(path: Option<&Result<Vec<u8>, TokenFileError>>) -> Option<String> {
    path?.as_ref().err().map(|why| format!("{KEY}: is not used: {why}"))
}
