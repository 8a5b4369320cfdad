//! Filters the environment: what the guarded command inherits from the operator, and what a single command may set.
//!
//! A variable can decide what runs as well as an argument can: `LD_PRELOAD` and `NODE_OPTIONS` load code into every
//! program, `BASH_ENV` into every shell. The rules are those of OpenClaw 2026.9.6. They cover only variables passed in
//! from outside: variables that a program of the tree sets for its children are judged at their exec.

mod host;
mod overrides;
mod own;
mod path;
mod sandbox;

use std::borrow::Cow;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Serialize;

pub use overrides::{Overridden, PATH_REASON, Rejected, for_shell, portable, with_overrides};
pub(crate) use path::path_directories;
pub use path::prepended;

use crate::{Reason, Source};

/// A variable: its name, without `=`, and its value. Neither needs to be UTF-8.
pub type Variable = (Vec<u8>, Vec<u8>);

/// The variable that OpenClaw sets for every command that it runs.
const MARK: (&[u8], &[u8]) = (b"OPENCLAW_CLI", b"1");

/// `exec.environment`: which of the operator's variables the command inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Inherit {
    /// All variables, except those that make programs load or run something else, and those of the guard and the gateway.
    #[default]
    Host,
    /// The same as host, without variables named like a secret: OpenClaw's rule for containers.
    Sandbox,
    /// Only the variables that a shell needs: OpenClaw's strict rule for containers.
    Strict,
}

impl Inherit {
    /// The values of `exec.environment`.
    pub const NAMES: [&'static str; 3] = ["host", "sandbox", "strict"];

    /// The value's name in `guard.json`.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Parses the name used in `guard.json`.
    pub fn from_name(name: &str) -> Option<Inherit> {
        let all = [Inherit::Host, Inherit::Sandbox, Inherit::Strict];
        Self::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }
}

/// A filtered environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// The variables that the command gets, in their original order, with `OPENCLAW_CLI=1` at the end.
    pub env: Vec<Variable>,
    /// The variables that are dropped.
    pub dropped: Vec<Dropped>,
    /// Variables that are passed on although their value looks odd, with OpenClaw's warning.
    pub suspicious: Vec<(Vec<u8>, &'static str)>,
}

/// A variable that is not passed on. The value is left out because it may be secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// As it was given.
    pub name: Vec<u8>,
    /// Why.
    pub reason: Reason<'static>,
}

/// Filters `vars` to what a command inherits.
pub fn inherited(vars: impl IntoIterator<Item = Variable>, inherit: Inherit) -> Inherited {
    let mut result = Inherited::default();
    for (name, value) in vars {
        let judged = judged_name(&name);
        if judged == MARK.0 {
            continue;
        }
        let reason = own::reason(&judged)
            .or_else(|| host::inherited_reason(&judged))
            .or_else(|| sandbox::reason(&judged, &value, inherit));
        match reason {
            Some(reason) => result.dropped.push(Dropped { name, reason }),
            None => {
                if inherit != Inherit::Host
                    && let Some(sentence) = sandbox::suspicion(&value)
                {
                    result.suspicious.push((name.clone(), sentence));
                }
                result.env.push((name, host::narrowed(&judged, value)));
            }
        }
    }
    result.env.push((MARK.0.to_vec(), MARK.1.to_vec()));
    result
}

/// The names, and patterns with one star, of variables beyond OpenClaw's list that change what a program does if they
/// are set for one command. A command still inherits them.
static PROGRAM_VARIABLES: LazyLock<Listed> = LazyLock::new(|| {
    let lines = include_str!("../../data/program-environment.txt").lines();
    let names = lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_whitespace().next());
    let (exceptions, names): (Vec<_>, Vec<_>) = names.partition(|name| name.starts_with('!'));
    Listed { names, exceptions: exceptions.into_iter().map(|name| &name[1..]).collect() }
});

struct Listed {
    names: Vec<&'static str>,
    /// Names that match a pattern but change nothing.
    exceptions: Vec<&'static str>,
}

fn is_program_variable(name: &[u8]) -> bool {
    let is = |known: &&str| match known.split_once('*') {
        None => known.as_bytes() == name,
        Some((start, end)) => {
            let rest = name.strip_prefix(start.as_bytes());
            rest.is_some_and(|rest| rest.ends_with(end.as_bytes()))
        }
    };
    PROGRAM_VARIABLES.names.iter().any(is) && !PROGRAM_VARIABLES.exceptions.iter().any(is)
}

/// Whether a variable can, judged by its name, change what a program does. If `is_inherited` is set, the command
/// inherits the variable unchanged from the operator. Then the variable counts only if it should never have been
/// inherited.
pub fn can_change_program(name: &[u8], is_inherited: bool) -> bool {
    let judged = judged_name(name);
    if judged == MARK.0 {
        return false;
    }
    let is_never_inherited = own::reason(&judged).is_some() || host::inherited_reason(&judged).is_some();
    let is_set =
        || is_program_variable(&judged) || host::override_reason(&String::from_utf8_lossy(&judged)).is_some();
    is_never_inherited || (!is_inherited && is_set())
}

/// The form in which a name is compared: trimmed and in capitals. Rules ignore case because curl and many others read
/// `http_proxy` as well as `HTTP_PROXY`.
fn judged_name(name: &[u8]) -> Vec<u8> {
    name.trim_ascii().to_ascii_uppercase()
}

/// A reason that is built into the guard.
fn builtin(rule: impl Into<Cow<'static, str>>, text: &'static str) -> Reason<'static> {
    Reason::new(Source::Builtin, "builtin.environment", rule, text)
}

/// A reason that follows from the operator's `exec.environment`.
fn chosen(rule: &'static str, text: &'static str) -> Reason<'static> {
    Reason::new(Source::Global, "exec.environment", rule, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_in_capitals_has_one_star_and_a_source() {
        let text = include_str!("../../data/program-environment.txt");
        let mut seen = std::collections::HashSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (name, source) = line.split_once(' ').expect("a source");
            assert!(!source.trim().is_empty() && seen.insert(name), "{line}");
            assert!(name == name.to_ascii_uppercase() && name.matches('*').count() < 2, "{line}");
        }
    }

    #[test]
    fn no_exception_undoes_a_name() {
        for known in PROGRAM_VARIABLES.names.iter().filter(|name| !name.contains('*')) {
            assert!(is_program_variable(known.as_bytes()), "{known}");
        }
        for exception in &PROGRAM_VARIABLES.exceptions {
            let name = exception.replace('*', "X");
            assert!(!is_program_variable(name.as_bytes()), "{name}");
            let is_caught = |known: &&str| known.split_once('*').is_some_and(|(_, end)| name.ends_with(end));
            assert!(PROGRAM_VARIABLES.names.iter().any(is_caught), "no star has {name}");
        }
    }
}
