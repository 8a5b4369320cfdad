//! Which binds a container may get: OpenClaw's checks with OpenClaw's order and sentences, and then the guard's
//! own checks (src/agents/sandbox/validate-sandbox-security.ts).

use std::fmt::{self, Display, Formatter};

use super::bind::BindSpec;
use super::blocked::{BlockedPaths, Overlap};
use super::host_path::{is_absolute, is_within, normalize};
use super::links::{HostPaths, Route};
use crate::ecmascript::trim;

/// Where OpenClaw mounts workspaces.
const RESERVED: [&str; 2] = ["/workspace", "/agent"];
/// Paths that no bind may hide from a container: its users and host names, and what the kernel shows it.
const OWN: [&str; 2] = ["/etc", "/proc"];

/// The exceptions that an operator's settings make.
#[derive(Clone, Debug, Default)]
pub struct BindRules {
    /// The roots, which are directories that sources must be in. Without any, sources may be anywhere. Roots that are
    /// not absolute do not count.
    pub allowed_source_roots: Vec<String>,
    /// `dangerouslyAllowExternalBindSources`: sources may be outside of these roots.
    pub allow_external_sources: bool,
    /// `dangerouslyAllowReservedContainerTargets`: targets may hide what OpenClaw mounts.
    pub allow_reserved_targets: bool,
}

/// A bind that is refused, and why. Its text is the sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", sentence(.bind, .reason))]
pub struct RefusedBind {
    /// The bind as written.
    pub bind: String,
    /// What is wrong with it.
    pub reason: BindReason,
}

/// Why a bind is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindReason {
    /// Its source is a blocked path, or covers one.
    Blocked(Overlap),
    /// Its source is not an absolute path; holds the source.
    NonAbsolute(String),
    /// Its source is in none of the roots.
    OutsideAllowedRoots {
        /// The source's path.
        source: String,
        /// The roots, each as written and as a real path.
        roots: Vec<String>,
    },
    /// It would hide what OpenClaw mounts.
    ReservedTarget {
        /// Its target.
        target: String,
        /// What is mounted there.
        reserved: &'static str,
    },
    /// OpenClaw allows it; the guard does not.
    Stricter(StricterReason),
}

/// Why the guard refuses a bind that OpenClaw 2026.9.6 allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StricterReason {
    /// Its source is blocked or contains a blocked path; holds the source's path.
    Source(String, Overlap),
    /// A link in its source leads to a path that is blocked or contains a blocked path; holds that path.
    Link(String, Overlap),
    /// A link in its source leads to a path outside of the allowed roots; holds that path.
    LinkOutside(String),
    /// It is not known where its source leads: its links form a loop, or one cannot be read.
    Endless,
    /// Docker reads it as a volume.
    Volume,
    /// Its target hides what the container needs.
    Hides {
        /// The target.
        target: String,
        /// What is hidden.
        hidden: &'static str,
    },
}

/// Checks binds against the paths of a host.
#[derive(Clone, Debug)]
pub struct BindCheck<'h, H> {
    blocked: BlockedPaths,
    paths: &'h H,
}

