//! Starting a guarded command.

use std::ffi::{CString, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use guard_policy::Policy;
use guard_shim::floor as landlock;
use guard_shim::{Plan, filter};

use crate::audit::AuditLog;
use crate::cli::Options;
use crate::environment::{self, candidates};
use crate::exit::Exit;
use crate::floor::{self, Made, Use};
use crate::gateway;
use crate::layers::{self, Layer, is_off};
use crate::process::{self, Order};
use crate::reload::Source;
use crate::setup::{self, Disk, Places, SetupError};
use crate::store::{self, Stores};
use crate::terminal::Outer;
use crate::text::shown;

/// Why a command could not be started guarded.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("kernel.yama.ptrace_scope is {0}: programs cannot be checked after they start; set it to 0 or 1")]
    NoPtrace(u8),
    #[error("no command: try `openclaw-guard -- bash` (see openclaw-guard --help)")]
    NoCommand,
    #[error("a NUL byte in the command or the environment")]
    Nul(#[from] std::ffi::NulError),
    #[error("cannot build the Landlock floor: {0}")]
    Floor(String),
    #[error("the floor is not full ({0}) and --require-floor was given")]
    FloorRequired(String),
    #[error("cannot open the audit log {path}: {error}", path = path.display())]
    Audit { path: PathBuf, error: std::io::Error },
    #[error(transparent)]
    Process(#[from] process::ProcessError),
}

/// Runs the command and returns its status.
///
/// # Errors
/// When it could not be started guarded.
pub fn run(options: &Options, command: &[OsString]) -> Result<Exit, RunError> {
    let name = command.first().ok_or(RunError::NoCommand)?;
    may_trace()?;
    let places = Places::find(options)?;
    let text = setup::read(&places, |path| std::fs::read(path))?;
    let mut stores = Stores::load(&places.state_directory);
    let compile = |stores: &Stores| setup::compile(options, &places, Disk::Used, text.as_deref(), stores);
    let mut policy = compile(&stores)?;
    if policy.approvals().gateway().admin() {
        let asked = gateway::ask_first(&policy, &places.state_directory);
        stores.gateways = store::load_gateways(&places.state_directory);
        policy = compile(&stores)?;
        if let Err(why) = asked {
            eprintln!("openclaw-guard: {}", shown(why.as_bytes()));
        }
    }
    // A floor would block; observing blocks nothing.
    let entered = if options.observe || is_off(Layer::Floor) { Use::LeftOut } else { Use::Entered };
    let floor = Made::of(&policy, &options.tiers, entered).map_err(RunError::Floor)?;
    let state = describe(&floor);
    if options.require_floor && floor.status != landlock::Status::Full {
        return Err(RunError::FloorRequired(state));
    }
    let untrapped = floor.plan.untrapped();
    let filter = layers::filter(filter::Program::of(filter::Options {
        // Refused: what such a socket sends names its peer in memory, and nothing here rebuilds messages.
        unix_datagram: false,
        // Without the floor it would reach processes outside the tree.
        allow_ptrace: policy.allow_ptrace() && floor.domain.is_some(),
        scoped_signals: floor.scopes_signals(),
        kernel_reads: untrapped.reads,
        kernel_writes: untrapped.writes,
    }));
    let audit = audit_log(options, &places)?;
    let inherited = environment::of_command(&policy, &places.state_directory);
    announce(options, &policy, &places, &floor.plan, &state);
    if !options.quiet {
        environment::announce(options, &inherited);
    }
    let plan = Plan {
        candidates: c_strings(candidates(name, &inherited.env).into_iter().map(PathBuf::into_os_string))?,
        argv: c_strings(command.iter().cloned())?,
        envp: environment::c_strings(inherited.env)?,
        filter,
        floor: floor.domain.filter(|_| !is_off(Layer::Domain)),
        nofile: process::descriptor_limit(),
        ignored_signals: process::ignored_signals(),
        terminal: None,
    };
    let order = Order {
        name: name.clone(),
        plan,
        terminal: Outer::find(),
        policy,
        source: Source { options: options.clone(), places, text, stores },
        floor: floor.plan,
        audit,
        observe: options.observe,
        is_attended: !options.observe && !options.unattended,
        lines: !options.quiet,
        kill_on_exit: options.kill_on_exit,
    };
    Ok(process::start(order)?)
}

/// Yama (Documentation/admin-guide/LSM/Yama.rst): with 2 and 3 nobody without capabilities may trace, or read the
/// memory of, another process, and every call of the tree would fail.
fn may_trace() -> Result<(), RunError> {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    match scope.ok().and_then(|scope| scope.trim().parse().ok()) {
        Some(scope @ 2..) => Err(RunError::NoPtrace(scope)),
        _ => Ok(()),
    }
}

/// The log that the command line names must open; the default one is only missed aloud.
fn audit_log(options: &Options, places: &Places) -> Result<Option<AuditLog>, RunError> {
    match AuditLog::open(&places.audit) {
        Ok(log) => Ok(Some(log)),
        Err(error) if options.audit.is_some() => Err(RunError::Audit { path: places.audit.clone(), error }),
        Err(error) => {
            eprintln!("openclaw-guard: no audit log, cannot open {}: {error}", places.audit.display());
            Ok(None)
        }
    }
}

fn describe(floor: &Made) -> String {
    match &floor.status {
        landlock::Status::Full => "full".to_owned(),
        landlock::Status::Partial { missing } => format!("partial, without {}", missing.join(", ")),
        landlock::Status::None => "none, this kernel has no Landlock".to_owned(),
    }
}

/// The policy's warnings, and on a terminal one line on what is in force.
fn announce(options: &Options, policy: &Policy, places: &Places, plan: &floor::Plan, floor: &str) {
    if options.quiet {
        return;
    }
    for warning in policy.warnings() {
        eprintln!("openclaw-guard: {}", shown(warning.as_bytes()));
    }
    if !std::io::stderr().is_terminal() {
        return;
    }
    let source = if places.policy.exists() {
        places.policy.display().to_string()
    } else {
        "built-in policy".to_owned()
    };
    let mode = if options.observe { ", observing only" } else { "" };
    let tiers = plan.tiers();
    eprintln!("openclaw-guard: agent {}, {source}, tiers: {tiers}, floor: {floor}{mode}", policy.agent());
}

fn c_strings(items: impl Iterator<Item = OsString>) -> Result<Vec<CString>, std::ffi::NulError> {
    items.map(|item| CString::new(item.into_vec())).collect()
}
