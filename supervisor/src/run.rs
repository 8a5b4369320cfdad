//! Starting a guarded command.

use std::ffi::{CString, OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use guard_openclaw::approvals_store::{self, Stores};
use guard_openclaw::gateway;
use guard_policy::environment::{Inherited, Variable};
use guard_policy::text::shown;
use guard_policy::{
    Access, AuditSettings, ElevatedSender, Enclosure, Limits, OnError, Outcome, Policy, Request, SenderError,
    decide,
};
use guard_shim::LaunchPlan;
use guard_shim::failpoints::{self, Layer, is_layer_off};
use guard_shim::filter::{FilterOptions, FilterProgram};
use guard_shim::landlock::{LandlockStatus, RulesetError};

use crate::audit::{self, AuditLog, Journal, Writer};
use crate::config::environment::{self, candidates};
use crate::config::followed_names::{Followed, FollowedNames};
use crate::config::options::{LogTo, Options, ProfileChoice, Tier};
use crate::config::profile::{self, FoundProfile};
use crate::config::realpath::Links;
use crate::config::reload::PolicySource;
use crate::config::{self, Paths, SetupError, untrusted_environment};
use crate::exit::Exit;
use crate::judge::recorder::Recorder;
use crate::kernel::trace::yama;
use crate::landlock::{BuiltDomain, Use};
use crate::outside::Unavailable;
use crate::process::{self, SessionSettings, Spawn};
use crate::terminal::Tty;
use crate::web::{ProxyCommand, ProxySockets};

/// Why a guarded command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No usable policy.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Yama forbids ptrace(2) of processes that are not one's children; contains its setting.
    #[error("kernel.yama.ptrace_scope is {0}: programs cannot be checked after they start; set it to 0 or 1")]
    NoPtrace(u8),
    /// The command line has options and no command.
    #[error("there is no command: try `openclaw-guard -- bash` (`openclaw-guard --help`)")]
    NoCommand,
    /// An argument or a variable cannot be passed to execve(2).
    #[error("a NUL byte in the command or the environment")]
    Nul(#[from] std::ffi::NulError),
    /// The Landlock domain could not be created.
    #[error("cannot build the Landlock floor: {0}")]
    Floor(#[source] RulesetError),
    /// --require-floor was given, and the kernel lacks Landlock or a part of it; contains which, in words.
    #[error("the Landlock floor is incomplete ({0}) and --require-floor was given")]
    FloorRequired(String),
    /// The audit log cannot be opened, and `audit.onError` or the command line requires it.
    #[error(
        "cannot open the audit log {path}: {error}; programs that cannot be logged do not start: name another file with --audit or audit.path, or set audit.onError to \"continue\" in guard.json",
        path = shown(path.as_os_str().as_bytes())
    )]
    Audit {
        /// The log.
        path: PathBuf,
        /// Why it could not be opened.
        error: std::io::Error,
    },
    /// systemd's journal is requested but does not respond.
    #[error("cannot reach systemd's journal: {0}; if there is none, remove --log and audit.journald")]
    Journal(std::io::Error),
    /// The proxy of `network.web` has no port.
    #[error("cannot take a port for the guard's proxy (network.web): {0}")]
    Proxy(std::io::Error),
    /// The environment of --untrusted-environment is lost.
    #[error("cannot read the command's environment: {0}")]
    Environment(std::io::Error),
    /// What a node hands to the guard of a run is lost.
    #[error("cannot read what the node hands over: {0}")]
    HandedOver(std::io::Error),
    /// Two senders are of different channels.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// The policy in force denies what a sandbox is to have; holds the path and the rule.
    #[error(
        "the policy keeps {path} from every command, so a sandbox cannot have it ({rule}): change that rule, or name another directory in openclaw.json",
        path = shown(path)
    )]
    Withheld {
        /// The real path.
        path: Vec<u8>,
        /// The rule.
        rule: String,
    },
    /// With --observe nothing is denied, so there would be no sandbox.
    #[error("--observe denies nothing, so there would be no sandbox: leave it out")]
    Observed,
    /// The guard's own processes did not start, or one was lost.
    #[error(transparent)]
    Process(#[from] process::ProcessError),
}

/// Runs the command and returns its status. `proxy` starts the proxy of `network.web`.
///
/// # Errors
/// Any cause in [`RunError`]: the guarded command could not be started.
pub fn run(options: &Options, command: &[OsString], proxy: &ProxyCommand) -> Result<Exit, RunError> {
    start(options, command, Paths::find(options)?, Session::Guarded(proxy, Vec::new()))
}

