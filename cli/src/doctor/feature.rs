//! Findings about the kernel's features.

use guard_supervisor::kernel::probe::Probed;
use rustix::io::Errno;

use super::finding::Findings;

/// The text for a feature that cannot be tested inside a guard.
pub const INSIDE: &str = "not checked inside a guard, whose filter answers in place of the kernel";

/// Whether a guard supervises this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Above {
    /// No guard.
    Nothing,
    /// A guard, whose filter answers for the kernel.
    Guard,
}

/// Reports a feature that the guard requires.
pub fn feature(
    findings: &mut Findings,
    above: Above,
    name: &'static str,
    probed: Probed,
    since: &'static str,
    what: &str,
) {
    match probed {
        Ok(()) => findings.ok(name, what),
        Err(_) if above == Above::Guard => findings.note(name, INSIDE),
        Err(error) => {
            let text = format!("missing: {what}; the kernel says: {error}");
            findings.problem(name, text, lacking(error, since));
        }
    }
}

/// The remedy for a missing feature, by the error.
pub fn lacking(error: Errno, since: &str) -> String {
    match error {
        Errno::PERM | Errno::ACCESS => "start it where no container or sandbox refuses that \
            (docker: --security-opt seccomp=unconfined, or a profile that allows it)"
            .to_owned(),
        _ => format!("use Linux {since} or newer, and a container or sandbox that does not hide it"),
    }
}
