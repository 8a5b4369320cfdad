//! The machine: what the kernel does for programs beside the guard, and the clock.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use guard_policy::text::shown;
use guard_supervisor::config::Paths;

use super::finding::Findings;

/// Runs all checks.
pub fn check(paths: &Paths, findings: &mut Findings) {
    let settings = Path::new("/proc/sys/fs");
    protected(settings, findings);
    cores(Path::new("/proc/sys/kernel/core_pattern"), findings);
    formats(&settings.join("binfmt_misc"), findings);
    if let Ok(program) = std::env::current_exe() {
        clock(&program, SystemTime::now(), findings);
    }
    if !paths.home.is_dir() {
        let home = shown(paths.home.as_os_str().as_encoded_bytes());
        findings.warning(
            "home",
            format!("there is no directory {home}, which is ~ in the policy"),
            "set HOME, or give --home",
        );
    }
}

/// Protection against other users' links and files in world-writable directories
/// (Documentation/admin-guide/sysctl/fs.rst).
fn protected(settings: &Path, findings: &mut Findings) {
    const NAMES: [&str; 4] =
        ["protected_symlinks", "protected_hardlinks", "protected_fifos", "protected_regular"];
    let is_off =
        |name: &&&str| fs::read_to_string(settings.join(name)).is_ok_and(|value| value.trim() == "0");
    let off: Vec<_> = NAMES.iter().filter(is_off).collect();
    if off.is_empty() {
        return findings
            .ok("protected", "the kernel protects from links and files that others leave in /tmp");
    }
    let names: Vec<_> = off.iter().map(|name| format!("fs.{name}")).collect();
    let set: Vec<_> = names.iter().map(|name| format!("{name}=1")).collect();
    findings.warning(
        "protected",
        format!(
            "off: {}: links and files that one user leaves in /tmp may mislead another",
            names.join(", ")
        ),
        format!("sysctl {}", set.join(" ")),
    );
}

/// The kernel runs a core-dump helper outside the tree (core(5)).
fn cores(pattern: &Path, findings: &mut Findings) {
    let Ok(pattern) = fs::read_to_string(pattern) else {
        return findings.note("cores", "kernel.core_pattern cannot be read");
    };
    match pattern.trim().strip_prefix('|') {
        Some(program) => {
            let program = shown(program.split(' ').next().unwrap_or_default().as_bytes());
            findings.ok(
                "cores",
                format!("{program} is not started for programs of the tree, which leave no core dumps"),
            );
        }
        None => findings.ok("cores", "programs of the tree leave no core dumps"),
    }
}

/// Reports the interpreters that the kernel starts for other file formats. Files of these formats do not start in a
/// guarded tree.
fn formats(directory: &Path, findings: &mut Findings) {
    let Ok(entries) = fs::read_dir(directory) else {
        return findings.ok("formats", "no formats are registered (binfmt_misc)");
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let names = names.filter(|name| name != "register" && name != "status");
    let is_on = |name: &std::ffi::OsString| {
        fs::read_to_string(directory.join(name)).map_or(true, |text| text.starts_with("enabled"))
    };
    let mut names: Vec<_> =
        names.filter(is_on).map(|name| shown(name.as_os_str().as_encoded_bytes())).collect();
    if names.is_empty() {
        return findings.ok("formats", "no formats are registered (binfmt_misc)");
    }
    names.sort();
    findings.warning(
        "formats",
        format!("registered (binfmt_misc): {}: such files do not start in a guarded tree", names.join(", ")),
        "name the interpreter: qemu-aarch64 FILE, python3 FILE, wine FILE",
    );
}

/// Reports a clock that is behind the time of this program's own file. It was reset, and it dates answers and
/// saved entries.
fn clock(program: &Path, now: SystemTime, findings: &mut Findings) {
    /// The difference that is tolerated: clocks differ, and the program may have been built on another machine.
    const APART: Duration = Duration::from_secs(24 * 60 * 60);
    let Ok(made) = fs::metadata(program).and_then(|meta| meta.modified()) else { return };
    if made.duration_since(now).is_ok_and(|ahead| ahead > APART) {
        return findings.warning(
            "clock",
            "it is earlier than the installation of this program; the audit log and all time limits depend on it",
            "set it: timedatectl set-ntp true",
        );
    }
    findings.ok("clock", "it is not earlier than the installation of this program");
}

#[cfg(test)]
mod tests {
    use super::super::finding::{State, found};
    use super::*;

    #[test]
    fn a_setting_that_is_off_is_named_with_its_fix() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert_eq!(found(|findings| protected(root, findings)).0, State::Ok);
        fs::write(root.join("protected_symlinks"), "0\n").unwrap();
        fs::write(root.join("protected_regular"), "2\n").unwrap();
        let (state, text, fix) = found(|findings| protected(root, findings));
        assert_eq!((state, fix.as_str()), (State::Warning, "sysctl fs.protected_symlinks=1"));
        assert!(text.contains("protected_symlinks") && !text.contains("protected_regular"));
    }

    #[test]
    fn a_helper_for_cores_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let pattern = directory.path().join("core_pattern");
        assert_eq!(found(|findings| cores(&pattern, findings)).0, State::Note);
        fs::write(&pattern, "|/usr/share/apport/apport -p%p\x1b\n").unwrap();
        let (state, text, _) = found(|findings| cores(&pattern, findings));
        assert!(state == State::Ok && text.starts_with("/usr/share/apport/apport is not"), "{text}");
    }

    #[test]
    fn registered_formats_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        assert_eq!(found(|findings| formats(&root.join("none"), findings)).0, State::Ok);
        for (name, text) in [("status", "enabled\n"), ("register", ""), ("off", "disabled\n")] {
            fs::write(root.join(name), text).unwrap();
        }
        assert_eq!(found(|findings| formats(root, findings)).0, State::Ok);
        fs::write(root.join("qemu-arm"), "enabled\ninterpreter /usr/bin/qemu-arm\n").unwrap();
        let (state, text, _) = found(|findings| formats(root, findings));
        assert!(state == State::Warning && text.contains("qemu-arm") && !text.contains("off"), "{text}");
    }

    #[test]
    fn a_clock_behind_the_program_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program");
        fs::write(&program, "").unwrap();
        let made = fs::metadata(&program).unwrap().modified().unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(found(|findings| clock(&program, made, findings)).0, State::Ok);
        assert_eq!(found(|findings| clock(&program, made - day / 2, findings)).0, State::Ok);
        assert_eq!(found(|findings| clock(&program, made - day * 2, findings)).0, State::Warning);
    }
}
