//! Which programs may start, apart from the map's `x`: the allowlist and the carriers.

use crate::glob::{Glob, MAX_PATTERN};
use crate::pattern::{Paths, expand_home, replaceable_link};
use crate::rwx::{Map, Reason};
use crate::safe_bins::SafeBins;
use crate::{Ask, Exec, Grant, Role, Security};

/// Shells and wrappers that only start what is then judged by itself.
pub(crate) const DEFAULT_CARRIERS: [&str; 11] =
    ["bash", "sh", "dash", "zsh", "env", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs"];

/// What `sh` resolves to, by the real names of those files.
const SH: [&[u8]; 4] = [b"sh", b"dash", b"bash", b"ash"];

/// Binaries that become what their arguments name.
const MULTICALL: [&[u8]; 2] = [b"busybox", b"toybox"];

/// The shell applets of those.
const SHELL_APPLETS: [&[u8]; 2] = [b"sh", b"ash"];

#[derive(Clone, Debug)]
enum Target {
    /// `*`.
    Any,
    /// The real path.
    Path(Vec<Glob>),
    /// A pattern without a slash: the file's name, from a place the tree cannot write.
    Name(Glob),
}

/// One allowlist entry.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    target: Target,
    reason: Reason,
}

impl Allowed {
    /// Compiles an entry; `Err` is the warning about one that can match nothing.
    pub(crate) fn new(
        pattern: &str,
        paths: &Paths<'_>,
        map: &Map,
        reason: Reason,
    ) -> Result<Allowed, String> {
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return Err(format!("{}: a blank pattern matches nothing", reason.path));
        }
        if pattern.len() > MAX_PATTERN {
            return Err(format!("{}: a pattern longer than any path matches nothing", reason.path));
        }
        let target = if pattern == "*" {
            Target::Any
        } else if pattern.contains(['/', '~', '\\']) {
            let expanded = expand_home(pattern, paths.home);
            let mut globs = vec![expanded.glob(false)];
            // Only leading directories: an entry for a link such as /bin/ls must not become one
            // for the multicall binary behind it.
            let writable = |entry: &[u8]| map.find(entry).rights.w == Grant::Yes;
            if let Some(real) = expanded.resolved(paths, false)
                && replaceable_link(&expanded.leading_dir(), paths, writable).is_none()
            {
                globs.push(real.glob(false));
            }
            Target::Path(globs)
        } else {
            Target::Name(Glob::new(b"", pattern, false))
        };
        Ok(Allowed { target, reason })
    }

    /// An entry for a literal directory and all below it, or for one file.
    pub(crate) fn at(path: &[u8], tail: &str, reason: Reason) -> Allowed {
        Allowed { target: Target::Path(vec![Glob::new(path, tail, false)]), reason }
    }
}

/// The exec side of a policy.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) security: Security,
    pub(crate) ask: Ask,
    pub(crate) fallback: Security,
    pub(crate) entries: Vec<Allowed>,
    pub(crate) carriers: Vec<String>,
    pub(crate) safe_bins: SafeBins,
    pub(crate) reasons: ExecReasons,
}

/// The reasons that need no file.
#[derive(Clone, Debug)]
pub(crate) struct ExecReasons {
    pub(crate) denied: Reason,
    pub(crate) full: Reason,
    pub(crate) miss: Reason,
    pub(crate) carrier: Reason,
    pub(crate) always: Reason,
    pub(crate) loader: Reason,
    pub(crate) fallback: Reason,
}

/// What exec.security says of a program.
pub(crate) enum Listed<'p> {
    /// Yes; a carrier is never asked for by `ask: always`.
    Yes {
        reason: &'p Reason,
        carrier: bool,
    },
    Miss,
}

impl Programs {
    /// What exec.security says, `deny` aside.
    pub(crate) fn listed(&self, exec: &Exec<'_>, map: &Map) -> Listed<'_> {
        if exec.role == Role::Loader {
            return Listed::Yes { reason: &self.reasons.loader, carrier: true };
        }
        let protected = map.find(exec.path).rights.w == Grant::No;
        if protected && self.is_carrier(exec) {
            return Listed::Yes { reason: &self.reasons.carrier, carrier: true };
        }
        if self.security == Security::Full {
            return Listed::Yes { reason: &self.reasons.full, carrier: false };
        }
        let found = self.entries.iter().find(|entry| match &entry.target {
            Target::Any => true,
            Target::Path(globs) => globs.iter().any(|g| g.matches(exec.path)),
            Target::Name(glob) => protected && glob.matches(basename(exec.path)),
        });
        let reason = match found {
            Some(entry) => Some(&entry.reason),
            None if protected && exec.role == Role::Program => self.safe_bins.allow(exec),
            None => None,
        };
        reason.map_or(Listed::Miss, |reason| Listed::Yes { reason, carrier: false })
    }

    /// By name only: the caller has made sure that the tree cannot write the file.
    fn is_carrier(&self, exec: &Exec<'_>) -> bool {
        let name = basename(exec.path);
        let has = |carrier: &[u8]| self.carriers.iter().any(|c| c.as_bytes() == carrier);
        if has(name) {
            return true;
        }
        // The real name of `sh` is another shell's: dash on Debian, bash on Fedora, ash on Alpine.
        has(b"sh") && (SH.contains(&name) || MULTICALL.contains(&name) && is_shell_applet(name, exec.argv))
    }
}

/// A multicall binary goes by the name it was called by; called by its own, by its first argument.
fn is_shell_applet(own: &[u8], argv: &[Vec<u8>]) -> bool {
    let applet = |i: usize| argv.get(i).map_or(&[][..], |arg| basename(arg));
    let called = applet(0);
    let called = called.strip_prefix(b"-").unwrap_or(called);
    SHELL_APPLETS.contains(&called) || called == own && SHELL_APPLETS.contains(&applet(1))
}

/// What follows the last slash.
pub(crate) fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multicall_binary_is_a_shell_only_as_one() {
        let shell = |args: &[&str]| {
            is_shell_applet(b"busybox", &args.iter().map(|a| a.as_bytes().to_vec()).collect::<Vec<_>>())
        };
        assert!(shell(&["sh", "-c", "true"]));
        assert!(shell(&["/bin/ash"]));
        assert!(shell(&["-sh"]));
        assert!(shell(&["busybox", "sh"]));
        assert!(shell(&["/bin/busybox", "ash", "-c", "true"]));
        assert!(!shell(&["wget", "sh"]));
        assert!(!shell(&["busybox", "wget", "sh"]));
        assert!(!shell(&["busybox"]));
        assert!(!shell(&[]));
    }
}
