//! What the kernel offers to this process, found by trying rather than by its version.

use std::fs;
use std::io;
use std::path::Path;

use guard_shim::landlock;
use guard_shim::table::Architecture;
use guard_supervisor::kernel::probe::{self, Others};
use guard_supervisor::kernel::trace;
use rustix::io::Errno;

use super::feature::{Above, INSIDE, feature, lacking};
use super::finding::Findings;
use super::listener::{self, Filters};
use super::real_time;

/// Runs all checks.
pub fn look(above: Above, findings: &mut Findings) {
    system(findings);
    proc(findings);
    own(above, findings);
    feature(
        findings,
        above,
        "notify",
        probe::action(libc::SECCOMP_RET_USER_NOTIF),
        "5.0",
        "calls can be held (seccomp user notification)",
    );
    feature(
        findings,
        above,
        "notify-sizes",
        probe::sizes(),
        "5.0",
        "the kernel describes held calls in the form that the guard expects",
    );
    let killable = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    feature(
        findings,
        above,
        "wait-killable",
        probe::flags(killable),
        "5.19",
        "a signal does not restart a held call",
    );
    listener::look(above, findings);
    real_time::check(above, probe::real_time(), findings);
    floor(landlock::version(), above, findings);
    others(above, findings);
    feature(findings, above, "openat2", probe::openat2(), "5.6", "paths are opened without following links");
    match probe::mapping() {
        Err(_) if above == Above::Guard => findings.note("procmap-query", INSIDE),
        Ok(()) => findings.ok("procmap-query", "a program's loader is found with one call"),
        Err(Errno::NOTTY) => findings.warning(
            "procmap-query",
            "a program's loader is searched in the text of /proc/PID/maps: everything works, but starts take longer",
            "use Linux 6.11 or newer",
        ),
        Err(error) => {
            findings.problem(
                "procmap-query",
                format!("mappings cannot be queried: {error}"),
                lacking(error, "6.11"),
            );
        }
    }
    yama(trace::yama(), findings);
    modules(Path::new("/sys/kernel/security/lsm"), findings);
    findings.ok("user-namespaces", "not needed");
}

fn system(findings: &mut Findings) {
    let system = rustix::system::uname();
    let [release, machine] = [system.release(), system.machine()].map(|text| text.to_string_lossy());
    findings.ok("release", format!("Linux {release}; doctor tries each feature below, whatever the version"));
    match Architecture::from_name(&machine) {
        Some(Architecture::THIS) => findings.ok("machine", Architecture::THIS.as_str()),
        _ => findings.problem(
            "machine",
            format!("{machine}: this program is built for {}", Architecture::THIS.as_str()),
            "take the program that is built for this processor",
        ),
    }
}

