//! A sandbox without a container: what it leaves of a policy.
//!
//! A sandbox takes rights away by ceilings, as a project's file does. So nothing in the sandbox can be wider than the
//! policy in force. The one exception is the sandbox's own directory. It lies in a place that every policy denies, and
//! those denials do not hold for it.

use std::sync::Arc;

use super::builtin::minimal;
use super::builtin::system;
use crate::config::elevated::ElevatedSettings;
use crate::config::limits::Limits;
use crate::environment::Inherit;
use crate::paths::ceilings::Ceilings;
use crate::paths::entry::CompiledPattern;
use crate::paths::exec_roots::{is_below, outermost};
use crate::paths::expansion::{Expanded, expand, show};
use crate::verdict::CompiledReason;
use crate::{Grant, Permission, Policy, Rights, Source};

/// What a sandbox leaves of a system besides [`system::PROGRAMS`], each part with the most rights that it leaves.
const SYSTEM: [(&str, &str); 4] =
    [("/lib32/**", "r-x"), ("/libx32/**", "r-x"), ("/etc/**", "r--"), ("/sys/fs/cgroup/**", "r--")];

/// The rights that a sandbox leaves on each of its directories itself, not on what is in it.
const FIXED: Rights = Rights { r: Grant::Yes, w: Grant::No, x: Grant::Yes };

/// What a sandbox leaves of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enclosure {
    /// The real path of the sandbox's own directory. What is in it may be read, written and run, although it is in the
    /// guard's own directory.
    pub own: Vec<u8>,
    /// The other files and directories that the sandbox has, besides the system. The policy may grant less on them.
    pub places: Vec<EnclosedPlace>,
    /// Whether it has a network.
    pub has_network: bool,
    /// The limits of the session in the sandbox. The policy may set lower ones.
    pub limits: Limits,
}

/// A file or a directory in a sandbox, with everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnclosedPlace {
    /// Its real path.
    pub path: Vec<u8>,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Whether it may be written.
    pub is_writable: bool,
}

impl EnclosedPlace {
    fn rights(&self) -> Rights {
        let w = if self.is_writable { Grant::Yes } else { Grant::No };
        Rights { w, ..Rights::ALL }
    }
}

impl Enclosure {
    /// The rule for the sandbox's own directory. It grants the rights that a project has.
    pub(super) fn rule(&self) -> (Expanded, Permission, CompiledReason) {
        let own = hierarchy(&self.own);
        let reason = reason(&own, Rights::ALL);
        (own, Permission(Rights::ALL), reason)
    }

    /// Turns denials that cover the sandbox's own directory into a ceiling that holds everywhere else.
    pub(super) fn around(&self, mut denied: Vec<CompiledPattern>) -> Ceilings {
        let own = hierarchy(&self.own);
        let reason = Arc::new(reason(&own, Rights::ALL));
        // The longest pattern counts, and no denial around a directory is longer than the directory's path.
        denied.push(CompiledPattern { glob: own.glob(true), rights: Rights::ALL, reason });
        Ceilings::new(Vec::new(), denied)
    }

