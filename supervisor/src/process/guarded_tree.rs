//! The guard of a tree: what the supervisor does from the fork of the reaper to the end of the tree.

use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guard_approvals::{Approvals, Manager, Settings, Surroundings};
use guard_openclaw::gateway::SyncThread;
use guard_openclaw::peer::process_tree::Tree;
use guard_openclaw::ports::IsMember;
use guard_policy::approval::Route;
use guard_policy::text::hex;
use guard_policy::{Limits, Policy};
use guard_shim::Failure;
use nix::sys::wait::{WaitStatus, waitpid};
use rustix::process::Pid;

use super::hardening::become_supervisor;
use super::message::{CommandEnd, Message, ProcessMessage, ToldToEnd};
use super::running_command::{RunningCommand, explain};
use super::{ProcessError, SessionSettings, ending, limits as session_limits, session_socket};
use crate::audit::report::{ReportOptions, Reporter, hint};
use crate::audit::{Context, Secrets, Writer};
use crate::config::answered_writes::AnsweredWrites;
use crate::config::known_programs::KnownPrograms;
use crate::config::options::Options;
use crate::config::reload::{PolicySource, Reload, Watch};
use crate::judge::active::Current;
use crate::judge::consent::{self, Announce, AnswerHint, ApprovalLog};
use crate::judge::guard::Guard;
use crate::judge::moved_grants::{EndTree, MovedGrants};
use crate::judge::moving::Moving;
use crate::judge::program_starts::ProgramStarts;
use crate::judge::recorder::Recorder;
use crate::judge::session_context::SessionContext;
use crate::kernel::listener::Listener;
use crate::landlock::{self, SocketScope};
use crate::outside::{Outside, Unavailable};
use crate::resolve::Resolver;
use crate::session::Control;
use crate::session::protocol::SessionMode;
use crate::terminal::SharedScreenState;
use crate::worker::Pool;

/// The supervisor's connections to the front.
pub struct FrontLinks {
    /// Its process.
    pub front: Pid,
    /// Its messages.
    pub from_front: OwnedFd,
    /// With a terminal, the leader's connection.
    pub jobs: Option<OwnedFd>,
    /// With a terminal, the connection over which prompts are requested.
    pub prompt: Option<UnixStream>,
    /// With a terminal: what is on its screen.
    pub screen: Option<SharedScreenState>,
    /// The connection to the process that starts commands outside.
    pub outside: Result<OwnedFd, Unavailable>,
}

