//! Build daemons of the operator's: a build in the guard may hand its work to one of them, outside the guard.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_supervisor::config::Paths;

use super::finding::Findings;
use super::listener::Filters;

/// A daemon that runs builds for its clients.
struct BuildDaemon {
    name: &'static str,
    /// The command that ends it.
    stop: &'static str,
    /// Whether a process is one, by its arguments.
    is: fn(&[&[u8]]) -> bool,
}

/// The daemons that go on after a build, from each tool's own documentation.
const DAEMONS: [BuildDaemon; 5] = [
    BuildDaemon {
        name: "Gradle",
        stop: "gradle --stop",
        is: |argv| argv.contains(&&b"org.gradle.launcher.daemon.bootstrap.GradleDaemon"[..]),
    },
    BuildDaemon {
        name: "Kotlin",
        stop: "gradle --stop, or end the process",
        is: |argv| argv.contains(&&b"org.jetbrains.kotlin.daemon.KotlinCompileDaemon"[..]),
    },
    BuildDaemon {
        name: "mvnd",
        stop: "mvnd --stop",
        is: |argv| argv.iter().any(|word| word.starts_with(b"org.mvndaemon.mvnd.")),
    },
    BuildDaemon {
        name: "Bazel",
        stop: "bazel shutdown",
        is: |argv| argv.first().is_some_and(|name| name.starts_with(b"bazel(")),
    },
    BuildDaemon {
        name: "sccache",
        stop: "sccache --stop-server",
        // The server is the program without arguments.
        is: |argv| matches!(argv, [name] if name.rsplit(|byte| *byte == b'/').next() == Some(b"sccache")),
    },
];

/// Warns of each that runs for this home, with no more filters than doctor has.
pub fn check(paths: &Paths, findings: &mut Findings) {
    let filters = |pid: &str| Filters::of_process(pid).and_then(|filters| filters.count);
    let own_filters = filters("self");
    let Ok(processes) = fs::read_dir("/proc") else { return };
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().filter(|name| name.bytes().all(|digit| digit.is_ascii_digit())) else {
            continue;
        };
        let Some(daemon) = daemon(&process.path(), &paths.home) else { continue };
        if filters(pid) > own_filters {
            continue;
        }
        let BuildDaemon { name, stop, .. } = daemon;
        let text = format!(
            "a daemon of {name} (pid {pid}) runs outside the guard: a build in the guard may hand its work to it"
        );
        findings.warning("build-daemon", text, *stop);
    }
}

/// The daemon that a process is, if it has this home.
fn daemon(process: &Path, home: &Path) -> Option<&'static BuildDaemon> {
    let cmdline = fs::read(process.join("cmdline")).ok()?;
    let argv: Vec<&[u8]> = cmdline.strip_suffix(b"\0")?.split(|byte| *byte == 0).collect();
    let daemon = DAEMONS.iter().find(|daemon| (daemon.is)(&argv))?;
    let environment = fs::read(process.join("environ")).ok()?;
    let has_home = environment
        .split(|byte| *byte == 0)
        .any(|variable| variable.strip_prefix(b"HOME=") == Some(home.as_os_str().as_bytes()));
    has_home.then_some(daemon)
}
