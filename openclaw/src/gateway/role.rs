//! The guard's role at a gateway: an operator, which asks questions, or a node, which runs commands.

use serde_json::{Value, json};

use super::identity::{self, Claim};

/// The platform of the guard's client.
const PLATFORM: &str = "linux";
/// The family of the node's device.
const FAMILY: &str = "Linux";

/// The guard's role at a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientRole {
    /// It asks questions, and reads the gateway's approvals.
    Operator,
    /// It runs commands.
    Node(NodeClient),
}

/// A node, as it presents itself to a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClient {
    /// The name that people see.
    pub display_name: String,
    /// Tells this installation from others.
    pub instance_id: String,
    /// The commands that the gateway may call, sorted.
    pub commands: Vec<&'static str>,
}

impl ClientRole {
    /// The file of the identity in this role.
    pub fn identity(&self) -> &'static str {
        match self {
            ClientRole::Operator => identity::NAME,
            ClientRole::Node(_) => identity::NODE,
        }
    }

    /// The role's name.
    pub fn name(&self) -> &'static str {
        self.words().2
    }

    /// Returns the client's id and mode, the role, and the family of its device. A gateway accepts only the client
    /// ids that it knows (OpenClaw 2026.9.6).
    fn words(&self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            ClientRole::Operator => ("gateway-client", "backend", "operator", ""),
            ClientRole::Node(_) => ("node-host", "node", "node", FAMILY),
        }
    }

    /// Returns the parameters of `connect`, without `auth` and `device`. If `is_named` is false, the display
    /// name is missing too.
    pub fn params(&self, scopes: &[&str], is_named: bool) -> Value {
        let (id, mode, role, family) = self.words();
        let mut client =
            json!({"id": id, "version": env!("CARGO_PKG_VERSION"), "platform": PLATFORM, "mode": mode});
        let name = match self {
            ClientRole::Operator => "openclaw-guard",
            ClientRole::Node(node) => &node.display_name,
        };
        if is_named {
            client["displayName"] = json!(name);
        }
        let mut params = json!({
            "minProtocol": 3,
            "maxProtocol": 4,
            "client": client,
            "role": role,
            "scopes": scopes,
            "caps": [],
        });
        if let ClientRole::Node(node) = self {
            params["client"]["deviceFamily"] = json!(family);
            params["client"]["instanceId"] = json!(node.instance_id);
            params["caps"] = json!(["system"]);
            params["commands"] = json!(node.commands);
        }
        params
    }

    /// Returns what the guard signs for a connection, which includes the token that it sends.
    pub fn claim<'a>(
        &self,
        scopes: &'a [&'a str],
        signed_at: i64,
        token: &'a str,
        nonce: &'a str,
    ) -> Claim<'a> {
        let (client, mode, role, family) = self.words();
        Claim { client, mode, role, scopes, signed_at, token, nonce, platform: PLATFORM, family }
    }
}
