//! Why a program may not start although something names it. "The program is not in the allowlist" is true only if
//! nothing names it. An entry, a carrier, a safe bin or a skill may name it, but not count for this file or these
//! arguments.

use super::allowlist::{Allowlist, NamingEntry};
use super::{Programs, Writers};
use crate::paths::entry::Match;
use crate::paths::expansion::show;
use crate::paths::permission::Grant;
use crate::programs::name::basename;
use crate::verdict::{CompiledReason, Reason};
use crate::{Exec, Role};

/// Why something that names a program does not count.
enum Uncounted<'p> {
    /// The guarded tree may write the file; `rule` is the one that grants it, if there is one.
    Writable { by: &'p CompiledReason, rule: Option<&'p str> },
    /// An earlier run could write the file.
    WrittenBefore { by: &'p CompiledReason },
    /// A saved answer for a program that may run a file among its arguments, which a run could write.
    RunsWritable { by: &'p CompiledReason },
    /// An entry for other arguments.
    Arguments { by: &'p CompiledReason },
    /// An entry for exactly some arguments in one directory.
    ArgumentsOrDirectory { by: &'p CompiledReason },
    /// An entry for a name, which counts only for a program that was started by it.
    StartedByPath { by: &'p CompiledReason },
    /// A safe bin's name outside the trusted directories.
    Elsewhere { name: String },
    /// A safe bin whose arguments reach beyond standard input.
    UnsafeArguments { name: String },
}

impl Uncounted<'_> {
    /// Returns a clause for a human.
    fn clause(&self) -> String {
        match self {
            Uncounted::Writable { by, rule: Some(rule) } => {
                format!("{} names it, but does not count: the guarded tree may write it ({rule})", by.path)
            }
            Uncounted::Writable { by, rule: None } => {
                format!("{} names it, but does not count: the guarded tree may write it", by.path)
            }
            Uncounted::WrittenBefore { by } => {
                format!("{} names it, but does not count: an earlier guarded run could write it", by.path)
            }
            Uncounted::RunsWritable { by } => {
                format!(
                    "{} names it, but does not count: a guarded run could write a file among its arguments",
                    by.path
                )
            }
            Uncounted::Arguments { by } => format!("{} names it, but with other arguments", by.path),
            Uncounted::ArgumentsOrDirectory { by } => {
                let path = &by.path;
                format!(
                    "{path} names it, but with other arguments or in another directory, or by another name"
                )
            }
            Uncounted::StartedByPath { by } => {
                format!("{} names it, but applies only if it is started by its bare name", by.path)
            }
            Uncounted::Elsewhere { name } => {
                format!("\"{name}\" is a safe bin, but only in exec.safeBinTrustedDirs")
            }
            Uncounted::UnsafeArguments { name } => {
                format!("\"{name}\" is a safe bin, but not with these arguments")
            }
        }
    }
}

impl Programs {
    /// Returns why a program that [`Programs::listed`] misses is asked about or denied. `found` is the map's
    /// match for its path.
    pub(crate) fn missed<'p>(&'p self, exec: &Exec<'_>, found: &Match<'p>) -> Reason<'p> {
        let miss = &self.reasons.miss;
        match self.uncounted(exec, found) {
            None => miss.to_reason(),
            Some(why) => {
                let clause = why.clause();
                let rule = format!("{}: {clause}", self.reasons.security);
                Reason::new(miss.source, miss.path.as_str(), rule, format!("{}: {clause}", miss.text))
            }
        }
    }

    fn uncounted<'p>(&'p self, exec: &Exec<'_>, found: &Match<'p>) -> Option<Uncounted<'p>> {
        // If persistence protects the file, the reason for `w` is not the rule that grants it.
        let rule = (found.rights.w != Grant::No).then_some(found.w.rule.as_str());
        if let Some(by) = self.counts_where_protected(exec) {
            return Some(match found.is_protected() {
                _ if found.is_of_earlier_run() => Uncounted::WrittenBefore { by },
                false => Uncounted::Writable { by, rule },
                true => Uncounted::RunsWritable { by },
            });
        }
        let protected = self.allowlist.naming(exec, found.is_protected());
        let naming = protected.or_else(|| self.allowlist.naming(exec, true));
        if let Some(NamingEntry { reason: by, is_for_name, is_for_directory }) = naming {
            return Some(match is_for_name {
                true if found.is_of_earlier_run() => Uncounted::WrittenBefore { by },
                true if !found.is_protected() => Uncounted::Writable { by, rule },
                true if !Allowlist::is_by_name(exec) => Uncounted::StartedByPath { by },
                _ if is_for_directory => Uncounted::ArgumentsOrDirectory { by },
                _ => Uncounted::Arguments { by },
            });
        }
        let name = basename(exec.path);
        match self.safe_bins.is_in_place(exec).filter(|_| exec.role == Role::Program)? {
            true => Some(Uncounted::UnsafeArguments { name: show(name) }),
            false => Some(Uncounted::Elsewhere { name: show(name) }),
        }
    }

    /// Returns why the program could start if the tree could not write it.
    fn counts_where_protected(&self, exec: &Exec<'_>) -> Option<&CompiledReason> {
        let is_program = exec.role == Role::Program;
        let carrier = self.is_carrier(exec).then_some(&self.reasons.carrier);
        carrier
            .or_else(|| self.allowlist.allow(exec, Writers::NOBODY))
            .or_else(|| self.safe_bins.allow(exec).filter(|_| is_program))
            .or_else(|| self.skills.allow(exec, Writers::NOBODY).filter(|_| is_program))
    }
}
