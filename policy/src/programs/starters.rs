//! Names of programs that run any command they are given: shells, and those that start another program.

use super::name::{is_of, program_name};

/// Programs that run commands in a language of their own, line by line: also Debian's posh, lksh and sash, and the names
/// that restrict a shell.
const SHELLS: [&str; 27] = [
    "ash",
    "bash",
    "csh",
    "dash",
    "elvish",
    "fish",
    "hush",
    "ksh",
    "lksh",
    "mksh",
    "nu",
    "osh",
    "posh",
    "rbash",
    "rksh",
    "rzsh",
    "sash",
    "sh",
    "tcsh",
    "oksh",
    "loksh",
    "xonsh",
    "yash",
    "zsh",
    "cmd",
    "powershell",
    "pwsh",
];

/// Binaries that run the applet that their arguments name.
pub const MULTICALL: [&str; 2] = ["busybox", "toybox"];

/// Programs that start others in another place, as another user or with other rights: never looked into.
pub const OPAQUE: [&str; 42] = [
    "arch",
    "at",
    "batch",
    "bwrap",
    "cgexec",
    "chpst",
    "chroot",
    "chrt",
    "doas",
    "entr",
    "fakeroot",
    "firejail",
    "ionice",
    "linux32",
    "linux64",
    "ltrace",
    "nsenter",
    "numactl",
    "parallel",
    "pkexec",
    "prlimit",
    "proot",
    "rlwrap",
    "run0",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "start-stop-daemon",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "unbuffer",
    "unshare",
    "watch",
    "xcrun",
    "xvfb-run",
    "dbus-run-session",
];

/// Programs that only start another one, unless their options do more.
pub const TRANSPARENT: [&str; 9] =
    ["caffeinate", "env", "flock", "nice", "nohup", "sandbox-exec", "stdbuf", "time", "timeout"];

/// Returns true for a shell's name or path.
pub fn is_shell(token: impl AsRef<[u8]>) -> bool {
    is_of(&program_name(token), &SHELLS)
}

/// Returns whether a name is that of a dispatching program.
pub fn is_dispatch(token: &str) -> bool {
    let name = program_name(token);
    is_of(&name, &OPAQUE) || is_of(&name, &TRANSPARENT)
}

/// Returns whether a program of this name starts others: an entry for it would allow them too.
pub fn starts_others(token: &str) -> bool {
    let name = program_name(token);
    is_dispatch(token) || is_of(&name, &MULTICALL) || is_of(&name, &["xargs"])
}
