//! The supervisor's main thread: forks the reaper, guards the tree, and ends with it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use guard_shim::LaunchPlan;
use rustix::io::Errno;

use super::guarded_tree::{FrontLinks, StartingCommand, SupervisionError, cannot, guard_tree};
use super::message::{CommandEnd, ProcessMessage};
use super::reaper::{self, ReaperLinks};
use super::running_command::{FAILED, send};
use super::{SessionSettings, Spawn, pipe, replace_stdio};
use crate::audit::report::print;
use crate::kernel::fork::{Side, quit, split, split_beside_waiting};
use crate::kernel::pidfd::ProcessHandle;
use crate::landlock::SocketScope;
use crate::panics::install_hook;

/// Runs the supervisor, which sends messages to the front; never returns.
pub fn main(order: Spawn, to_front: OwnedFd, links: FrontLinks) -> ! {
    install_hook();
    let mut to_front = Some(File::from(to_front));
    let end = supervise(order, &mut to_front, links).unwrap_or_else(|problem| {
        print(&format!("openclaw-guard: {problem}"));
        Some(CommandEnd::Status(FAILED))
    });
    if let Some(end) = end {
        send(&mut to_front, ProcessMessage::Ended(end));
    }
    quit()
}

/// Runs until the tree is gone, or the command did not start. Returns the command's end if it was not yet sent to the
/// front.
fn supervise(
    order: Spawn,
    to_front: &mut Option<File>,
    mut links: FrontLinks,
) -> Result<Option<CommandEnd>, SupervisionError> {
    let Spawn {
        name,
        plan,
        terminal: _,
        outside: _,
        kill_on_exit,
        // The socket stays open until this process ends, which tells the node that the tree is gone.
        lifeline: _lifeline,
        session,
    } = order;
    let (ours, theirs) = guard_shim::channel().map_err(cannot("make a channel"))?;
    let (from_reaper, to_supervisor) = pipe()?;
    let jobs = links.jobs.take();
    let has_leader = jobs.is_some();
    let front_handle = ProcessHandle::open(links.front.as_raw_nonzero().get())
        .map_err(|error| cannot("watch the front")(error.into()))?;
    if rustix::process::getppid() != Some(links.front) {
        // The front was killed already.
        quit();
    }
    let reapers = ReaperLinks { to_supervisor, front: front_handle, jobs };
    let scope = scope_of(&session).map_err(cannot("scope the tree's abstract sockets"))?;
    let both = Both { plan, theirs, ours, from_reaper, reapers, links, session, to_front: to_front.take() };
    let forked = match scope.is_entered() {
        true => scope.run(move || {
            let forked = fork_reaper(split_beside_waiting, both);
            // Only the reaper needs them.
            guard_shim::clear_capabilities().map(|()| forked)
        }),
        false => Ok(Ok(fork_reaper(split, both))),
    };
    let forked = forked.map_err(io::Error::from).and_then(|forked| forked);
    let (reaper, both) = forked.map_err(cannot("start the reaper"))?;
    let Both { plan, theirs, ours, from_reaper, reapers, mut links, session, to_front: kept } = both;
    *to_front = kept;
    let reaper = reaper.map_err(|error| cannot("start the reaper")(error.into()))?;
    drop(reapers);
    let terminal = plan.terminal.as_ref().filter(|terminal| terminal.replace[2]);
    links.screen = links.screen.filter(|_| terminal.is_some());
    if let Some(terminal) = terminal {
        // On the command's own terminal, the line for a denial appears before the program's own error
        // message.
        replace_stdio(&terminal.slave, [false, false, true]);
    }
    drop(theirs);
    let argv = plan.argv.iter().map(|word| word.to_bytes().to_vec()).collect();
    plan.forget();
    let from_reaper = File::from(from_reaper);
    let command = StartingCommand { name, argv, kill_on_exit, has_leader, ours, reaper, from_reaper };
    guard_tree(command, session, links, scope, to_front)
}

/// The scope of the tree's abstract sockets. A session that refuses nothing has none.
fn scope_of(session: &SessionSettings) -> io::Result<SocketScope> {
    let refuses = !session.observe && session.recorder.is_none() && session.floor.roots.is_some();
    if refuses { SocketScope::enter() } else { Ok(SocketScope::default()) }
}

/// What the supervisor has when it forks the reaper.
struct Both {
    plan: LaunchPlan,
    theirs: OwnedFd,
    ours: OwnedFd,
    from_reaper: OwnedFd,
    reapers: ReaperLinks,
    links: FrontLinks,
    session: SessionSettings,
    to_front: Option<File>,
}

/// Forks the reaper. Returns its process, and what the supervisor had.
fn fork_reaper(split: fn() -> Result<Side, Errno>, both: Both) -> (Result<i32, Errno>, Both) {
    match split() {
        Ok(Side::Child) => {
            let Both { plan, theirs, ours, from_reaper, reapers, links, session, to_front } = both;
            let FrontLinks { from_front, prompt: link, outside, .. } = links;
            let SessionSettings { recorder, approval, proxy, audit, floor, .. } = session;
            // Only the supervisor may hold this pipe, so that the front sees it close when the supervisor
            // ends.
            drop((ours, from_reaper, to_front, from_front, link, recorder, approval, proxy, outside));
            audit.forget();
            floor.grants().close();
            reaper::main(plan, theirs, reapers)
        }
        Ok(Side::Parent(reaper)) => (Ok(reaper.as_raw()), both),
        Err(error) => (Err(error), both),
    }
}
