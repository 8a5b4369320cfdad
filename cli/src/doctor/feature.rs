//! What the kernel offers or lacks, as a finding.

use guard_supervisor::kernel::probe::Probed;
use rustix::io::Errno;

use super::finding::Findings;

/// What is said of the kernel's features inside of a guard.
pub const INSIDE: &str = "not told inside of a guard, whose filter answers for the kernel";

/// What stands above this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Above {
    /// No guard.
    Nothing,
    /// A guard, whose filter answers for the kernel.
    Guard,
}

/// Something that the guard does not do without.
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

/// What to do where the kernel says no.
pub fn lacking(error: Errno, since: &str) -> String {
    match error {
        Errno::PERM | Errno::ACCESS => "start it where no container or sandbox refuses that \
            (docker: --security-opt seccomp=unconfined, or a profile that allows it)"
            .to_owned(),
        _ => format!("use Linux {since} or newer, and a container or sandbox that does not hide it"),
    }
}
