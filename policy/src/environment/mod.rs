//! What the guarded command inherits of the operator's environment, and what a single command may set.
//!
//! A variable can decide what runs as well as an argument can: `LD_PRELOAD` and `NODE_OPTIONS` load code into every
//! program, `BASH_ENV` into every shell. The rules are those of OpenClaw 2026.9.6. They are about what is handed in:
//! what a program of the tree sets for its own children is judged at their exec like everything else there.

mod host;
mod overrides;
mod own;
mod path;
mod sandbox;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

pub use overrides::{Overridden, PATH_REASON, Rejected, for_shell, portable, with_overrides};
pub(crate) use path::path_directories;
pub use path::prepended;

use crate::{Reason, Source};

/// A variable: its name, without `=`, and its value. Neither need be text.
pub type Variable = (Vec<u8>, Vec<u8>);

/// What OpenClaw sets for every command that it runs.
const MARK: (&[u8], &[u8]) = (b"OPENCLAW_CLI", b"1");

/// `exec.environment`: which of the operator's variables the command inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Inherit {
    /// All but what makes programs load or run something else, and what speaks for the guard or the gateway.
    #[default]
    Host,
    /// As host, without what has the name of a secret: OpenClaw's rule for containers.
    Sandbox,
    /// As sandbox, and only what a shell needs: OpenClaw's strict rule for containers.
    Strict,
}

impl Inherit {
    /// The words of `exec.environment`.
    pub const NAMES: [&'static str; 3] = ["host", "sandbox", "strict"];

    /// The word.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// What a word means.
    pub fn from_name(name: &str) -> Option<Inherit> {
        let all = [Inherit::Host, Inherit::Sandbox, Inherit::Strict];
        Self::NAMES.iter().position(|known| *known == name).map(|at| all[at])
    }
}

/// What is left of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// What the command gets, in the order in which it came, with `OPENCLAW_CLI=1` at the end.
    pub env: Vec<Variable>,
    /// What it does not get.
    pub dropped: Vec<Dropped>,
    /// What it gets although it looks odd, with OpenClaw's sentence.
    pub suspicious: Vec<(Vec<u8>, &'static str)>,
}

/// A variable that is not passed on. Its value is nobody's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// As it was given.
    pub name: Vec<u8>,
    /// Why.
    pub because: Reason<'static>,
}

/// What a command inherits of `vars`.
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
            Some(because) => result.dropped.push(Dropped { name, because }),
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

/// Variables beside OpenClaw's by which what sets them for one command makes another of it. A command inherits them.
const TELLING: &[&[u8]] = &[
    b"CVS_RSH",
    b"ELECTRON_RUN_AS_NODE",
    b"JULIA_LOAD_PATH",
    b"PYTHONPLATLIBDIR",
    b"PYTHONPYCACHEPREFIX",
    b"PYTHONWARNINGS",
    b"RIPGREP_CONFIG_PATH",
    b"RSYNC_RSH",
    b"TAR_OPTIONS",
];

/// Whether a variable can make another program of the one that gets it, as far as the name tells. One that the operator
/// has and a command inherits says nothing, as long as it `is_inherited` as it is.
pub fn tells(name: &[u8], is_inherited: bool) -> bool {
    let judged = judged_name(name);
    if judged == MARK.0 {
        return false;
    }
    let is_never_inherited = own::reason(&judged).is_some() || host::inherited_reason(&judged).is_some();
    let is_set =
        || TELLING.contains(&&*judged) || host::override_reason(&String::from_utf8_lossy(&judged)).is_some();
    is_never_inherited || (!is_inherited && is_set())
}

/// The form of a name that is compared: without white space around it, in capitals. Rules are never about case, for
/// curl and many others read `http_proxy` as well as `HTTP_PROXY`.
fn judged_name(name: &[u8]) -> Vec<u8> {
    name.trim_ascii().to_ascii_uppercase()
}

/// A reason that lies in the guard itself.
fn builtin(rule: impl Into<Cow<'static, str>>, text: &'static str) -> Reason<'static> {
    Reason::new(Source::Builtin, "builtin.environment", rule, text)
}

/// A reason that the operator has chosen by a word of `exec.environment`.
fn chosen(rule: &'static str, text: &'static str) -> Reason<'static> {
    Reason::new(Source::Global, "exec.environment", rule, text)
}
