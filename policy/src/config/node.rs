//! `node`: the settings of `openclaw-guard node`.

use schemars::JsonSchema;
use serde::Serialize;

use super::schema_patterns::{DIRECTORY, NAME};

/// The default of `node.maxRunning`.
const MAX_RUNNING: usize = 8;
/// The upper limit of `node.maxRunning`: each run has processes and a thread of its own.
pub(crate) const RUNNING_LIMIT: usize = 256;
/// The default of `node.outputBytes` (OpenClaw 2026.9.6).
const OUTPUT_BYTES: usize = 200_000;
/// The upper limit of `node.outputBytes`: in JSON each byte may become six, and a gateway takes 25 MiB.
pub(crate) const OUTPUT_LIMIT: usize = 2_000_000;
/// The default of `node.eventTailBytes` (OpenClaw 2026.9.6).
const EVENT_TAIL_BYTES: usize = 20_000;

/// A command that a gateway may call on the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum NodeCommand {
    /// Returns what the gateway has set for runs here.
    #[serde(rename = "system.execApprovals.get")]
    ApprovalsGet,
    /// Changes that.
    #[serde(rename = "system.execApprovals.set")]
    ApprovalsSet,
    /// Runs a command.
    #[serde(rename = "system.run")]
    Run,
    /// Says what a command would run, to be approved.
    #[serde(rename = "system.run.prepare")]
    Prepare,
    /// Finds programs along PATH.
    #[serde(rename = "system.which")]
    Which,
}

impl NodeCommand {
    /// Every command, in the order in which OpenClaw's own node names them.
    pub const ALL: [NodeCommand; 5] = [
        NodeCommand::ApprovalsGet,
        NodeCommand::ApprovalsSet,
        NodeCommand::Run,
        NodeCommand::Prepare,
        NodeCommand::Which,
    ];

    /// The names of all commands.
    pub const NAMES: [&'static str; 5] = [
        "system.execApprovals.get",
        "system.execApprovals.set",
        "system.run",
        "system.run.prepare",
        "system.which",
    ];

    /// The command with this name.
    pub fn from_name(name: &str) -> Option<NodeCommand> {
        NodeCommand::ALL.into_iter().find(|command| command.as_str() == name)
    }

    /// The command's name.
    pub fn as_str(self) -> &'static str {
        NodeCommand::NAMES[self as usize]
    }
}

/// `node`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct Node {
    /// The node's name at the gateway. Default: the host's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = NAME))]
    pub(crate) display_name: Option<String>,
    /// The commands that a gateway may call. Default: all five.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) commands: Option<Vec<NodeCommand>>,
    /// The directory of runs that name none. Default: ~.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DIRECTORY))]
    pub(crate) cwd: Option<String>,
    /// How many commands may run at once. Default: 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub(crate) max_running: Option<usize>,
    /// How much output of a run is returned, in bytes. Default: 200000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_000_000))]
    pub(crate) output_bytes: Option<usize>,
    /// How much output a run's event has, from its end, in bytes. Default: 20000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_000_000))]
    pub(crate) event_tail_bytes: Option<usize>,
}

/// `node` with the defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// `node.displayName`; `None` stands for the host's name.
    pub display_name: Option<String>,
    /// `node.commands`, sorted.
    pub commands: Vec<NodeCommand>,
    /// `node.cwd`, as written: `~` is not expanded.
    pub cwd: String,
    /// `node.maxRunning`.
    pub max_running: usize,
    /// `node.outputBytes`.
    pub output_bytes: usize,
    /// `node.eventTailBytes`.
    pub event_tail_bytes: usize,
}

impl Default for NodeSettings {
    fn default() -> NodeSettings {
        NodeSettings::from_document(&Node::default())
    }
}

impl NodeSettings {
    pub(crate) fn from_document(node: &Node) -> NodeSettings {
        let mut commands = node.commands.clone().unwrap_or_else(|| NodeCommand::ALL.to_vec());
        commands.sort();
        commands.dedup();
        NodeSettings {
            display_name: node.display_name.clone(),
            commands,
            cwd: node.cwd.clone().unwrap_or_else(|| "~".to_owned()),
            max_running: node.max_running.unwrap_or(MAX_RUNNING),
            output_bytes: node.output_bytes.unwrap_or(OUTPUT_BYTES),
            event_tail_bytes: node.event_tail_bytes.unwrap_or(EVENT_TAIL_BYTES),
        }
    }
}
