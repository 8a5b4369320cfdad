//! Programs that the policy withholds by name, so that what holds the same can be recognised under another one.
//!
//! Who looks at the disk is the supervisor: it compares what is about to run from where the tree writes with the files
//! that [`Policy::withheld`] names, and asks [`decide_copy`].

use crate::paths::glob::Glob;
use crate::paths::pattern::show;
use crate::{Exec, Grant, Outcome, Policy, Request, Source, Verdict, decide};

/// A pattern of a denial or a rule that names programs which may not start, or are asked for: one file, or files of one
/// directory.
#[derive(Clone, Debug)]
pub struct WithheldProgram(Glob);

impl WithheldProgram {
    /// Of a pattern whose wildcards, if any, are in its last component and stay there.
    fn from_glob(glob: &Glob) -> Option<WithheldProgram> {
        let is_near = !glob.is_deep() && !glob.has_slash_behind_wildcard();
        (is_near && glob.literal().contains(&b'/')).then(|| WithheldProgram(glob.clone()))
    }

    /// The file, where there is no wildcard.
    pub fn file(&self) -> Option<&[u8]> {
        self.0.is_literal().then(|| self.0.literal())
    }

    /// The directory in which the files lie; empty for `/`.
    pub fn directory(&self) -> &[u8] {
        let literal = self.0.literal();
        &literal[..literal.iter().rposition(|byte| *byte == b'/').unwrap_or(0)]
    }

    /// Whether it names the file at this path.
    pub fn names(&self, path: &[u8]) -> bool {
        self.0.matches(path)
    }
}

impl Policy {
    /// The patterns that name programs which may not just start. None of what the guard itself denies: those are secrets.
    /// None that lets the tree write what it names: that would be known by what the tree makes of it.
    pub fn withheld(&self) -> Vec<WithheldProgram> {
        let named = self.map.denies.iter().chain(&self.map.rules).filter(|entry| {
            entry.reason.source != Source::Builtin
                && entry.rights.x != Grant::Yes
                && entry.rights.w != Grant::Yes
        });
        named.filter_map(|entry| WithheldProgram::from_glob(&entry.glob)).collect()
    }

    /// Whether the program at this real path may not just start, and the tree cannot just write it.
    pub fn withholds(&self, path: &[u8]) -> bool {
        let rights = self.rights(path);
        rights.x != Grant::Yes && rights.w != Grant::Yes
    }
}

/// Answers for a program that holds what the one at the real path `original` holds: as if that were to start, unless the
/// policy says less of the program itself.
pub fn decide_copy<'p>(policy: &'p Policy, exec: &Exec<'_>, original: &[u8]) -> Verdict<'p> {
    let own = decide(policy, &Request::Exec(*exec));
    let named = decide(policy, &Request::Exec(Exec { path: original, ..*exec }));
    let what = match named.outcome {
        _ if named.outcome > own.outcome => return own,
        Outcome::Allow => return own,
        Outcome::Deny => "may not start",
        Outcome::Ask => "is asked for",
    };
    let because = named.because.about(&format!("copy of {}", show(original)), &format!(", which {what}"));
    Verdict { outcome: named.outcome, because }
}