/// Why the supervisor cannot start to guard the tree.
#[derive(Debug, thiserror::Error)]
pub enum SupervisionError {
    /// A step of the start failed.
    #[error("cannot {step}: {error}")]
    Step {
        /// The step, in words that follow "cannot".
        step: &'static str,
        /// Why it failed.
        #[source]
        error: std::io::Error,
    },
    /// A pipe cannot be made.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The reaper has started nothing that leads the session on the guard's terminal.
    #[error("the process that leads the session on the guard's terminal did not start")]
    NoLeader,
    /// The child has no filter.
    #[error(transparent)]
    NoListener(#[from] Failure),
}

/// A command that the reaper sets up, until it is released.
pub struct StartingCommand {
    /// Its name, as it was given.
    pub name: OsString,
    /// Its arguments, its name included.
    pub argv: Vec<Vec<u8>>,
    /// Whether the tree ends with the command.
    pub kill_on_exit: bool,
    /// Whether it has a terminal, whose session has a leader.
    pub has_leader: bool,
    /// The connection to the child.
    pub ours: OwnedFd,
    /// The reaper's process.
    pub reaper: i32,
    /// The reaper's messages.
    pub from_reaper: File,
}

/// Guards a command and all that it starts, until the tree is gone or the command did not start. Returns the command's
/// end if it was not yet sent to the front.
pub fn guard_tree(
    command: StartingCommand,
    settings: SessionSettings,
    links: FrontLinks,
    scope: SocketScope,
    to_front: &mut Option<File>,
) -> Result<Option<CommandEnd>, SupervisionError> {
    let SessionSettings {
        policy,
        source,
        floor,
        audit,
        proxy,
        observe,
        is_attended,
        sender,
        recorder,
        lines,
        approval,
        limits,
    } = settings;
    let StartingCommand { name, argv, kill_on_exit, has_leader, ours, reaper, mut from_reaper } = command;
    let FrontLinks { front, from_front, jobs: _, prompt: link, screen, outside } = links;
    let priorities = become_supervisor().map_err(cannot("set up the supervisor"))?;
    let watch = Watch::open(source.files(), source.followed.clone());

    let leader = has_leader.then(|| receive_leader(&mut from_reaper)).transpose()?;
    // Does as much as possible while the child is still setting up its filter.
    let supervisor = rustix::process::getpid().as_raw_nonzero().get();
    let tree = Tree { reaper, supervisor, front: front.as_raw_nonzero().get(), leader };
    let manner = ReportOptions { lines, observe, allowed: false, screen };
    let session = session_name();
    let secrets = Secrets::of_environment();
    let context = context(&policy, &source, &session, &secrets);
    let reporter = start_reporter(manner, audit, context, tree, &source.options)?;
    let resolver = Resolver::new().map_err(|error| cannot("open /")(error.into()))?;
    let mode = session_mode(observe, recorder.as_ref());
    let started = session_socket::started(&source, &argv, &secrets, limits, mode);
    let state = source.paths.state_directory.clone();
    let outside = Arc::new(Outside::new(sender, source.options.elevated, outside));
    outside.follow(reporter.clone()).map_err(cannot("start a thread"))?;
    let sync_thread = sync_thread(&source, tree, &reporter);
    let approvals = is_attended.then(|| approvals(&policy, &source, tree, &reporter, &sync_thread, link));
    let is_followed = recorder.is_none();
    let clients = proxy.as_ref().map(|proxy| Arc::new(proxy.clients()));
    if let Some(approvals) = &approvals {
        follow_front(from_front, approvals.manager().clone()).map_err(cannot("start a thread"))?;
    }
    let project = policy.workspace().unwrap_or(source.paths.cwd.as_os_str().as_bytes());
    let session = SessionContext {
        name: session,
        observe,
        recorder,
        approvals: approvals.clone(),
        scope,
        web: clients.clone(),
        moving: moving(&state, &reporter),
        known_programs: KnownPrograms::new(&state, project),
        answered_writes: AnsweredWrites::new(source.paths.records()),
        state: Some(state.clone()),
    };
    let starts = ProgramStarts::new(Arc::clone(&outside), approval);
    let guard = Guard::new(policy, floor, resolver, tree, reporter.clone(), session, starts);
    let current = Arc::new(Current::new(guard));
    let proxy = proxy
        .zip(clients)
        .map(|(proxy, clients)| proxy.start(Arc::clone(&current), clients, reporter.clone()));
    let proxy = proxy.transpose().map_err(cannot("start the guard's proxy (network.web)"))?;
    let requires_floor = source.options.require_floor;
    let reload = Reload::new(source, Arc::clone(&current), reporter.clone(), sync_thread);
    current.read_again_by({
        let reload = reload.clone();
        move || reload.catch_up()
    });
    let listener = match receive_listener(&ours, &name, &mut from_reaper)? {
        Ok(listener) => Arc::new(listener),
        Err(end) => return Ok(Some(end)),
    };
    let _pool =
        Pool::start(listener, Arc::clone(&current), priorities).map_err(cannot("start the workers"))?;
    tracing::info!(
        "the supervisor is process {supervisor}: kill -HUP {supervisor} has it read the policy again"
    );
    release(&ours)?;
    watch_tree(tree, limits, requires_floor, &current, &reporter).map_err(cannot("start a thread"))?;
    let control =
        Control::new(started, Arc::clone(&current), Arc::new(move || ending::end_foreign_members(&tree)));
    let _socket = session_socket::listen(&state, members(tree), control, &reporter);
    if is_followed && let Err(error) = reload.clone().watch(watch) {
        reporter.problem(format!("openclaw-guard: changes of the policy are not noticed: {error}"));
    }

    let command = RunningCommand {
        name,
        ours,
        tree,
        kill_on_exit,
        reporter: &reporter,
        approvals: approvals.as_deref(),
    };
    command.follow(from_reaper, to_front);
    if reap(reaper) == Reaped::Killed {
        ending::end_members(&ending::own_descendants());
    }
    if let Some(approvals) = approvals {
        approvals.stop();
    }
    drop(proxy);
    outside.log_ends(&reporter);
    reload.stop();
    // A session that only observes or records does not use the saved entries.
    if is_followed && !observe {
        save_uses(&current.guard(), &state, &secrets);
    }
    reporter.flush();
    Ok(None)
}

/// Receives the process that leads the session on the guard's terminal.
fn receive_leader(from_reaper: &mut File) -> Result<i32, SupervisionError> {
    match ProcessMessage::receive(from_reaper) {
        Some(ProcessMessage::Leads(leader)) => Ok(leader),
        _ => Err(SupervisionError::NoLeader),
    }
}

/// Starts the reporter, which also says where to look, if stderr is a terminal.
fn start_reporter(
    manner: ReportOptions,
    audit: Writer,
    context: Context,
    tree: Tree,
    options: &Options,
) -> Result<Reporter, SupervisionError> {
    let reporter = Reporter::start(manner, audit, context, tree).map_err(cannot("start a thread"))?;
    Ok(match std::io::stderr().is_terminal() {
        true => reporter.hinting(hint(options)),
        false => reporter,
    })
}

/// Returns what becomes of the verdicts.
fn session_mode(observe: bool, recorder: Option<&Recorder>) -> SessionMode {
    match (observe, recorder) {
        (true, _) => SessionMode::Observe,
        (false, Some(_)) => SessionMode::Learn,
        (false, None) => SessionMode::Enforce,
    }
}

/// Lets the child, which waits with the filter in force, go on to the command.
fn release(ours: &OwnedFd) -> Result<(), SupervisionError> {
    match guard_shim::release(ours.as_fd()) {
        // A signal has ended the child already; the reaper reports its wait status.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        released => released.map_err(cannot("release the command")),
    }
}

/// Writes into the stores when their entries were used.
fn save_uses(guard: &Guard, state: &Path, secrets: &Secrets) {
    if let Err(error) = guard.starts.used_entries.save(state, guard.policy().agent(), secrets) {
        tracing::warn!("the last use of saved answers is not recorded: {error}");
    }
}

/// Adds the step that failed, in words that follow "cannot".
pub fn cannot(step: &'static str) -> impl FnOnce(std::io::Error) -> SupervisionError {
    move |error| SupervisionError::Step { step, error }
}

/// What each line of the audit log says of the session.
fn context(policy: &Policy, source: &PolicySource, session: &str, secrets: &Secrets) -> Context {
    Context {
        session: session.to_owned(),
        agent: policy.agent().to_owned(),
        session_key: source.paths.session_key.clone(),
        run: source.options.node_run.run_id.clone(),
        node: source.options.node_run.node_id.clone(),
        secrets: secrets.clone(),
    }
}

/// Receives the filter's listener from the child, or how the child ended without one.
fn receive_listener(
    ours: &OwnedFd,
    name: &OsString,
    from_reaper: &mut File,
) -> Result<Result<Listener, CommandEnd>, SupervisionError> {
    match guard_shim::receive_listener(ours.as_fd()) {
        Ok(listener) => Ok(Ok(Listener::new(listener))),
        Err(Failure::Child(report)) => Ok(Err(CommandEnd::Status(explain(name, report)))),
        Err(Failure::Gone) => match ended(from_reaper) {
            // Ends as the command itself would have.
            Some(end @ CommandEnd::Signal(_)) => Ok(Err(end)),
            _ => Err(Failure::Gone.into()),
        },
        Err(error) => Err(error.into()),
    }
}

/// The lock of moves. If the shared lock cannot be opened, it is a lock of this guard's own.
fn moving(state: &Path, reporter: &Reporter) -> Moving {
    Moving::shared(state).unwrap_or_else(|error| {
        reporter.problem(format!(
            "openclaw-guard: cannot use guard/moves.lock: {error}; this guard does not wait while another guard of this user moves files"
        ));
        Moving::default()
    })
}

/// How the reaper has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reaped {
    /// It has ended with the tree.
    Done,
    /// It was killed before the tree ended. This process inherits its children.
    Killed,
}