/// Runs the command in the sandbox that `paths` has, with these variables, and returns its status. Processes that the
/// command leaves running end with it.
///
/// # Errors
/// As [`run`]; and if the policy denies what the sandbox is to have.
pub fn run_enclosed(
    options: &Options,
    command: &[OsString],
    paths: Paths,
    variables: Vec<Variable>,
    proxy: &ProxyCommand,
) -> Result<Exit, RunError> {
    if options.observe {
        return Err(RunError::Observed);
    }
    // No profile: an agent's own files are not in the sandbox.
    let options = Options { kill_on_exit: true, profile: Some(ProfileChoice::Without), ..options.clone() };
    start(&options, command, paths, Session::Guarded(proxy, variables))
}

/// Runs the command and learns from it: everything it does is recorded, and nothing is refused except what no policy
/// can allow. Processes that it leaves running end with it, since nothing would be refused to them either.
///
/// # Errors
/// As [`run`].
pub fn learn(
    options: &Options,
    command: &[OsString],
    paths: Paths,
    recorder: Recorder,
    proxy: &ProxyCommand,
) -> Result<Exit, RunError> {
    // Every access must be seen.
    let options =
        Options { tiers: vec![Tier::Broker], observe: false, kill_on_exit: true, ..options.clone() };
    start(&options, command, paths, Session::Recorded(proxy, recorder))
}

