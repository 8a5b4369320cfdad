//! Which programs may start, apart from the map's `x`: the allowlist and the carriers.

pub mod allow_always;
pub(crate) mod allowlist;
pub(crate) mod code_on_input;
pub(crate) mod command_line;
pub(crate) mod data_only;
pub mod inline_eval;
pub(crate) mod interpreters;
pub(crate) mod mentioned_files;
mod missed;
pub(crate) mod modes;
pub mod name;
pub(crate) mod named_files;
pub(crate) mod parts;
pub(crate) mod program_copies;
mod python_modules;
mod reads_programs;
pub(crate) mod reasons;
pub(crate) mod risks;
pub mod safe_bins;
pub(crate) mod script;
mod sqlite;
pub mod starters;
mod writers;

use crate::verdict::CompiledReason;
use crate::{Ask, Exec, Role, Security};
use allowlist::Allowlist;
use inline_eval::{Inline, inline_eval_of};
use name::basename;
use reasons::ExecReasons;
use safe_bins::SafeBins;
use script::script_operands;
pub(crate) use writers::Writers;
pub(crate) use writers::absolute;
use writers::place;

/// Shells and wrappers that only start programs, which are then judged by themselves.
pub(crate) const DEFAULT_CARRIERS: [&str; 11] =
    ["bash", "sh", "dash", "zsh", "env", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs"];

/// The real names of the files that `sh` resolves to.
const SH: [&[u8]; 4] = [b"sh", b"dash", b"bash", b"ash"];

/// Binaries that run the applet that their arguments name.
const MULTICALL: [&[u8]; 2] = [b"busybox", b"toybox"];

/// The shell applets of these binaries.
const SHELL_APPLETS: [&[u8]; 2] = [b"sh", b"ash"];

/// The exec side of a policy.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) security: Security,
    pub(crate) ask: Ask,
    pub(crate) fallback: Security,
    pub(crate) allowlist: Allowlist,
    /// `elevated.allowlist`: what counts outside of the guard, in the place of all other lists.
    pub(crate) outside: Allowlist,
    /// Programs that skills bring; empty unless `autoAllowSkills` is set.
    pub(crate) skills: Allowlist,
    pub(crate) carriers: Vec<String>,
    pub(crate) safe_bins: SafeBins,
    /// Set where `strictInlineEval` is on.
    pub(crate) strict_inline_eval: Option<CompiledReason>,
    pub(crate) reasons: ExecReasons,
}

/// The exec side's answer for a program.
pub(crate) enum Listed<'p> {
    /// Yes, even under `ask: always`: what it starts is judged by itself.
    Carrier(&'p CompiledReason),
    /// Yes.
    Yes(&'p CompiledReason),
    /// Its arguments hold code, and `strictInlineEval` wants an answer each time, listed or not.
    Code(&'p CompiledReason),
    Miss,
}

impl Programs {
    /// Returns what the exec side answers, `security: deny` aside.
    pub(crate) fn listed(&self, exec: &Exec<'_>, writers: Writers<'_>) -> Listed<'_> {
        let protected = writers.is_protected();
        if exec.role == Role::Loader {
            return Listed::Carrier(&self.reasons.loader);
        }
        if protected && self.is_carrier(exec) {
            return Listed::Carrier(&self.reasons.carrier);
        }
        if let Some(reason) = self.strict_inline_eval.as_ref().filter(|_| holds_code(exec)) {
            return Listed::Code(reason);
        }
        if self.security == Security::Full {
            return Listed::Yes(&self.reasons.full);
        }
        let is_program = exec.role == Role::Program;
        let reason = self
            .allowlist
            .allow(exec, writers)
            .or_else(|| self.safe_bins.allow(exec).filter(|_| protected && is_program))
            .or_else(|| self.skills.allow(exec, writers).filter(|_| protected && is_program));
        reason.map_or(Listed::Miss, Listed::Yes)
    }

    /// Returns whether the program is a carrier, by name only: the caller checks that the tree cannot write
    /// the file.
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

/// Returns whether the arguments hold code for an interpreter: by the file's own name, or by the name it was
/// called by, which may be better known.
fn holds_code(exec: &Exec<'_>) -> bool {
    let arguments = exec.argv.get(1..).unwrap_or_default();
    let names = [Some(exec.path), exec.argv.first().map(Vec::as_slice)];
    let mut hits = names.into_iter().flatten().filter_map(|name| inline_eval_of(name, arguments));
    // A command in the arguments is judged when it starts.
    hits.any(|hit| hit.kind == Inline::Code) || reads_a_terminal(exec)
}

/// Returns whether the arguments name a terminal as a file that the program may run: what is typed there is code that no
/// file holds, and who types it is not known.
fn reads_a_terminal(exec: &Exec<'_>) -> bool {
    let is_terminal = |file: Vec<u8>| {
        let path = place(exec, &file);
        path.starts_with(b"/dev/pts/") || path.starts_with(b"/dev/tty") || path == b"/dev/console"
    };
    script_operands(exec.path, exec.argv).into_files(exec.argv).any(is_terminal)
}

/// Returns whether a multicall binary runs a shell: it uses the name it was called by or, if that is its own,
/// its first argument.
fn is_shell_applet(own: &[u8], argv: &[Vec<u8>]) -> bool {
    let applet = |i: usize| argv.get(i).map_or(&[][..], |arg| basename(arg));
    let called = applet(0);
    let called = called.strip_prefix(b"-").unwrap_or(called);
    SHELL_APPLETS.contains(&called) || called == own && SHELL_APPLETS.contains(&applet(1))
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
