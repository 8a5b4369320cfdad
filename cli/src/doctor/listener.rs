//! Whether a seccomp listener is available: the kernel allows only one above a process (seccomp_unotify(2)).

use std::fs;
use std::path::Path;

use guard_openclaw::peer::nested_guard::guard_above;
use guard_supervisor::kernel::probe::{self, Listening, NoListener};
use rustix::io::Errno;

use super::feature::{Above, feature, lacking};
use super::finding::Findings;

/// Whether a guard is above this process, by its filters and its ancestors.
pub fn above() -> Above {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_filtered = Filters::of_this().is_some_and(|filters| filters.mode == FILTERED);
    if is_filtered && guard_above(own).is_some() { Above::Guard } else { Above::Nothing }
}

/// `SECCOMP_MODE_FILTER` (linux/seccomp.h).
const FILTERED: u32 = 2;

/// The seccomp fields of a process's `/proc/PID/status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filters {
    pub no_new_privs: bool,
    /// 0 none, 1 strict, 2 filters.
    pub mode: u32,
    /// The number of filters (Linux 5.9).
    pub count: Option<u32>,
}

impl Filters {
    /// Returns the fields of this process; `None` when the file cannot be read.
    pub fn of_this() -> Option<Filters> {
        Filters::of_process("self")
    }

    /// As [`Filters::of_this`], for the process with this name in /proc.
    pub fn of_process(pid: &str) -> Option<Filters> {
        Filters::read(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
    }

    fn read(status: &str) -> Option<Filters> {
        let field = |name: &str| {
            let mut lines = status.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t")?.parse::<u32>().ok())
        };
        Some(Filters {
            no_new_privs: field("NoNewPrivs")? == 1,
            mode: field("Seccomp")?,
            count: field("Seccomp_filters"),
        })
    }
}

/// Reports whether a listener can be installed, and its features.
pub fn look(above: Above, findings: &mut Findings) {
    let Listening { adds, sends, wakes } = match probe::listener() {
        Ok(listening) => {
            findings.ok("listener", "the guard can receive held calls: no process above has a listener");
            listening
        }
        Err(NoListener::Refused(Errno::BUSY)) => {
            let (who, fix) = holder(above, Path::new("/"));
            let text = format!("{who}, and the kernel allows only one: no guard can start here");
            return findings.problem("listener", text, fix);
        }
        Err(NoListener::Refused(error)) => {
            let text = format!("no listener can be created: {error}");
            return findings.problem("listener", text, lacking(error, "5.9"));
        }
        Err(NoListener::NoChild(error)) => {
            return findings
                .note("listener", format!("not tried, because no process could be started: {error}"));
        }
    };
    feature(findings, above, "addfd", adds, "5.9", "a file can be passed to a held call");
    feature(findings, above, "addfd-send", sends, "5.14", "the file that is passed can be the call's result");
    match wakes {
        Ok(()) => findings.ok("wake-up", "an answer wakes the caller on the same processor"),
        Err(_) => findings.warning(
            "wake-up",
            "an answer wakes the caller from another processor: everything works, but held calls take longer",
            "use Linux 6.6 or newer",
        ),
    }
}

/// Who probably has the listener, and what to do. `root` is the root of the system's files.
fn holder(above: Above, root: &Path) -> (&'static str, &'static str) {
    if above == Above::Guard {
        return ("a guard above has a listener", "start it outside of that guard");
    }
    let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    if release.to_ascii_lowercase().contains("microsoft") {
        // github.com/microsoft/WSL issue 9548
        let fix = "set networkingMode=nat under [wsl2] in .wslconfig, then: wsl --shutdown";
        return ("WSL2 has a listener of its own, as it does with mirrored networking", fix);
    }
    let is_container = [".dockerenv", "run/.containerenv"].iter().any(|name| root.join(name).exists());
    if is_container {
        let fix = "take SCMP_ACT_NOTIFY out of the container's seccomp profile, or start it outside";
        return ("the container's runtime has a listener above this process", fix);
    }
    let fix = "start it outside the guard, sandbox or container that filters this process";
    ("another program has a listener above this process", fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_the_seccomp_listener_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert!(holder(Above::Guard, root).0.contains("a guard above"));
        assert!(holder(Above::Nothing, root).0.contains("another program"));
        fs::create_dir_all(root.join("run")).unwrap();
        fs::write(root.join("run/.containerenv"), "").unwrap();
        assert!(holder(Above::Nothing, root).0.contains("container"));
        fs::create_dir_all(root.join("proc/sys/kernel")).unwrap();
        fs::write(root.join("proc/sys/kernel/osrelease"), "5.15.167.4-microsoft-standard-WSL2\n").unwrap();
        assert!(holder(Above::Nothing, root).0.contains("WSL2"));
    }

    #[test]
    fn the_seccomp_state_of_this_process_is_read() {
        let status = "Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";
        let filters = Filters { no_new_privs: true, mode: 2, count: Some(3) };
        assert_eq!(Filters::read(status), Some(filters));
        assert_eq!(Filters::read("NoNewPrivs:\t0\nSeccomp:\t0\n").unwrap().count, None);
        assert_eq!(Filters::read("Name:\tSeccomp:\t2\n"), None);
        assert!(Filters::of_this().is_some());
    }
}
