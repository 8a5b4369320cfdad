//! The command line of the node, and the errors that keep it from starting.

use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use guard_openclaw::gateway::NoAccess;
use guard_policy::NodeCommand;
use guard_policy::approval::GatewayUrl;
use guard_supervisor::config::SetupError;

use super::files::FilesError;

/// The gateway's URL, and this node's name, commands and directory.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard node\n  \
    openclaw-guard node --url wss://gateway.example:18789 --display-name build-box\n  \
    openclaw-guard node --commands system.run,system.run.prepare,system.which\n  \
    openclaw-guard node status --json\n\n\
    It prints the commands to run at the gateway to pair and approve the node (docs/node.md).\n\n\
    Exit status: 0 after SIGINT or SIGTERM, 125 error.")]
#[command(args_conflicts_with_subcommands = true)]
pub struct NodeArgs {
    /// The gateway's URL [default: that of approvals.gateway]
    #[arg(long, value_name = "WS", value_parser = GatewayUrl::parse, value_hint = ValueHint::Url)]
    pub url: Option<GatewayUrl>,
    /// The node's name at the gateway [default: node.displayName, or the host's name]
    #[arg(long, value_name = "NAME")]
    pub display_name: Option<String>,
    /// Offer only these of node.commands
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = command)]
    pub commands: Option<Vec<NodeCommand>>,
    /// The directory for runs that do not name one [default: node.cwd]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub cwd: Option<PathBuf>,
    #[command(subcommand)]
    pub task: Option<NodeTask>,
}

/// What to do instead of running the node.
#[derive(Debug, Subcommand)]
pub enum NodeTask {
    /// Show whether the node is connected, what it may run, and its last run
    #[command(after_help = "Examples:\n  \
        openclaw-guard node status\n  \
        openclaw-guard node status --json | jq .gateway.connected\n\n\
        Exit status: 0 it is connected, 1 it is not, 125 error.")]
    Status {
        /// One object: node, gateway, surface, running, lastRun
        #[arg(long)]
        json: bool,
    },
}

/// Why there is no node.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    NodeFiles(#[from] FilesError),
    #[error(transparent)]
    Access(#[from] NoAccess),
    #[error("this runs inside the guard of process {0}: start the node outside of it")]
    Inside(i32),
    #[error("cannot start: {0}")]
    Start(io::Error),
    #[error("cannot write: {0}")]
    Output(io::Error),
}

fn command(name: &str) -> Result<NodeCommand, String> {
    NodeCommand::from_name(name).ok_or_else(|| format!("one of {}", NodeCommand::NAMES.join(", ")))
}