/// Waits for the end of the reaper, which has closed its pipe.
fn reap(reaper: i32) -> Reaped {
    match waitpid(nix::unistd::Pid::from_raw(reaper), None) {
        Ok(WaitStatus::Exited(_, 0)) => Reaped::Done,
        _ => Reaped::Killed,
    }
}

/// Starts the threads that end the tree: at a limit and, if it `requires_floor`, where a grant has moved.
fn watch_tree(
    tree: Tree,
    limits: Limits,
    requires_floor: bool,
    current: &Arc<Current>,
    reporter: &Reporter,
) -> std::io::Result<()> {
    let kill = {
        let reporter = reporter.clone();
        move || kill_all(&tree, &reporter)
    };
    session_limits::watch(limits, tree, reporter.clone(), kill.clone())?;
    // These watches also detect earlier changes, so the command need not wait for them.
    let end = requires_floor.then(|| Box::new(kill) as EndTree);
    watch_grants(current, end)
}

/// Starts the thread that follows the files which the floor grants.
fn watch_grants(current: &Arc<Current>, end: Option<EndTree>) -> std::io::Result<()> {
    let guard = current.guard();
    if guard.floor.roots.is_none() {
        return Ok(());
    }
    let grants = guard.floor.grants();
    let moved = MovedGrants::new(Arc::clone(current), end);
    let faults = guard.reporter.clone();
    let awaited = {
        let current = Arc::clone(current);
        move || {
            let guard = current.guard();
            guard.floor.awaited(guard.policy()).collect()
        }
    };
    let watch =
        landlock::watch(grants, awaited, move || moved.reconsider(), move |fault| faults.fault(fault, None))?;
    if let Some(watch) = watch {
        current.notify(move || watch.wake());
    }
    Ok(())
}

