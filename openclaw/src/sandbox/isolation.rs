//! Networks and profiles that would take a container's isolation away (src/agents/sandbox/network-mode.ts and
//! validate-sandbox-security.ts).

use crate::ecmascript::folded;

/// A setting that is refused. Its text is OpenClaw's sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusedIsolation {
    /// The network of the host.
    #[error(
        "Sandbox security: network mode \"{0}\" is blocked. Network \"host\" mode bypasses container network isolation. Use \"bridge\" or \"none\" instead."
    )]
    HostNetwork(String),
    /// The network of another container.
    #[error(
        "Sandbox security: network mode \"{0}\" is blocked by default. Network \"container:*\" joins another container namespace and bypasses sandbox network isolation. Use a custom bridge network, or set dangerouslyAllowContainerNamespaceJoin=true only when you fully trust this runtime."
    )]
    ContainerNetwork(String),
    /// No seccomp filter.
    #[error(
        "Sandbox security: seccomp profile \"{0}\" is blocked. Disabling seccomp removes syscall filtering and weakens sandbox isolation. Use a custom seccomp profile file or omit this setting."
    )]
    Seccomp(String),
    /// No AppArmor.
    #[error(
        "Sandbox security: apparmor profile \"{0}\" is blocked. Disabling AppArmor removes mandatory access controls and weakens sandbox isolation. Use a named AppArmor profile or omit this setting."
    )]
    AppArmor(String),
}

/// The configured isolation of a container.
#[derive(Clone, Copy, Debug, Default)]
pub struct Isolation<'s> {
    /// `network`.
    pub network: Option<&'s str>,
    /// `dangerouslyAllowContainerNamespaceJoin`.
    pub allow_container_network: bool,
    /// `seccompProfile`.
    pub seccomp: Option<&'s str>,
    /// `apparmorProfile`.
    pub apparmor: Option<&'s str>,
}

impl Isolation<'_> {
    /// Checks the settings, in OpenClaw's order.
    ///
    /// # Errors
    /// The first one that is refused.
    pub fn check(&self) -> Result<(), RefusedIsolation> {
        let network = self.network.unwrap_or_default();
        let mode = folded(network);
        if mode == "host" {
            return Err(RefusedIsolation::HostNetwork(network.to_owned()));
        }
        if mode.starts_with("container:") && !self.allow_container_network {
            return Err(RefusedIsolation::ContainerNetwork(network.to_owned()));
        }
        let unconfined = |profile: Option<&str>| {
            profile.filter(|profile| folded(profile) == "unconfined").map(str::to_owned)
        };
        if let Some(profile) = unconfined(self.seccomp) {
            return Err(RefusedIsolation::Seccomp(profile));
        }
        unconfined(self.apparmor).map_or(Ok(()), |profile| Err(RefusedIsolation::AppArmor(profile)))
    }
}
