//! What is unusual about a call, for the human who is asked. It decides nothing.

use guard_approvals::{Exec, Subject};
use guard_policy::Policy;
use guard_policy::analysis::risks;

/// Returns one remark for each thing that a human should notice.
pub fn unusual(policy: &Policy, subject: &Subject) -> Vec<String> {
    match subject {
        Subject::Exec(exec) => {
            let program = exec.script.as_ref().map_or(&exec.executable.path, |script| &script.path);
            let mut remarks = risks(program, &exec.argv);
            remarks.extend(changeable(policy, exec));
            remarks.extend(outside_workspace(policy, &exec.cwd));
            remarks
        }
        Subject::File { path, .. } => outside_workspace(policy, path).into_iter().collect(),
        Subject::Host(_) => Vec::new(),
    }
}

/// A program that the tree may have written. A script is shown by its path, and its content is bound.
fn changeable(policy: &Policy, exec: &Exec) -> Option<String> {
    policy
        .writable_unasked(&exec.executable.path)
        .then(|| "the command could have written the program".to_owned())
}

fn outside_workspace(policy: &Policy, path: &[u8]) -> Option<String> {
    let workspace = policy.workspace().filter(|_| !policy.is_in_workspace(path))?;
    Some(format!("outside the workspace {}", String::from_utf8_lossy(workspace)))
}
