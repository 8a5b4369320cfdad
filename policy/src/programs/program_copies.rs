//! Programs that the policy withholds by name, so that a copy under another name can be recognised.
//!
//! The supervisor looks at the disk: if a program is about to run from where the tree writes, the supervisor compares it
//! with the files that [`Policy::withheld`] names, and calls [`decide_copy`].

use crate::paths::ceilings::Ceilings;
use crate::paths::expansion::show;
use crate::paths::glob::Glob;
use crate::{Exec, Grant, Outcome, Policy, Request, Source, Verdict, decide};

/// A pattern of a denial or a rule for programs that may not start or are asked about: one file, or files of
/// one directory.
#[derive(Clone, Debug)]
pub struct WithheldProgram(Glob);

impl WithheldProgram {
    /// Accepts a pattern whose wildcards, if any, are in its last component and do not leave it.
    fn from_glob(glob: &Glob) -> Option<WithheldProgram> {
        let is_near = !glob.is_deep() && !glob.has_slash_behind_wildcard();
        (is_near && glob.literal().contains(&b'/')).then(|| WithheldProgram(glob.clone()))
    }

    /// Returns the file, if there is no wildcard.
    pub fn file(&self) -> Option<&[u8]> {
        self.0.is_literal().then(|| self.0.literal())
    }

    /// Returns the directory of the files; empty for `/`.
    pub fn directory(&self) -> &[u8] {
        let literal = self.0.literal();
        &literal[..literal.iter().rposition(|byte| *byte == b'/').unwrap_or(0)]
    }

    /// Returns whether it names the file at this path.
    pub fn names(&self, path: &[u8]) -> bool {
        self.0.matches(path)
    }
}

impl Policy {
    /// Returns the patterns for programs that may not start without asking. Leaves out files that the guard itself
    /// denies, which are secrets, and files that the tree may write: the tree chooses the contents of those.
    pub fn withheld(&self) -> Vec<WithheldProgram> {
        let of_projects = self.map.ceilings().iter().flat_map(Ceilings::entries);
        let named = self.map.denies().iter().chain(self.map.rules()).chain(of_projects).filter(|entry| {
            entry.reason.source != Source::Builtin
                && entry.rights.x != Grant::Yes
                && entry.rights.w != Grant::Yes
        });
        named.filter_map(|entry| WithheldProgram::from_glob(&entry.glob)).collect()
    }

    /// Returns true when neither starting nor writing the program at this real path is allowed without
    /// asking.
    pub fn withholds(&self, path: &[u8]) -> bool {
        let rights = self.rights(path);
        rights.x != Grant::Yes && rights.w != Grant::Yes
    }
}

/// Decides about a program with the same contents as the one at the real path `original`: as if the original were to
/// start, unless the policy is stricter about the program itself.
pub fn decide_copy<'p>(policy: &'p Policy, exec: &Exec<'_>, original: &[u8]) -> Verdict<'p> {
    let own = decide(policy, &Request::Exec(*exec));
    let named = decide(policy, &Request::Exec(Exec { path: original, ..*exec }));
    let what = match named.outcome {
        _ if named.outcome > own.outcome => return own,
        Outcome::Allow => return own,
        Outcome::Deny => "may not start",
        Outcome::Ask => "is asked for",
    };
    let reason = named.reason.about(&format!("copy of {}", show(original)), &format!(", which {what}"));
    Verdict { outcome: named.outcome, reason }
}