/// The guard reads everything about a caller from /proc.
fn proc(findings: &mut Findings) {
    let is_proc = rustix::fs::statfs("/proc").is_ok_and(|found| found.f_type == rustix::fs::PROC_SUPER_MAGIC);
    if !is_proc {
        return findings.problem("proc", "/proc is not mounted", "mount -t proc proc /proc");
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    match hidden(&mounts) {
        None => findings.ok("proc", "/proc is mounted"),
        Some(how) => findings.note(
            "proc",
            format!("/proc is mounted with hidepid={how}: the guard sees the processes of this user"),
        ),
    }
}

/// The mount option by which /proc hides processes, if any (proc(5)). The last mount there counts.
fn hidden(mounts: &str) -> Option<&str> {
    let is_proc = |line: &&str| line.split(' ').nth(4) == Some("/proc");
    let line = mounts.lines().rfind(is_proc)?;
    let options = line.split_once(" - ")?.1.split(' ').nth(2)?;
    let how = options.split(',').find_map(|option| option.strip_prefix("hidepid="))?;
    (how != "0" && how != "off").then_some(how)
}

fn own(above: Above, findings: &mut Findings) {
    let Some(Filters { no_new_privs, mode, count }) = Filters::of_this() else {
        return findings.note(
            "own",
            "/proc/self/status cannot be read: it is unknown which filters restrict this process",
        );
    };
    let privileges = if no_new_privs { "no_new_privs is set" } else { "no_new_privs is not set" };
    let filters = count.map_or_else(|| "filters".to_owned(), |count| format!("{count} of them"));
    match (above, mode) {
        (Above::Guard, _) => findings.note(
            "own",
            format!("doctor runs inside a guard ({privileges}): the lines below describe that guard"),
        ),
        (_, 0) => findings.ok("own", format!("no seccomp filter restricts this process; {privileges}")),
        _ => findings.note(
            "own",
            format!(
                "seccomp filters of a container or a service restrict this process ({filters}); {privileges}"
            ),
        ),
    }
}

fn floor(version: io::Result<u8>, above: Above, findings: &mut Findings) {
    let abi = match version {
        Ok(abi) => abi,
        Err(_) if above == Above::Guard => {
            return findings.note("landlock", INSIDE);
        }
        Err(error) => {
            let (text, fix) = match error.raw_os_error() {
                Some(libc::EOPNOTSUPP) => (
                    "it is built in, but switched off",
                    "add landlock to the kernel's boot parameter lsm=, before the others",
                ),
                _ => (
                    "this kernel has no Landlock, or a container hides it",
                    "use a kernel with CONFIG_SECURITY_LANDLOCK",
                ),
            };
            return findings.warning(
                "landlock",
                format!("{text}: there is no floor, so the broker decides alone"),
                fix,
            );
        }
    };
    match landlock::LandlockStatus::on(Some(abi), None) {
        landlock::LandlockStatus::Partial { missing } => {
            let text = format!("ABI {abi}, which does not restrict {}", missing.join(", "));
            findings.warning("landlock", text, "use Linux 6.12 or newer (ABI 6)");
        }
        _ => findings.ok("landlock", format!("ABI {abi}: everything that the floor needs")),
    }
}

/// The operations that the supervisor needs on the tree's processes.
fn others(above: Above, findings: &mut Findings) {
    if above == Above::Guard {
        // The guard around this process would report these tries as attacks.
        return ["ptrace", "memory", "pidfd"].into_iter().for_each(|name| findings.note(name, INSIDE));
    }
    let Others { trace, memory, descriptors } = match probe::others() {
        Ok(others) => others,
        Err(error) => {
            return findings
                .note("ptrace", format!("not tried, because no process could be started: {error}"));
        }
    };
    feature(findings, above, "ptrace", trace, "3.8", "programs are checked before they run (PTRACE_SEIZE)");
    feature(findings, above, "memory", memory, "3.2", "arguments of calls are read (process_vm_readv)");
    feature(
        findings,
        above,
        "pidfd",
        descriptors,
        "5.6",
        "descriptors of callers can be duplicated (pidfd_getfd)",
    );
}

fn yama(scope: Option<u8>, findings: &mut Findings) {
    match scope {
        Some(scope @ 2..) => findings.problem(
            "yama",
            format!("kernel.yama.ptrace_scope is {scope}: no program can be checked before it runs"),
            if scope == 2 {
                "sysctl kernel.yama.ptrace_scope=1"
            } else {
                "set kernel.yama.ptrace_scope to 1 in /etc/sysctl.d, and reboot: 3 cannot be changed before"
            },
        ),
        Some(scope) => findings.ok("yama", format!("kernel.yama.ptrace_scope is {scope}, which is enough")),
        None => findings.ok("yama", "this kernel has no Yama, or does not show it"),
    }
}

fn modules(list: &Path, findings: &mut Findings) {
    match fs::read_to_string(list) {
        Ok(names) => findings.ok("lsm", names.trim().replace(',', ", ")),
        Err(error) => findings.note("lsm", format!("{} cannot be read: {error}", list.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::{State, found};
    use super::*;

    #[test]
    fn what_an_old_landlock_lacks_is_named() {
        let of = |version| found(|findings| floor(version, Above::Nothing, findings));
        assert_eq!(of(Ok(6)).0, State::Ok);
        let (state, text, fix) = of(Ok(3));
        assert_eq!(state, State::Warning);
        assert!(text.contains("ABI 3") && text.contains("device ioctls, signals") && fix.contains("6.12"));
        let (state, text, fix) = of(Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)));
        assert!(state == State::Warning && text.contains("switched off") && fix.contains("lsm="), "{text}");
        let (_, text, fix) = of(Err(io::Error::from_raw_os_error(libc::ENOSYS)));
        assert!(text.contains("has no Landlock") && fix.contains("CONFIG_SECURITY_LANDLOCK"), "{text}");
        let inside = io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        let (state, text, _) = found(|findings| floor(Err(inside), Above::Guard, findings));
        assert!(state == State::Note && text.contains("inside a guard"), "{text}");
    }

    #[test]
    fn yama_may_forbid_the_look_before_a_program_runs() {
        let of = |scope| found(|findings| yama(scope, findings));
        assert_eq!([None, Some(0), Some(1)].map(|scope| of(scope).0), [State::Ok; 3]);
        let (state, text, fix) = of(Some(2));
        assert!(
            state == State::Problem && text.contains("is 2") && fix == "sysctl kernel.yama.ptrace_scope=1"
        );
        let (state, _, fix) = of(Some(3));
        assert!(state == State::Problem && fix.contains("reboot"), "{fix}");
    }

    #[test]
    fn a_refused_feature_is_told_from_a_missing_one() {
        let of = |error, above| found(|findings| feature(findings, above, "x", Err(error), "5.9", "y"));
        assert!(of(Errno::INVAL, Above::Nothing).2.contains("Linux 5.9"));
        assert!(of(Errno::PERM, Above::Nothing).2.contains("container"));
        assert_eq!(of(Errno::PERM, Above::Guard).0, State::Note);
    }

    #[test]
    fn the_last_mount_of_proc_counts() {
        let line = |point: &str, options: &str| {
            format!("22 29 0:21 / {point} rw,nosuid shared:13 - proc proc rw,{options}\n")
        };
        assert_eq!(hidden(&line("/proc", "hidepid=2,gid=5")), Some("2"));
        assert_eq!(hidden(&line("/proc", "hidepid=ptraceable")), Some("ptraceable"));
        assert_eq!(hidden(&(line("/proc", "hidepid=2") + &line("/proc", "gid=5"))), None);
        assert_eq!(hidden(&(line("/proc", "x") + &line("/srv/proc", "hidepid=2"))), None);
        assert_eq!(hidden(&line("/proc", "hidepid=off")), None);
        assert_eq!(hidden(""), None);
    }

    #[test]
    fn modules_are_listed_or_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let list = directory.path().join("lsm");
        assert_eq!(found(|findings| modules(&list, findings)).0, State::Note);
        fs::write(&list, "capability,landlock,yama\n").unwrap();
        assert_eq!(found(|findings| modules(&list, findings)).1, "capability, landlock, yama");
    }
}
