//! `openclaw-guard learn`: proposes a policy that allows what a command does, or what OpenClaw's tools did.

mod calls;
mod print;
mod target;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use guard_openclaw::approvals_store::Stores;
use guard_policy::Problem;
use guard_policy::learn::{self, FinalState, Observation, Session};
use guard_supervisor::audit::reader::ReadError;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError};
use guard_supervisor::exit::Exit;
use guard_supervisor::judge::recorder::{self, Seen};
use guard_supervisor::run::{self, RunError};

use crate::confirm;
use crate::edit::EditError;
use crate::web_proxy;
use calls::ObservedCalls;
use print::Summary;
use target::{OutputTarget, TargetOutcome};

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard learn -o guard.json -- cargo build\n  \
    openclaw-guard learn -o guard.json -- npm test             asks, then adds what is missing\n  \
    openclaw-guard learn --width tight -- make > guard.json\n  \
    openclaw-guard learn --json -- pytest | jq -r '.leftOut[] | \"\\(.path): \\(.why)\"'\n  \
    openclaw-guard learn --agent main -o guard.json --calls\n\n\
    While it learns, the guard denies only its own files and OpenClaw's. Run only what you trust.\n\
    --calls runs nothing: it reads the audit log that `gate serve --observe` has written.\n\n\
    Exit status: the command's, whether or not the policy changes; 1 an existing policy was not\n\
    changed because nobody confirmed it; 125 the guard failed.")]
pub struct LearnArgs {
    /// Write the policy to this file; add to an existing file what is missing, after asking [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How much to allow beyond what was seen
    #[arg(long, value_enum, default_value_t = WidthArg::Normal)]
    width: WidthArg,
    /// Add to an existing policy without asking
    #[arg(short, long)]
    yes: bool,
    /// Print a JSON object: status, counts, rules, programs, deny, hosts, leftOut, conflicts, refused,
    /// unused, written, policy
    #[arg(long)]
    json: bool,
    /// Run nothing: learn from the calls of OpenClaw's tools that `gate serve --observe` has logged
    #[arg(long, conflicts_with = "command")]
    calls: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "calls", value_name = "CMD")]
    command: Vec<OsString>,
}

/// `--width`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WidthArg {
    /// What was seen, and directories in which many files were seen
    Tight,
    /// The project, caches, temporary, system and toolchain directories; programs that were seen or are built in the
    /// project
    Normal,
    /// As normal, with the other programs in the same directories, and whole caches
    Wide,
}

impl From<WidthArg> for learn::Width {
    fn from(width: WidthArg) -> learn::Width {
        match width {
            WidthArg::Tight => learn::Width::Tight,
            WidthArg::Normal => learn::Width::Normal,
            WidthArg::Wide => learn::Width::Wide,
        }
    }
}

/// Why there is no proposal, or it was not written.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error(transparent)]
    Log(#[from] ReadError),
    #[error(
        "the audit log has no call of agent {0}'s tools to learn from: run `openclaw-guard --observe gate serve` \
         while it works, or name another one with --agent"
    )]
    NoCalls(String),
    #[error("{}", guard_policy::text::shown(.0.as_bytes()))]
    Openclaw(String),
    #[error("cannot keep a record: {0}")]
    Record(std::io::Error),
    #[error("cannot write: {0}")]
    Output(std::io::Error),
    #[error("{}: the directory does not exist: create it, or name another file", guard_policy::text::shown(.0.as_os_str().as_bytes()))]
    NoDirectory(PathBuf),
    #[error(
        "{}: the command has replaced a directory on its path, so nothing is written: name another file, \
         or none for standard output",
        guard_policy::text::shown(.0.as_os_str().as_bytes())
    )]
    Moved(PathBuf),
    #[error("cannot compile a policy for this host: `openclaw-guard policy validate` may say why")]
    NoProposal,
}

impl From<Vec<Problem>> for LearnError {
    fn from(problems: Vec<Problem>) -> LearnError {
        LearnError::Setup(SetupError::Invalid(problems))
    }
}