    /// Returns the ceiling: what is not named here has no rights.
    pub(super) fn ceiling(&self) -> Ceilings {
        let entry = |expanded: &Expanded, rights: Rights| CompiledPattern {
            glob: expanded.glob(true),
            rights,
            reason: Arc::new(reason(expanded, rights)),
        };
        let mut rules = vec![entry(&written("/**"), Rights::NONE), entry(&hierarchy(&self.own), Rights::ALL)];
        // What is in a directory may be changed, and the directory itself stays where it is, as a mount would.
        let mut always = vec![entry(&single(&self.own), FIXED)];
        for place in &self.places {
            if place.is_directory {
                rules.push(entry(&hierarchy(&place.path), place.rights()));
                always.push(entry(&single(&place.path), FIXED));
            } else {
                rules.push(entry(&single(&place.path), place.rights()));
            }
        }
        let programs = system::PROGRAMS.iter().map(|pattern| (*pattern, "r-x"));
        let parts = programs.chain(SYSTEM).map(|(pattern, rights)| (pattern.to_owned(), rights));
        let base = minimal::rules().filter(|(pattern, rights)| is_kept(pattern, rights));
        for (pattern, rights) in parts.chain(base) {
            let rights = Permission::parse(rights).map_or(Rights::NONE, |permission| permission.0);
            rules.push(entry(&written(&pattern), rights));
        }
        let secrets = system::secrets().filter(|pattern| pattern.starts_with('/'));
        let secrets = secrets.flat_map(|pattern| [pattern.to_owned(), format!("{pattern}/**")]);
        always.extend(secrets.map(|pattern| entry(&written(&pattern), Rights::NONE)));
        Ceilings::new(always, rules)
    }

    /// Takes the rest away: the network, commands outside the guard, roots of programs and variables.
    pub(super) fn close(&self, policy: &mut Policy) {
        if !self.has_network {
            policy.network.close(CompiledReason {
                source: Source::Builtin,
                path: "sandbox.network".to_owned(),
                rule: "sandbox network \"none\"".to_owned(),
                text: "the sandbox has no network".to_owned(),
            });
        }
        policy.elevated = ElevatedSettings::default();
        policy.inherit = Inherit::Strict;
        policy.limits = policy.limits.tightened(self.limits);
        policy.roots = self.roots(&policy.roots);
    }

    /// The roots of programs that lie in the sandbox, and the parts in the sandbox of those that lie around it.
    fn roots(&self, roots: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let others =
            SYSTEM.into_iter().filter(|(_, rights)| rights.contains('x')).map(|(pattern, _)| pattern);
        let system = system::PROGRAMS
            .into_iter()
            .chain(others)
            .map(|pattern| pattern.trim_end_matches("/**").as_bytes());
        let places = self.places.iter().map(|place| bare(&place.path));
        let inside: Vec<&[u8]> = system.chain(places).chain([bare(&self.own)]).collect();
        let mut left: Vec<Vec<u8>> = Vec::new();
        for root in roots {
            if inside.iter().any(|place| is_below(root, place)) {
                left.push(root.clone());
            } else {
                left.extend(inside.iter().filter(|place| is_below(place, root)).map(|place| place.to_vec()));
            }
        }
        outermost(left)
    }
}

/// Whether a sandbox keeps an entry of the base. It keeps neither the sockets of the machine's services, which would act
/// for it, nor the arguments of processes outside.
fn is_kept(pattern: &str, rights: &str) -> bool {
    let is_socket = rights.contains('w') && !pattern.starts_with("/dev/") && !pattern.starts_with("/proc/");
    !is_socket && !pattern.ends_with("/cmdline")
}

fn reason(expanded: &Expanded, rights: Rights) -> CompiledReason {
    let shown = format!("{}{}", show(&expanded.literal), expanded.pattern);
    CompiledReason {
        source: Source::Builtin,
        path: format!("sandbox[\"{shown}\"]"),
        rule: format!("sandbox \"{shown}\": \"{rights}\""),
        text: match rights {
            Rights::NONE => format!("the sandbox leaves nothing of \"{shown}\" but what it names"),
            rights => format!("the sandbox leaves {rights} of \"{shown}\""),
        },
    }
}

fn written(pattern: &str) -> Expanded {
    expand(pattern, b"")
}

fn hierarchy(directory: &[u8]) -> Expanded {
    Expanded { literal: bare(directory).to_vec(), pattern: "/**".to_owned() }
}

fn single(path: &[u8]) -> Expanded {
    Expanded { literal: bare(path).to_vec(), pattern: String::new() }
}

fn bare(directory: &[u8]) -> &[u8] {
    directory.strip_suffix(b"/").unwrap_or(directory)
}
