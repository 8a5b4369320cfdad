//! Who holds a call of a tool to the guard's policy.

use serde::Serialize;

use super::arguments::AskerArgs;
use super::source::Computed;

/// Who holds a tool to guard.json when the model calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    /// The kernel asks the guard about each program and path of the command.
    Kernel,
    /// The gate asks the guard about each call (`gate serve`).
    Gate,
    /// Nothing of the guard: OpenClaw itself runs the tool, outside.
    Nobody,
}

impl Holder {
    pub fn word(self) -> &'static str {
        match self {
            Holder::Kernel => "kernel",
            Holder::Gate => "gate",
            Holder::Nobody => "nobody",
        }
    }
}

/// Returns who holds a tool. The plugin of the gate asks about every tool. Only commands run in a guard. On the
/// gateway's host, they do so if the gateway's SHELL starts the guard, which the configuration does not say. On a
/// node, the node's guard holds them.
pub fn holder(tool: &str, whose: &AskerArgs, computed: &Computed) -> Holder {
    let host = computed.settings.exec_host(&computed.tools.agent);
    let is_held = match host {
        Some("node") => true,
        Some("sandbox") => false,
        // Without `gateway`, commands of a sandboxed session run in the sandbox.
        Some("gateway") => whose.wrapped,
        _ => whose.wrapped && !computed.tools.is_sandboxed,
    };
    match tool {
        "exec" if is_held => Holder::Kernel,
        _ if computed.is_gated => Holder::Gate,
        _ => Holder::Nobody,
    }
}