/// Runs the command, or reads the calls, and proposes a policy.
///
/// # Errors
/// When the command cannot be run, or the proposal cannot be written.
pub fn act(options: &Options, arguments: &LearnArgs) -> Result<Exit, LearnError> {
    let mut options = options.clone();
    let mut paths = Paths::find(&options)?;
    if arguments.calls {
        (options.agent, paths) = calls::agent_and_paths(&options, &paths)?;
    }
    let options = &options;
    let target = OutputTarget::find(arguments.output.as_deref())?;
    paths.deny(&target.files());
    let in_force = config::policy(options, &paths, Disk::Used)?;
    paths.close(&in_force, &Stores::load(&paths.state_directory));
    let text = match &target {
        OutputTarget::Existing { text, .. } => Some(text.as_bytes()),
        OutputTarget::Stdout | OutputTarget::New(_) => None,
    };
    let stores = Stores::load(&paths.state_directory);
    config::settle_workspace(options, &mut paths, text, &stores);
    let (ended, seen) = if arguments.calls {
        let calls = ObservedCalls::read(options)?;
        print::calls(options, &calls);
        (None, calls.seen)
    } else {
        let (ended, seen) = record(options, arguments, &paths)?;
        (Some(ended), seen)
    };
    let Seen { paths: seen, hosts: reached, is_cut } = seen;
    let observations: Vec<Observation> = seen.into_iter().map(observation).collect();
    let caches = caches();
    config::on_host(&paths, |host| {
        let session = Session {
            observations: &observations,
            reached: &reached,
            host,
            caches: &caches,
            agent: &options.agent,
        };
        let proposal = learn::propose(&session, arguments.width.into()).ok_or(LearnError::NoProposal)?;
        let merge = match &target {
            OutputTarget::Existing { spot, text } => {
                Some(learn::merge(&spot.path.to_string_lossy(), text, &session, &proposal)?)
            }
            OutputTarget::Stdout | OutputTarget::New(_) => None,
        };
        let summary = Summary {
            ended,
            is_cut,
            observations: &observations,
            reached: &reached,
            proposal: &proposal,
            merge: merge.as_ref(),
            in_force: &in_force,
            home: &paths.home,
        };
        summary.summary(options, &paths);
        let written = target.write(arguments.yes, summary.proposal, summary.merge)?;
        summary.result(options, arguments, &target, written).map_err(LearnError::Output)?;
        let done = ended.unwrap_or(Exit::Command(0));
        Ok(if written == TargetOutcome::Refused { Exit::Wrong } else { done })
    })
}

/// Runs the command; returns how it ended, and what it did.
fn record(options: &Options, arguments: &LearnArgs, paths: &Paths) -> Result<(Exit, Seen), LearnError> {
    let (recorder, recording) = recorder::pair().map_err(LearnError::Record)?;
    print::start(options, &arguments.command);
    let ended = run::learn(options, &arguments.command, paths.clone(), recorder, &web_proxy::command())?;
    confirm::let_signals_through();
    Ok((ended, recording.read().map_err(LearnError::Record)?))
}

/// The use of a path, with the file that is there now.
fn observation((path, used): (Vec<u8>, learn::Used)) -> Observation {
    let final_state = match std::fs::symlink_metadata(OsStr::from_bytes(&path)) {
        Ok(meta) if meta.is_dir() => FinalState::Directory,
        Ok(_) => FinalState::File,
        Err(_) => FinalState::Nothing,
    };
    Observation { path, used, final_state }
}

/// The caches that the operator's environment names; the command has the same environment.
fn caches() -> Vec<Vec<u8>> {
    let home = std::env::var_os("XDG_CACHE_HOME").filter(|home| Path::new(home).is_absolute());
    home.into_iter()
        .map(|home| guard_openclaw::real_path::real(Path::new(&home)).into_os_string().into_vec())
        .collect()
}
