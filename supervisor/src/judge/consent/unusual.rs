//! What is unusual about a call, for the human who is asked. It decides nothing.

use guard_approvals::{Exec, Subject};
use guard_policy::Policy;
use guard_policy::analysis::risks;

use crate::config::known_programs::KnownPrograms;

/// Returns one remark for each thing that a human should notice.
pub fn unusual(policy: &Policy, known: &KnownPrograms, subject: &Subject) -> Vec<String> {
    match subject {
        Subject::Exec(exec) => {
            let program = program(exec);
            let mut remarks = risks(program, &exec.argv);
            remarks.extend(known.is_first(program).then(|| "the first time in this project".to_owned()));
            remarks.extend(changeable(policy, exec));
            remarks.extend(outside_workspace(policy, &exec.cwd));
            remarks
        }
        Subject::File { path, .. } => outside_workspace(policy, path).into_iter().collect(),
        Subject::Host(_) => Vec::new(),
    }
}

/// What a human takes for the program: the script, if there is one.
pub fn program(exec: &Exec) -> &[u8] {
    exec.script.as_ref().map_or(&exec.executable.path, |script| &script.path)
}

/// Returns a remark if the tree may have written the program. A script is shown by its path, and its content is bound.
fn changeable(policy: &Policy, exec: &Exec) -> Option<String> {
    policy
        .writable_unasked(&exec.executable.path)
        .then(|| "the command could have written the program".to_owned())
}

fn outside_workspace(policy: &Policy, path: &[u8]) -> Option<String> {
    let workspace = policy.workspace().filter(|_| !policy.is_in_workspace(path))?;
    Some(format!("outside the workspace {}", String::from_utf8_lossy(workspace)))
}