impl<'h, H: HostPaths> BindCheck<'h, H> {
    /// Makes a check against these blocked paths.
    pub fn new(blocked: BlockedPaths, paths: &'h H) -> BindCheck<'h, H> {
        BindCheck { blocked, paths }
    }

    /// Checks the binds as OpenClaw does when it makes a container. Empty binds are skipped.
    ///
    /// # Errors
    /// The first bind that is refused.
    pub fn openclaw(&self, binds: &[String], rules: &BindRules) -> Result<(), RefusedBind> {
        let mut roots = Vec::new();
        for root in allowed_roots(rules) {
            let real = Route::new(self.paths, &root).real;
            for root in [root, real] {
                if !roots.contains(&root) {
                    roots.push(root);
                }
            }
        }
        for bind in binds.iter().filter(|bind| !trim(bind).is_empty()) {
            self.openclaw_one(bind, rules, &roots)
                .map_err(|reason| RefusedBind { bind: bind.clone(), reason })?;
        }
        Ok(())
    }

    fn openclaw_one(&self, bind: &str, rules: &BindRules, roots: &[String]) -> Result<(), BindReason> {
        if let Some(reason) = self.blocked_source(bind) {
            return Err(reason);
        }
        let spec = BindSpec::parse(bind);
        if !rules.allow_reserved_targets
            && let Some(target) = spec.container_path()
            && let Some(reserved) = RESERVED.into_iter().find(|reserved| is_within(reserved, &target))
        {
            return Err(BindReason::ReservedTarget { target, reserved });
        }
        if rules.allow_external_sources || roots.is_empty() {
            return Ok(());
        }
        let source = normalize(spec.source);
        let real = Route::new(self.paths, &source).real;
        match [source, real].into_iter().find(|path| !roots.iter().any(|root| is_within(root, path))) {
            Some(source) => Err(BindReason::OutsideAllowedRoots { source, roots: roots.to_vec() }),
            None => Ok(()),
        }
    }

    /// Returns why OpenClaw refuses the source of a bind (`getBlockedBindReason`).
    pub fn blocked_source(&self, bind: &str) -> Option<BindReason> {
        let source = BindSpec::parse(bind).source;
        if !is_absolute(source) {
            return Some(BindReason::NonAbsolute(source.to_owned()));
        }
        let source = normalize(source);
        let overlap = self
            .blocked
            .openclaw(&source)
            .or_else(|| self.blocked.openclaw(&Route::new(self.paths, &source).real));
        overlap.map(BindReason::Blocked)
    }

    /// Checks binds that OpenClaw allows against the guard's own rules.
    ///
    /// # Errors
    /// The first bind that is refused.
    pub fn stricter(&self, binds: &[String], rules: &BindRules) -> Result<(), RefusedBind> {
        let roots: Vec<_> =
            allowed_roots(rules).flat_map(|root| Route::new(self.paths, &root).steps).collect();
        let is_outside = |path: &str| {
            !rules.allow_external_sources
                && !roots.is_empty()
                && !roots.iter().any(|root| is_within(root, path))
        };
        for bind in binds.iter().filter(|bind| !trim(bind).is_empty()) {
            if let Some(reason) = self.stricter_one(bind, rules, is_outside) {
                return Err(RefusedBind { bind: bind.clone(), reason: BindReason::Stricter(reason) });
            }
        }
        Ok(())
    }

    fn stricter_one(
        &self,
        bind: &str,
        rules: &BindRules,
        is_outside: impl Fn(&str) -> bool,
    ) -> Option<StricterReason> {
        let spec = BindSpec::parse(bind);
        if spec.is_volume() {
            return Some(StricterReason::Volume);
        }
        let source = normalize(spec.source);
        if let Some(overlap) = self.blocked.also(&source) {
            return Some(StricterReason::Source(source, overlap));
        }
        let route = Route::new(self.paths, &source);
        for step in &route.steps {
            if let Some(overlap) = self.blocked.openclaw(step).or_else(|| self.blocked.also(step)) {
                return Some(StricterReason::Link(step.clone(), overlap));
            }
            if is_outside(step) {
                return Some(StricterReason::LinkOutside(step.clone()));
            }
        }
        if !route.ends {
            return Some(StricterReason::Endless);
        }
        let target = spec.container_path().filter(|_| !rules.allow_reserved_targets)?;
        let hidden = OWN.into_iter().find(|own| is_within(&target, own))?;
        Some(StricterReason::Hides { target, hidden })
    }
}

fn allowed_roots(rules: &BindRules) -> impl Iterator<Item = String> {
    rules.allowed_source_roots.iter().filter(|root| is_absolute(root)).map(|root| normalize(root))
}

fn sentence(bind: &str, reason: &BindReason) -> String {
    let rest = match reason {
        BindReason::Stricter(reason) => {
            return format!("Stricter than OpenClaw: bind mount \"{bind}\" {reason}");
        }
        BindReason::Blocked(overlap) => format!(
            "{overlap}. Mounting system directories, credential paths, or Docker socket paths into sandbox containers \
             is not allowed. Use project-specific paths instead (e.g. /home/user/myproject)."
        ),
        BindReason::NonAbsolute(source) => format!(
            "uses a non-absolute source path \"{source}\". Only absolute POSIX or Windows drive-letter paths are \
             supported for sandbox binds."
        ),
        BindReason::OutsideAllowedRoots { source, roots } => format!(
            "source \"{source}\" is outside allowed roots ({}). Use a dangerous override only when you fully trust \
             this runtime.",
            roots.join(", ")
        ),
        BindReason::ReservedTarget { target, reserved } => format!(
            "targets reserved container path \"{reserved}\" (resolved target: \"{target}\"). This can shadow OpenClaw \
             sandbox mounts. Use a dangerous override only when you fully trust this runtime."
        ),
    };
    format!("Sandbox security: bind mount \"{bind}\" {rest}")
}

impl Display for Overlap {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Overlap::Targets(path) => write!(formatter, "targets blocked path \"{path}\""),
            Overlap::Covers(path) => write!(formatter, "covers blocked path \"{path}\""),
        }
    }
}

impl Display for StricterReason {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            StricterReason::Source(_, overlap) => {
                write!(formatter, "{overlap}. Bind a directory of the project instead.")
            }
            StricterReason::Link(path, overlap) => {
                write!(
                    formatter,
                    "leads by a link to \"{path}\", which {overlap}. Bind the directory itself."
                )
            }
            StricterReason::LinkOutside(path) => {
                write!(formatter, "leads by a link to \"{path}\", outside of the allowed roots.")
            }
            StricterReason::Endless => formatter
                .write_str("has a source whose links lead nowhere: a loop, or a link that cannot be read."),
            StricterReason::Volume => {
                formatter.write_str("is a volume for Docker on Linux, not a drive. Give an absolute path.")
            }
            StricterReason::Hides { target, hidden } => write!(
                formatter,
                "has the target \"{target}\", which hides \"{hidden}\" of the container. Choose a target of its own, \
                 such as /data."
            ),
        }
    }
}
