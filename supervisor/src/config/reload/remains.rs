//! What stays as it was at the start when another policy comes into force.

use guard_policy::Policy;
use guard_policy::text::shown;

use crate::judge::guard::Guard;

/// Returns a line for each part of a new policy that cannot apply to a running tree.
pub(super) fn remains(guard: &Guard, policy: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    // A root that the floor has only in part is no news if the policy had it before.
    let is_known = |root: &[u8]| guard.floor.starts(root) || guard.policy().within_exec_roots(root);
    let outside: Vec<String> = policy
        .exec_roots()
        .iter()
        .filter(|root| !is_known(root))
        .map(|root| format!("\"{}\"", shown(root)))
        .collect();
    if !outside.is_empty() {
        let roots = outside.join(", ");
        lines.push(format!("exec.roots: programs in {roots} can start only after a restart of the guard"));
    }
    if guard.floor.is_less_than(policy) {
        let line = "permissions.filesystem: new rights for calls that are not held (`openclaw-guard policy show --tiers`) \
                    count only after a restart of the guard";
        lines.push(line.to_owned());
    }
    if policy.tcp_ports() != guard.policy().tcp_ports() && guard.floor.roots.is_some() {
        let line = "network.connect.ports: in force; the Landlock floor keeps the ports of the start until a restart of the guard";
        lines.push(line.to_owned());
    }
    if policy.allow_ptrace() != guard.policy().allow_ptrace() {
        lines.push("exec.allowPtrace: counts in full only after a restart of the guard".to_owned());
    }
    if policy.has_web_rules() && !guard.policy().has_web_rules() && guard.session.web.is_none() {
        let line =
            "network.web: there is no proxy until a restart of the guard, so nothing leads to other hosts";
        lines.push(line.to_owned());
    }
    if policy.limits() != guard.policy().limits() {
        lines.push("limits: count only after a restart of the guard".to_owned());
    }
    if policy.audit() != guard.policy().audit() {
        lines.push("audit: counts only after a restart of the guard".to_owned());
    }
    if !policy.hands_in_the_same(guard.policy()) {
        lines.push(
            "exec.environment, exec.pathPrepend: count for commands started after a restart".to_owned(),
        );
    }
    lines
}
