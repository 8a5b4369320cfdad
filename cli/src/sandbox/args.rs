//! `sandbox args`

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use guard_policy::text::{shown, shown_json};
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde_json::json;

use super::SandboxError;
use super::container::Container;
use super::question::{SandboxConfig, SessionSandbox};

/// The placeholder for the file with the variables, which OpenClaw makes and removes.
const ENV_FILE: &str = "ENV_FILE";

/// Which container.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard sandbox args\n  \
    openclaw-guard sandbox args --session-key agent:main:cron:1 --json\n  \
    openclaw-guard --agent work sandbox args | grep -A1 -e '^--network'\n\n\
    One argument a line. ENV_FILE stands for the file with the container's variables. Their names\n\
    are printed with --json; their values never are. Left out: the label with OpenClaw's hash of the\n\
    settings, and the mounts of skills.\n\n\
    Exit status: 0; 1 when the container is refused, with the reason on stderr; 125 when\n\
    openclaw.json cannot be used.")]
pub struct ArgsArgs {
    /// OpenClaw's configuration [default: openclaw.json in its state directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Print a JSON object: program, argv, env (only the names of the variables)
    #[arg(long)]
    json: bool,
}

pub fn args(options: &Options, arguments: &ArgsArgs) -> Result<Exit, SandboxError> {
    let config = SandboxConfig::read(options, arguments.config.as_deref(), None)?;
    let sandbox = config.session(options)?;
    let SessionSandbox { session, settings, .. } = &sandbox;
    if !sandbox.has_container() {
        return Ok(refused(&format!(
            "the backend {:?} makes no container on this machine",
            settings.backend
        )));
    }
    if let Some(refusal) = config.refusal(&sandbox) {
        return Ok(refused(&refusal.to_string()));
    }
    let container = match Container::new(&sandbox, guard_openclaw::clock::now_ms()) {
        Ok(container) => container,
        Err(error) => return Ok(refused(&error.to_string())),
    };
    if !session.is_sandboxed(settings.mode) {
        eprintln!("openclaw-guard: this session runs without a sandbox; its container would get:");
    }
    let argv = container.create(ENV_FILE);
    let text = if arguments.json {
        let program = settings.backend.to_lowercase();
        let json = json!({ "program": program, "argv": argv, "env": container.names() });
        shown_json(&json.to_string()).into_owned() + "\n"
    } else {
        argv.iter().map(|word| shown(word.as_bytes()) + "\n").collect()
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

fn refused(sentence: &str) -> Exit {
    eprintln!("openclaw-guard: {}", shown(sentence.as_bytes()));
    Exit::Wrong
}
