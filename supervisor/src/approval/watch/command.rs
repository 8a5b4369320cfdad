//! `openclaw-guard approvals watch`

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{MissedTickBehavior, interval};

use super::super::control::{Guards, Method, Said};
use super::super::decision::Decision;
use super::super::inside::guard_above;
use super::super::manager::now_ms;
use super::face::{Act, Face};
use super::gate::Gate;
use super::guards;
use super::lines::{Form, Lines};
use super::news::{News, Sender};
use super::place::{Place, PlaceError};
use super::queue::{Key, Queue, Way};
use super::server::Server;
use crate::exit::Exit;
use crate::setup::Places;

/// How to watch.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard approvals watch\n  \
    openclaw-guard approvals watch --plain\n  \
    openclaw-guard approvals watch --json | tee questions.jsonl\n\n\
    On a terminal: y once, s for the session, a always, n no, each with Enter; ? shows more.\n\
    In lines, an answer is a line of standard input: the id, or its beginning, and one of allow-once,\n\
    allow-session, allow-Nm, allow-always, allow-always-directory, deny.\n\n\
    Exit status: 0 when it is told to end, 125 when it cannot watch.")]
pub struct WatchArguments {
    /// Lines of JSON instead of a screen
    #[arg(long)]
    pub json: bool,
    /// Lines of text instead of a screen, as where standard output is no terminal
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
}

/// Why nobody can watch.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(
        "this shell is guarded itself (by process {0}): what is asked here cannot be answered from here. \
         Run it outside of the guarded tree"
    )]
    Inside(i32),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("cannot watch: {0}")]
    Failed(#[from] io::Error),
}

/// Watches until it is told to end.
///
/// # Errors
/// When somebody else does, or the socket or the terminal cannot be used.
pub fn watch(places: &Places, arguments: &WatchArguments) -> Result<Exit, WatchError> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    if let Some(guard) = guard_above(own) {
        return Err(WatchError::Inside(guard));
    }
    let place = Place::bind(&places.state_directory, &places.home)?;
    let is_screen = io::stdout().is_terminal() && io::stdin().is_terminal();
    let face = match (arguments.json, arguments.plain || !is_screen) {
        (true, _) => Face::Lines(Lines::new(Form::Json)),
        (false, true) => Face::Lines(Lines::new(Form::Plain)),
        (false, false) => Face::Screen(Box::default()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(run(&place, places.state_directory.clone(), face));
    // What still reads standard input is not waited for.
    runtime.shutdown_background();
    match done {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        done => Ok(done.map(|()| Exit::Success)?),
    }
}

async fn run(place: &Place, state: PathBuf, mut face: Face) -> io::Result<()> {
    let (news, mut receiver) = unbounded_channel();
    // It has no tree of its own; members of others are never let in.
    let is_member = Arc::new(|_| false);
    let server = Server::new(Gate::new(place.token.clone()), is_member, news.clone());
    tokio::spawn(server.run(place.listener()?));
    tokio::spawn(guards::follow(state.clone(), news.clone()));
    for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()] {
        let (mut signal, news) = (signal(kind)?, news.clone());
        tokio::spawn(async move {
            signal.recv().await;
            let _ = news.send(News::End);
        });
    }
    face.start(&place.path, &news)?;
    let mut queue = Queue::default();
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        face.show(&queue)?;
        let mut next = tokio::select! {
            next = receiver.recv() => next,
            _ = tick.tick() => continue,
        };
        // All that has happened is shown at once.
        while let Some(happened) = next {
            match take(happened, &mut queue, &mut face)? {
                Act::Nothing => {}
                Act::End => return Ok(()),
                Act::Answer(key, decision) => answer(key, decision, &mut queue, &mut face, &state, &news)?,
            }
            for change in queue.changes() {
                face.changed(&change, &queue)?;
            }
            next = receiver.try_recv().ok();
        }
    }
}

fn take(news: News, queue: &mut Queue, face: &mut Face) -> io::Result<Act> {
    match news {
        News::Listed { guard, approvals } => queue.listed(guard, approvals),
        News::Requested { guard, approval } => queue.requested(guard, *approval),
        News::Ended { guard, id, state } => queue.ended(guard, &id, &state),
        News::Gone { guard } => queue.gone(guard),
        News::Asked { key, asked, connection, answer } => {
            queue.asked(key, *asked, connection, answer, now_ms());
        }
        News::Dropped { key, connection } => queue.dropped(&key, connection),
        News::Turned { pid, why } => face.turned(pid, &why)?,
        News::Answered { key, outcome } => face.answered(&key, &outcome)?,
        News::Told { key, text } => face.told(&key, &text)?,
        News::Typed(event) => return Ok(face.typed(&event, queue)),
        News::Line(line) => return face.line(&line, queue),
        News::End => return Ok(Act::End),
    }
    Ok(Act::Nothing)
}

fn answer(
    key: Key,
    decision: Decision,
    queue: &mut Queue,
    face: &mut Face,
    state: &Path,
    news: &Sender,
) -> io::Result<()> {
    match queue.answer(&key, decision) {
        Ok(Way::Socket) => face.answered(&key, &Ok(decision.to_string())),
        Ok(Way::Guard(decision)) => {
            let (state, news) = (state.to_owned(), news.clone());
            tokio::spawn(async move {
                let outcome = tell(&state, &key, decision).await;
                // Nobody listens at the end.
                let _ = news.send(News::Answered { key, outcome });
            });
            Ok(())
        }
        Err(why) => face.answered(&key, &Err(why.to_string())),
    }
}

/// Tells a guard, and returns what it made of it.
async fn tell(state: &Path, key: &Key, decision: Decision) -> Result<String, String> {
    let method = Method::Resolve { id: key.id.clone(), decision: decision.to_string(), revision: None };
    let guards = Guards::of(state).map_err(|error| error.to_string())?;
    match guards.ask_one(key.pid, &method).await {
        Ok(Said::Resolved { saved, unsaved, .. }) => {
            let saved = saved.iter().map(|path| format!(", saved in {path}"));
            let unsaved = unsaved.iter().map(|why| format!(", but not saved: {why}"));
            Ok(decision.to_string() + &saved.chain(unsaved).collect::<String>())
        }
        Ok(Said::Error { message, .. }) => Err(message),
        Ok(_) => Err("the guard gave an answer that was not asked for".to_owned()),
        Err(error) => Err(format!("the guard cannot be told: {error}")),
    }
}