/// Creates the handle of the thread that asks the gateway for its exec approvals, if the policy wants that.
fn sync_thread(source: &PolicySource, tree: Tree, reporter: &Reporter) -> SyncThread {
    let problems = reporter.clone();
    let state = source.paths.state_directory.clone();
    SyncThread::new(state, members(tree), Arc::new(move |line| problems.problem(line)))
}

/// Returns the check for processes that may not answer questions: members of the tree, and the guard's own
/// processes, because the supervisor connects sockets on behalf of members.
fn members(tree: Tree) -> IsMember {
    Arc::new(move |pid| tree.may_contain(pid) || tree.is_guard(pid))
}

/// Sets up approvals by a human.
fn approvals(
    policy: &Policy,
    source: &PolicySource,
    tree: Tree,
    reporter: &Reporter,
    sync_thread: &SyncThread,
    link: Option<UnixStream>,
) -> Arc<Approvals> {
    let has = |route| policy.approvals().routes().is_none_or(|routes| routes.contains(&route));
    let announce = match (tree.leader, has(Route::Cli)) {
        (Some(_), _) if has(Route::Terminal) => Announce::Nothing,
        (_, true) => Announce::Lines(AnswerHint::Cli),
        (_, false) => Announce::Lines(AnswerHint::Elsewhere),
    };
    let problems = reporter.clone();
    let around = Surroundings {
        state: source.paths.state_directory.clone(),
        home: source.paths.home.clone(),
        session_key: source.paths.session_key.clone(),
        node_id: source.options.node_run.node_id.clone(),
        sync: sync_thread.clone(),
        is_member: members(tree),
        warn: Arc::new(move |line| problems.problem(line)),
        terminal: link.map(Arc::new),
    };
    let log = ApprovalLog::new(reporter.clone(), announce);
    let approvals = Approvals::new(Settings::from_policy(policy), log, around);
    if let Some(patience) = source.options.node_run.patience() {
        approvals.manager().end_within(patience);
    }
    Arc::new(approvals)
}

/// Ends the questions whenever the front passes on a signal that asks the command to end.
fn follow_front(from_front: OwnedFd, manager: Manager) -> std::io::Result<()> {
    let mut from_front = File::from(from_front);
    let follow = move || {
        while let Some(ToldToEnd(signal)) = ToldToEnd::receive(&mut from_front) {
            consent::end_questions(&manager, signal);
        }
    };
    std::thread::Builder::new().name("front".into()).spawn(follow).map(drop)
}

/// Reads messages until one reports how the command ended.
fn ended(mut from_reaper: impl Read) -> Option<CommandEnd> {
    loop {
        if let ProcessMessage::Ended(end) = ProcessMessage::receive(&mut from_reaper)? {
            return Some(end);
        }
    }
}

/// Kills members of the tree for as long as the supervisor lives, which ends with the tree.
fn kill_all(tree: &Tree, reporter: &Reporter) {
    // The kill comes first, because the operator's terminal may be slow.
    ending::kill_members(tree);
    reporter.flush();
    loop {
        ending::kill_members(tree);
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns a random name for this run.
fn session_name() -> String {
    let mut bytes = [0; 8];
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    hex(&bytes)
}