/// What a command is started for.
enum Session<'p> {
    /// The command is guarded. It gets these variables besides those that it inherits.
    Guarded(&'p ProxyCommand, Vec<Variable>),
    /// The command is learned from.
    Recorded(&'p ProxyCommand, Recorder),
}

fn start(
    options: &Options,
    command: &[OsString],
    mut paths: Paths,
    session: Session<'_>,
) -> Result<Exit, RunError> {
    let name = command.first().ok_or(RunError::NoCommand)?;
    let (proxy, variables, recorder) = match session {
        Session::Guarded(proxy, variables) => (proxy, variables, None),
        Session::Recorded(proxy, recorder) => (proxy, Vec::new(), Some(recorder)),
    };
    may_trace()?;
    let StartPolicy { mut policy, text, stores, followed, profile } = find_policy(options, &mut paths, name)?;
    if let Some(enclosure) = paths.enclosure() {
        grants_enclosed(&policy, enclosure)?;
    }
    let given = untrusted_environment::given(options).map_err(RunError::Environment)?;
    let approval = options.node_run.approval().map_err(RunError::HandedOver)?;
    let lifeline = options.node_run.lifeline().map_err(RunError::HandedOver)?;
    let mut inherited = environment::filtered(given, &policy, &paths.state_directory);
    // While the guard learns, its proxy sees the names. But the guard's proxy would bypass a proxy of the operator's,
    // which may be the only way out.
    let other = recorder.as_ref().and_then(|_| environment::proxy(&inherited));
    let is_proxied = other.is_none() && (recorder.is_some() || policy.has_web_rules());
    let proxy = is_proxied.then(|| ProxySockets::bind(proxy.clone())).transpose().map_err(RunError::Proxy)?;
    if let Some(proxy) = &proxy {
        environment::replace(&mut inherited, proxy.variables());
    }
    environment::replace(&mut inherited, variables);
    let mut replaced = None;
    if recorder.is_some() {
        let open = config::open(options, &paths, policy.approvals().gateway().url())?;
        replaced = Some(std::mem::replace(&mut policy, open));
    }
    let in_force = replaced.as_ref().unwrap_or(&policy);
    let floor = build_floor(options, &policy)?;
    let filter = filter_program(&policy, &floor);
    let audit = writer(options, &mut paths, in_force.audit())?;
    // If the log is in the state directory, opening it has made that directory.
    if let Some(problem) = config::record_workspace(options, &mut paths, in_force)? {
        eprintln!("openclaw-guard: {problem}");
    }
    if let Err(problem) = config::record_files(&mut paths, in_force) {
        eprintln!("openclaw-guard: {problem}");
    }
    if recorder.is_none() {
        announce(options, &policy, &paths, &floor);
        if let Some(line) = profile.line().filter(|_| !options.quiet) {
            eprintln!("openclaw-guard: {line}");
        }
    }
    if let Some(name) = other.filter(|_| !options.quiet) {
        eprintln!("openclaw-guard: hosts are not learned: the command uses the proxy that {name} names");
    }
    let limits = options.limits.iter().copied().fold(in_force.limits(), Limits::tightened);
    if !options.quiet {
        announce_command(options, &paths, &inherited, &limits);
    }
    let plan = LaunchPlan {
        candidates: c_strings(candidates(name, &inherited.env).into_iter().map(PathBuf::into_os_string))?,
        argv: c_strings(command.iter().cloned())?,
        envp: environment::c_strings(inherited.env)?,
        filter,
        floor: floor.domain.filter(|_| !is_layer_off(Layer::Domain)),
        nofile: process::descriptor_limit(&limits),
        processes: process::process_limit(&limits),
        ignored_signals: process::ignored_signals(),
        terminal: None,
    };
    let sender = ElevatedSender::joined(&options.senders)?;
    let is_attended = !options.observe && !options.unattended && recorder.is_none();
    let order = Spawn {
        name: name.clone(),
        plan,
        terminal: Tty::find(),
        outside: may_run_outside(options, is_attended, &policy),
        kill_on_exit: options.kill_on_exit,
        lifeline,
        session: SessionSettings {
            policy,
            source: PolicySource {
                options: options.clone(),
                paths,
                text,
                stores,
                followed: Followed::new(followed),
            },
            floor: floor.plan,
            audit,
            proxy,
            observe: options.observe,
            is_attended,
            sender,
            recorder,
            lines: !options.quiet,
            approval,
            limits,
        },
    };
    Ok(process::start(order)?)
}

/// The policy that a command starts with, and what it comes from.
struct StartPolicy {
    policy: Policy,
    /// The contents of guard.json, if there is one.
    text: Option<Vec<u8>>,
    stores: Stores,
    /// What the policy was compiled through.
    followed: FollowedNames,
    /// What was found of a profile for the command.
    profile: FoundProfile,
}

/// Finds the policy that a command starts with. Also fixes in `paths` what stays the same in later policies.
fn find_policy(options: &Options, paths: &mut Paths, name: &OsStr) -> Result<StartPolicy, RunError> {
    let text = config::read(paths, |path| std::fs::read(path))?;
    let mut stores = Stores::load(&paths.state_directory);
    config::settle_projects(options, paths)?;
    config::settle_workspace(options, paths, text.as_deref(), &stores);
    let compile = |paths: &Paths, stores: &Stores| {
        config::compile_followed(Links::default(), options, paths, text.as_deref(), stores)
    };
    let (mut policy, mut followed) = compile(paths, &stores)?;
    let profile = profile::find(options, paths, name, &policy);
    if profile.lay_over(paths) {
        (policy, followed) = compile(paths, &stores)?;
    }
    if policy.approvals().gateway().admin() {
        let asked = gateway::ask_first(&policy, &paths.state_directory);
        stores.gateways = approvals_store::load_gateways(&paths.state_directory);
        (policy, followed) = compile(paths, &stores)?;
        if let Err(why) = asked {
            eprintln!("openclaw-guard: {}", shown(why.to_string().as_bytes()));
        }
    }
    Ok(StartPolicy { policy, text, stores, followed, profile })
}

/// Builds the Landlock floor for the command.
fn build_floor(options: &Options, policy: &Policy) -> Result<BuiltDomain, RunError> {
    // A floor would block, but observing must block nothing.
    let entered = if options.observe || is_layer_off(Layer::Floor) { Use::LeftOut } else { Use::Entered };
    let floor = BuiltDomain::build(policy, &options.tiers, entered).map_err(RunError::Floor)?;
    if options.require_floor && floor.status != LandlockStatus::Full {
        return Err(RunError::FloorRequired(floor.describe()));
    }
    Ok(floor)
}

/// Chooses the seccomp filter for the command, which runs in this floor.
fn filter_program(policy: &Policy, floor: &BuiltDomain) -> FilterProgram {
    let untrapped = floor.plan.untrapped();
    failpoints::filter(FilterProgram::new(FilterOptions {
        unix_datagram: policy.unix_datagram(),
        // Without the floor, ptrace would reach processes outside the tree.
        allow_ptrace: policy.allow_ptrace() && floor.domain.is_some(),
        scoped_signals: floor.scopes_signals(),
        kernel_reads: untrapped.reads,
        kernel_writes: untrapped.writes,
        no_network: !policy.has_network(),
    }))
}

/// Returns whether commands may run outside the guard, as far as that is known at the start.
fn may_run_outside(options: &Options, is_attended: bool, policy: &Policy) -> Result<(), Unavailable> {
    match (options.observe, is_attended, policy.elevated().enabled()) {
        (true, ..) => Err(Unavailable::Observes),
        (_, false, _) => Err(Unavailable::AsksNobody),
        (.., false) => Err(Unavailable::NotAtStart),
        (.., true) => Ok(()),
    }
}

/// Checks that the policy in force grants what a sandbox is to have: writing in its own directory, and reading in the rest.
fn grants_enclosed(policy: &Policy, enclosure: &Enclosure) -> Result<(), RunError> {
    let judge = |path: &[u8], asked: &[u8], access: Access| {
        let verdict = decide(policy, &Request::File { path: asked, access });
        match verdict.outcome {
            Outcome::Deny => {
                Err(RunError::Withheld { path: path.to_owned(), rule: verdict.reason.rule().to_owned() })
            }
            Outcome::Ask | Outcome::Allow => Ok(()),
        }
    };
    for place in &enclosure.places {
        judge(&place.path, &place.path, Access::READ)?;
    }
    // A file in the directory is judged, since the directory itself stays as it is.
    let file = [&*enclosure.own, b"/x"].concat();
    judge(&enclosure.own, &file, Access::READ | Access::WRITE)
}

fn may_trace() -> Result<(), RunError> {
    match yama() {
        Some(scope @ 2..) => Err(RunError::NoPtrace(scope)),
        _ => Ok(()),
    }
}

/// Opens the destinations of the log. A destination that cannot be opened causes only a warning if `audit.onError` is
/// `continue` and the command line does not name that destination.
///
/// # Errors
/// If a needed destination cannot be opened.
pub fn writer(options: &Options, paths: &mut Paths, settings: &AuditSettings) -> Result<Writer, RunError> {
    let path = paths.audit(settings.path.as_deref());
    paths.log_to(path.clone());
    let goes_on = settings.on_error == OnError::Continue;
    let limits = audit::Limits { max_bytes: settings.max_bytes, keep: settings.keep };
    let opened = config::may_be_log(paths, &path)
        .and_then(|()| AuditLog::open(&path, limits))
        .and_then(|log| Ok((log.open_denials()?, log)));
    let (log, denials) = match opened {
        Ok((denials, log)) => (Some(log), denials),
        Err(error) if goes_on && options.audit.is_none() => {
            let path = shown(path.as_os_str().as_bytes());
            eprintln!("openclaw-guard: there is no audit log: cannot open {path}: {error}");
            (None, None)
        }
        Err(error) => return Err(RunError::Audit { path, error }),
    };
    let to_journal = options.log == Some(LogTo::Journald) || settings.journald;
    let journal = match to_journal.then(Journal::open).transpose() {
        Err(error) if goes_on && options.log.is_none() => {
            eprintln!("openclaw-guard: cannot reach systemd's journal, so nothing is written there: {error}");
            None
        }
        journal => journal.map_err(RunError::Journal)?,
    };
    Ok(Writer::new(log, denials, journal, settings))
}

/// Prints the policy's warnings and, on a terminal, one line on what is in force.
fn announce(options: &Options, policy: &Policy, paths: &Paths, floor: &BuiltDomain) {
    if options.quiet {
        return;
    }
    for warning in policy.warnings() {
        eprintln!("openclaw-guard: {}", shown(warning.as_bytes()));
    }
    if !std::io::stderr().is_terminal() {
        return;
    }
    let source =
        if paths.policy.exists() { paths.policy.display().to_string() } else { "built-in policy".to_owned() };
    let mode = if options.observe { ", observing only" } else { "" };
    let bound = policy.read_bound_key().map(|key| format!(" (reads are the broker's because of {key})"));
    let tiers = floor.plan.tiers() + &bound.unwrap_or_default();
    let state = floor.describe();
    eprintln!("openclaw-guard: agent {}, {source}, tiers: {tiers}, floor: {state}{mode}", policy.agent());
}

/// Prints what the command gets and may take: its environment and its limits.
fn announce_command(options: &Options, paths: &Paths, inherited: &Inherited, limits: &Limits) {
    // Nobody expects the operator's variables in a sandbox.
    if paths.enclosure().is_none() || options.verbose > 0 {
        environment::announce(options, inherited);
    }
    if !limits.is_empty() {
        eprintln!("openclaw-guard: limits: {limits}");
    }
}

fn c_strings(items: impl Iterator<Item = OsString>) -> Result<Vec<CString>, std::ffi::NulError> {
    items.map(|item| CString::new(item.into_vec())).collect()
}
