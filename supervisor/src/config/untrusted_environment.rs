//! `--untrusted-environment`: the environment and the current directory come from somebody who is trusted no more than
//! the tree.
//!
//! The variables say where the home, the policy, temporary files and git's configuration are, and a variable that the
//! operator set is not shown in a question. So the guard executes itself with an environment of its own making, and
//! hands the given one, as a file in memory, to the command alone. Nothing of the guard can then read it by mistake.
//! What the dynamic loader reads before `main` (`LD_PRELOAD`) is out of reach: the program that starts
//! the guard has to remove it.
//!
//! Why: docs/decisions.md, "`--untrusted-environment` executes the guard again."

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use guard_policy::environment::Variable;
use nix::unistd::{User, getuid};
use rustix::fs::{MemfdFlags, memfd_create};

use super::options::Options;

/// Where programs are looked for, as login(1) sets it for root and others alike.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Variables for the terminal and the language. They do not name files, so a value with a slash is left out.
const DISPLAY: [&str; 5] = ["TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL"];
/// The maximum length of an environment, in bytes (execve(2): a quarter of the largest stack).
const MAX_BYTES: u64 = 6 << 20;

/// Executes the guard again with an environment of its own, if the given one is not to be trusted and the guard has not
/// done so yet. Returns only if there is nothing to do, or the attempt failed.
///
/// # Errors
/// The kernel's. The guard must not go on then.
pub fn replace(options: &Options) -> io::Result<()> {
    if !options.untrusted_environment || options.environment_fd.is_some() {
        return Ok(());
    }
    let mut file = File::from(memfd_create(c"environment", MemfdFlags::empty())?);
    for (name, value) in std::env::vars_os() {
        file.write_all(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat())?;
    }
    let mut arguments = std::env::args_os();
    let mut command = Command::new("/proc/self/exe");
    command.arg0(arguments.next().unwrap_or_else(|| "openclaw-guard".into()));
    command.arg(format!("--environment-fd={}", file.as_raw_fd())).args(arguments);
    command.env_clear().env("PATH", PATH);
    let user =
        User::from_uid(getuid())?.ok_or_else(|| io::Error::other("this user has no password entry"))?;
    command.env("HOME", &user.dir).env("USER", &user.name).env("LOGNAME", &user.name);
    for name in DISPLAY {
        let plain = |value: &OsStr| !value.as_bytes().contains(&b'/');
        if let Some(value) = std::env::var_os(name).filter(|value| plain(value)) {
            command.env(name, value);
        }
    }
    Err(command.exec())
}

/// The variables that the command may inherit: the operator's, or those that were handed over.
///
/// # Errors
/// If they cannot be read.
pub fn given(options: &Options) -> io::Result<Vec<Variable>> {
    let Some(fd) = options.environment_fd else {
        let own = std::env::vars_os();
        return Ok(own.map(|(name, value)| (name.into_vec(), value.into_vec())).collect());
    };
    let variables = read(fd)?;
    // The command shall not inherit the descriptor.
    nix::unistd::close(fd)?;
    Ok(variables)
}

fn read(fd: RawFd) -> io::Result<Vec<Variable>> {
    let mut file = File::open(format!("/proc/self/fd/{fd}"))?;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let strings = bytes.split(|byte| *byte == 0).filter(|string| !string.is_empty());
    let variable = |string: &[u8]| {
        // A name may begin with `=`: the kernel allows that.
        let end = string.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        Some((string[..end].to_vec(), string[end + 1..].to_vec()))
    };
    Ok(strings.filter_map(variable).collect())
}
