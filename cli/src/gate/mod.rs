//! `openclaw-guard gate`: asks the policy about each call of one of OpenClaw's tools, before OpenClaw makes it.
//!
//! A plugin in OpenClaw's gateway ([`plugin`]) sends each call to a socket (`serve`, `protocol`). `judge`
//! decides about the tool by OpenClaw's own steps, and about what the call reaches for by guard.json. `sources`
//! reads guard.json and openclaw.json again when they change.

mod install;
mod judge;
pub mod plugin;
mod protocol;
mod repository;
mod serve;
mod sources;
pub mod status;

use std::io;

use clap::{Args, Subcommand};
use guard_policy::text::shown;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{Paths, SetupError};
use guard_supervisor::exit::Exit;

use sources::SourceError;

/// The socket's name in `guard/run` of the state directory.
pub const SOCKET: &str = "gate.sock";

/// What to do with the gate.
#[derive(Debug, Subcommand)]
pub enum GateCommand {
    /// Answer the plugin's questions until interrupted
    Serve(ServeArgs),
    /// Put the plugin into OpenClaw
    #[command(after_help = "Examples:\n  \
        openclaw-guard gate install\n  \
        OPENCLAW_STATE_DIR=~/other openclaw-guard gate install\n\n\
        It writes guard/plugin in the state directory, and has `openclaw plugins install --link` link it.\n\
        Where openclaw is not on PATH, it prints that command. Restart the gateway afterwards.\n\n\
        Exit status: 0, 125 error.")]
    Install,
    /// Show whether the gate judges tool calls
    #[command(after_help = "Examples:\n  \
        openclaw-guard gate status\n  \
        openclaw-guard gate status --json | jq .plugin\n\n\
        Exit status: 0 the service answers and the plugin is as installed, 1 it is not, 125 error.")]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take the plugin out of OpenClaw
    #[command(after_help = "Example:\n  \
        openclaw-guard gate remove\n\n\
        Restart the gateway afterwards: until then it keeps the plugin loaded, which\n\
        blocks every tool call while `gate serve` does not run.\n\n\
        Exit status: 0, 125 error.")]
    Remove,
}

/// How to serve.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard gate serve\n  \
    openclaw-guard --observe gate serve            deny nothing, log what would be denied\n  \
    systemctl --user enable --now openclaw-guard-gate\n\n\
    Changes of guard.json and openclaw.json take effect from the next call on.\n\n\
    While `gate serve` does not run, the plugin blocks every call.\n\n\
    Exit status: 125 error. Otherwise it runs until a signal ends it.")]
pub struct ServeArgs {
    /// Do not judge the text of commands: the gateway's SHELL is the guard, which judges what they start
    #[arg(long)]
    pub wrapped: bool,
}

/// Why a subcommand of the gate failed.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Run(#[from] guard_supervisor::run::RunError),
    #[error(
        "the gate runs already: another process answers at {0} (`systemctl --user stop openclaw-guard-gate`)"
    )]
    Runs(String),
    #[error("`gate serve` works only outside a guard: process {0} above this one is, or may be, a guard")]
    Inside(i32),
    #[error("the gate takes the agent of each call: leave out --agent")]
    Agent,
    #[error("cannot listen at {path}: {error}")]
    Socket { path: String, error: io::Error },
    #[error("cannot write {path}: {error}")]
    Write { path: String, error: io::Error },
    #[error("cannot remove {path}: {error}")]
    Remove { path: String, error: io::Error },
    #[error("OpenClaw could not take the plugin (status {status}): {output}")]
    Openclaw { status: String, output: String },
    #[error("cannot read {0}, so it is not known which tools OpenClaw allows")]
    Config(#[source] SourceError),
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// Runs the subcommand.
///
/// # Errors
/// Why it could not be done.
pub fn act(options: &Options, action: &GateCommand) -> Result<Exit, GateError> {
    let paths = Paths::find(options)?;
    match action {
        GateCommand::Serve(arguments) => serve::serve(options, paths, arguments),
        GateCommand::Install => install::install(&paths),
        GateCommand::Remove => install::remove(&paths),
        GateCommand::Status { json } => status::print(&paths, *json),
    }
}

/// The socket's path.
pub fn socket(paths: &Paths) -> std::path::PathBuf {
    paths.state_directory.join("guard/run").join(SOCKET)
}

fn shown_path(path: &std::path::Path) -> String {
    shown(path.as_os_str().as_encoded_bytes())
}
