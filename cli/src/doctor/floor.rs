//! What would be enforced here: the tiers, and the Landlock domain of a tree started now.

use guard_policy::text::shown;
use guard_policy::{Ask, Policy, Security};
use guard_shim::landlock::LandlockStatus;
use guard_supervisor::config::options::Options;
use guard_supervisor::landlock::{BuiltDomain, Names, Use};

use super::finding::Findings;

/// Reports what a guarded command would get.
pub fn check(options: &Options, policy: Option<&Policy>, findings: &mut Findings) {
    if options.observe {
        return findings.warning(
            "tiers",
            "--observe: nothing would be blocked",
            "leave --observe out to enforce the policy",
        );
    }
    let Some(policy) = policy else {
        return findings.note("tiers", "unknown, because the policy has errors");
    };
    programs(policy, findings);
    let made = match BuiltDomain::build(policy, &options.tiers, Use::Entered) {
        Ok(made) => made,
        Err(why) => return findings.problem("floor", format!("it cannot be built: {why}"), ""),
    };
    findings
        .ok("tiers", format!("{}: a held call acts on the file that the guard judged", made.plan.tiers()));
    slower(options, policy, &made, findings);
    let text = made.describe();
    match (&made.status, options.require_floor) {
        (LandlockStatus::Full, _) => findings.ok("floor", text),
        (_, true) => findings.problem(
            "floor",
            format!("{text}, and --require-floor was given"),
            "use Linux 6.12 or newer with Landlock, or leave --require-floor out",
        ),
        (LandlockStatus::Partial { .. }, _) => findings.warning("floor", text, "use Linux 6.12 or newer"),
        (LandlockStatus::None, _) => findings.warning(
            "floor",
            format!(
                "{text}: the broker decides every call, and nothing stops what it lets through by mistake"
            ),
            "use a kernel with Landlock (Linux 6.12 or newer)",
        ),
    }
}

/// Reports the program policy in one line.
fn programs(policy: &Policy, findings: &mut Findings) {
    let (security, ask) = (policy.security(), policy.ask());
    let text = format!("exec.security is {}, exec.ask is {}", security.as_str(), ask.as_str());
    if security == Security::Full && ask == Ask::Off {
        findings.note("programs", format!("{text}: every program may start whose file has x in the policy"));
    } else {
        findings.ok("programs", text);
    }
}

/// Reports why calls are intercepted that another policy could leave to the kernel.
fn slower(options: &Options, policy: &Policy, made: &BuiltDomain, findings: &mut Findings) {
    let untrapped = made.plan.untrapped();
    if (untrapped.reads && untrapped.writes) || options.tiers.len() < 3 || made.status == LandlockStatus::None
    {
        return;
    }
    if let Some(key) = policy.read_bound_key() {
        let text = format!("the guard makes each read itself, because {key} bounds the size of what is read");
        findings.note("brokered-reads", text);
    } else if let Some((root, unreadable)) = made.plan.unreadable_root(policy) {
        let root = shown(&root);
        let why = match unreadable {
            Some(path) => format!("programs can start from {root}, and {} may not be read", shown(&path)),
            None => format!("programs can start from {root}, where not everything may be read"),
        };
        findings.note("brokered-reads", format!("the guard makes each read itself, because {why}"));
    }
    let names = Names::read();
    let classes = policy.tiers(&|directory: &[u8]| names.list(directory)).classes;
    let held = [
        ("held-reads", "reads", &classes.read, untrapped.reads),
        ("held-writes", "writes", &classes.create, untrapped.writes),
    ];
    for (name, what, exactness, _) in held.into_iter().filter(|(.., is_untrapped)| !is_untrapped) {
        let why = exactness.reason().unwrap_or("the floor does not cover all of them");
        findings.note(name, format!("{what} are held, because {why}"));
    }
}
