//! `${workspace}`: the directory to work in, so that one policy serves every project.
//!
//! The supervisor finds the directory at the start. This module says what the placeholder means in a policy. A pattern
//! that begins with `${workspace}` stands for that directory. `${above}`, the whole pattern of a rule, stands for each
//! directory above the workspace, without what is in it.

use super::expansion::{ABOVE, Bases, Expanded, expand, is_of_workspace};
use crate::{Permission, Rights};

/// What `${workspace}` stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workspace {
    /// The real path of the directory. `None` if no directory here may be one: then rules that name it grant nothing.
    pub root: Option<Vec<u8>>,
    /// Other real paths that the operator may mean. A denial holds there, too: an earlier guarded run cannot lift it by
    /// choosing another workspace.
    pub others: Vec<Vec<u8>>,
    /// A sentence, if the workspace is not the directory that the operator expects.
    pub note: Option<String>,
}

impl Workspace {
    /// The workspace at this path.
    pub fn at(root: impl Into<Vec<u8>>) -> Workspace {
        Workspace { root: Some(root.into()), ..Workspace::default() }
    }

    /// Returns a pattern of `deny` in the forms that it stands for.
    pub(crate) fn denials(&self, pattern: &str, home: &[u8]) -> Vec<Expanded> {
        if !is_of_workspace(pattern) {
            return vec![expand(pattern, home)];
        }
        let all = self.root.iter().chain(&self.others);
        all.map(|workspace| expand(pattern, Bases { home, workspace: Some(workspace) })).collect()
    }

    /// Returns the pattern of a rule in the forms that it stands for. A rule that grants nothing is a denial.
    pub(crate) fn rules(&self, pattern: &str, permission: Permission, home: &[u8]) -> Vec<Expanded> {
        if pattern == ABOVE {
            return self.above();
        }
        let mut forms = self.denials(pattern, home);
        if is_of_workspace(pattern) && permission.0 != Rights::NONE {
            forms.truncate(usize::from(self.root.is_some()));
        }
        forms
    }

    /// The directories above the workspace. `/` is left out, as by `init`.
    fn above(&self) -> Vec<Expanded> {
        let Some(root) = &self.root else { return Vec::new() };
        let ends = (1..root.len()).filter(|at| root[*at] == b'/');
        ends.map(|end| Expanded { literal: root[..end].to_vec(), pattern: String::new() }).collect()
    }
}

/// Returns whether a pattern means something else in another workspace.
pub(crate) fn names_workspace(pattern: &str) -> bool {
    pattern == ABOVE || is_of_workspace(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace {
        Workspace { others: vec![b"/h/p".to_vec()], ..Workspace::at(*b"/h/p/sub") }
    }

    fn shown(forms: Vec<Expanded>) -> Vec<String> {
        let text =
            |form: Expanded| String::from_utf8([&form.literal, form.pattern.as_bytes()].concat()).unwrap();
        forms.into_iter().map(text).collect()
    }

    #[test]
    fn only_what_takes_away_holds_in_other_directories() {
        let some = |permission| Permission::parse(permission).unwrap();
        let rules = |pattern, permission| shown(workspace().rules(pattern, some(permission), b"/h"));
        assert_eq!(rules("${workspace}/**", "rwx"), ["/h/p/sub/**"]);
        assert_eq!(rules("${workspace}/**", "??-"), ["/h/p/sub/**"]);
        assert_eq!(rules("${workspace}/x", "---"), ["/h/p/sub/x", "/h/p/x"]);
        assert_eq!(rules("~/x", "---"), ["/h/x"]);
        assert_eq!(shown(workspace().denials("${workspace}/x", b"/h")), ["/h/p/sub/x", "/h/p/x"]);
        assert_eq!(rules(ABOVE, "r--"), ["/h", "/h/p"]);
        let none = Workspace { root: None, ..workspace() };
        assert_eq!(shown(none.rules("${workspace}/**", some("r--"), b"/h")), [""; 0]);
        assert_eq!(shown(none.rules(ABOVE, some("r--"), b"/h")), [""; 0]);
        assert_eq!(shown(none.denials("${workspace}/x", b"/h")), ["/h/p/x"]);
    }
}
