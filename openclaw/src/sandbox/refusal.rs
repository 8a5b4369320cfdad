//! All checks of a container's settings, in OpenClaw's order (`validateSandboxSecurity`), and then the guard's.

use super::binds::{BindCheck, BindRules, RefusedBind};
use super::isolation::{Isolation, RefusedIsolation};
use super::links::HostPaths;
use super::settings::DockerSettings;

/// What is refused. Its text is the sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxRefusal {
    /// A bind.
    #[error(transparent)]
    Bind(#[from] RefusedBind),
    /// A network or a profile.
    #[error(transparent)]
    Isolation(#[from] RefusedIsolation),
}

/// Checks binds and isolation.
///
/// # Errors
/// What OpenClaw would refuse first, or, if it would refuse nothing, what the guard refuses.
pub fn check<H: HostPaths>(
    check: &BindCheck<'_, H>,
    binds: &[String],
    rules: &BindRules,
    isolation: &Isolation<'_>,
) -> Result<(), SandboxRefusal> {
    check.openclaw(binds, rules)?;
    isolation.check()?;
    Ok(check.stricter(binds, rules)?)
}

impl DockerSettings {
    /// The exceptions for binds, with these roots for their sources.
    pub fn bind_rules(&self, allowed_source_roots: Vec<String>) -> BindRules {
        BindRules {
            allowed_source_roots,
            allow_external_sources: self.allow_external_sources == Some(true),
            allow_reserved_targets: self.allow_reserved_targets == Some(true),
        }
    }

    /// The container's isolation.
    pub fn isolation(&self) -> Isolation<'_> {
        Isolation {
            network: Some(&self.network),
            allow_container_network: self.allow_container_network == Some(true),
            seccomp: self.seccomp_profile.as_deref(),
            apparmor: self.apparmor_profile.as_deref(),
        }
    }
}
