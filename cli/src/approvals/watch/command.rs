//! `openclaw-guard approvals watch`

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use guard_approvals::decision::Decision;
use guard_approvals::routes::guard_socket::{Body, Method};
use guard_openclaw::clock::now_ms;
use guard_openclaw::peer::nested_guard::guard_above;
use guard_supervisor::config::Paths;
use guard_supervisor::exit::Exit;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::super::client::Guards;
use super::act::Act;
use super::admission::Admission;
use super::endpoint::{WatchSocket, WatchSocketError};
use super::event::{AnswerOutcome, Choice, NotTaken, Sender, Unanswered, WatchEvent};
use super::guards;
use super::lines::{Form, LineView};
use super::queue::{AnswerRoute, Key, Queue};
use super::server::WatchServer;
use super::view::WatchView;

/// How to watch.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard approvals watch\n  \
    openclaw-guard approvals watch --plain\n  \
    openclaw-guard approvals watch --json | tee questions.jsonl\n\n\
    On a terminal: y once, s for the session, a always, n no, each with Enter; ? shows more keys.\n\
    With --plain or --json, an answer is a line on standard input: the id, or a prefix of it, and\n\
    an answer as `approvals resolve` takes it: allow-once, allow-session, allow-always, deny.\n\n\
    Exit status: 0 after SIGINT or SIGTERM, 125 error.")]
pub struct WatchArguments {
    /// Print JSON Lines instead of a screen
    #[arg(long)]
    pub json: bool,
    /// Print lines of text instead of a screen, as without a terminal
    #[arg(long, conflicts_with = "json")]
    pub plain: bool,
}

/// Why watching failed.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(
        "this shell is guarded itself (by process {0}): what is asked here cannot be answered from here. \
         Run it outside of the guarded tree"
    )]
    Inside(i32),
    #[error(transparent)]
    Socket(#[from] WatchSocketError),
    #[error("cannot watch: {0}")]
    Failed(#[from] io::Error),
}

/// Watches until interrupted.
///
/// # Errors
/// When another `watch` or `serve` runs, or the socket or the terminal cannot be used.
pub fn watch(paths: &Paths, arguments: &WatchArguments) -> Result<Exit, WatchError> {
    outside()?;
    let socket = WatchSocket::bind(&paths.state_directory, &paths.home)?;
    let is_screen = io::stdout().is_terminal() && io::stdin().is_terminal();
    let view = match (arguments.json, arguments.plain || !is_screen) {
        (true, _) => WatchView::Lines(LineView::new(Form::Json, socket.path.clone())),
        (false, true) => WatchView::Lines(LineView::new(Form::Plain, socket.path.clone())),
        (false, false) => WatchView::Screen(Box::default()),
    };
    follow(Some(&socket), &paths.state_directory, view)
}

/// Checks that this process is not guarded: a guarded process must not answer.
///
/// # Errors
/// When this process is in a guarded tree, or that cannot be ruled out.
pub fn outside() -> Result<(), WatchError> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    guard_above(own).map_or(Ok(()), |guard| Err(WatchError::Inside(guard)))
}

/// Shows the questions of every guard, and those on the approvals socket if this process serves it. Ends when it is
/// interrupted.
///
/// # Errors
/// Returns an I/O error of the socket, the terminal or standard output.
pub fn follow(socket: Option<&WatchSocket>, state: &Path, view: WatchView) -> Result<Exit, WatchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(run(socket, state, view));
    // Does not wait for a thread that still reads standard input.
    runtime.shutdown_background();
    match done {
        // A closed pipe means that the reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        done => Ok(done.map(|()| Exit::Success)?),
    }
}

async fn run(socket: Option<&WatchSocket>, state: &Path, view: WatchView) -> io::Result<()> {
    let (events, mut receiver) = unbounded_channel();
    if let Some(socket) = socket {
        // This process has no tree of its own; the other guards' trees are checked separately.
        let is_member = Arc::new(|_| false);
        let server = WatchServer::new(Admission::new(socket.token.clone()), is_member, events.clone());
        tokio::spawn(server.run(socket.listener()?));
    }
    tokio::spawn(guards::follow(state.to_owned(), events.clone()));
    for kind in [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()] {
        let (mut signal, events) = (signal(kind)?, events.clone());
        tokio::spawn(async move {
            signal.recv().await;
            let _ = events.send(WatchEvent::End);
        });
    }
    let mut watching = Watching { queue: Queue::default(), view, state: state.to_owned(), events };
    watching.view.start(&watching.events)?;
    let mut tick = interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        watching.view.show(&watching.queue)?;
        let mut next = tokio::select! {
            next = receiver.recv() => next,
            _ = tick.tick() => continue,
            () = at(watching.view.due()) => continue,
        };
        // Handles all queued events before it draws again.
        while let Some(happened) = next {
            match watching.handle(happened)? {
                Act::Nothing => {}
                Act::End => return Ok(()),
                Act::Answer(key, decision) => watching.answer(key, decision, None)?,
            }
            for change in watching.queue.changes() {
                watching.view.changed(&change, &watching.queue)?;
            }
            next = receiver.try_recv().ok();
        }
    }
}

/// Waits until `due`; without a time, for ever.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// The queue and the view that shows it.
struct Watching {
    queue: Queue,
    view: WatchView,
    /// The real path of the state directory.
    state: PathBuf,
    events: Sender,
}

impl Watching {
    fn handle(&mut self, event: WatchEvent) -> io::Result<Act> {
        let Watching { queue, view, .. } = self;
        match event {
            WatchEvent::Listed { guard, approvals } => queue.listed(guard, approvals),
            WatchEvent::Requested { guard, approval } => queue.requested(guard, *approval),
            WatchEvent::Ended { guard, id, state } => queue.ended(guard, &id, &state),
            WatchEvent::Gone { guard } => queue.gone(guard),
            WatchEvent::Asked { key, asked, connection, answer } => {
                queue.asked(key, *asked, connection, answer, now_ms());
            }
            WatchEvent::Dropped { key, connection } => queue.dropped(&key, connection),
            WatchEvent::Rejected { pid, why } => view.rejected(pid, &why)?,
            WatchEvent::Answered { key, outcome } => view.answered(&key, &outcome)?,
            WatchEvent::Lifecycle { key, text } => view.lifecycle(&key, &text)?,
            WatchEvent::Typed(event) => return Ok(view.typed(&event, queue)),
            WatchEvent::Line(line) => return view.line(&line, queue),
            WatchEvent::Chosen(choice) => self.choose(choice)?,
            WatchEvent::End => return Ok(Act::End),
        }
        Ok(Act::Nothing)
    }

    /// Answers a row of the page. To allow, the row must still have the version that was shown. A denial is taken for
    /// any version, so that a row that changes all the time can be denied.
    fn choose(&mut self, choice: Choice) -> io::Result<()> {
        let Choice { key, version, decision, outcome } = choice;
        let why = match self.queue.get(&key) {
            None => Unanswered::Gone,
            Some(row) if row.version != version && decision.allows() => Unanswered::Changed,
            Some(_) => return self.answer(key, decision, Some(outcome)),
        };
        // The receiver may have gone.
        let _ = outcome.send(Err(why));
        Ok(())
    }

    fn answer(
        &mut self,
        key: Key,
        decision: Decision,
        outcome: Option<oneshot::Sender<Result<String, Unanswered>>>,
    ) -> io::Result<()> {
        let report = move |result: &AnswerOutcome| {
            if let Some(outcome) = outcome {
                // The receiver may have gone.
                let _ = outcome.send(result.clone().map_err(Unanswered::Refused));
            }
        };
        let result = match self.queue.answer(&key, decision) {
            Ok(AnswerRoute::Guard(decision)) => {
                let (state, events) = (self.state.clone(), self.events.clone());
                tokio::spawn(async move {
                    let result = resolve(&state, &key, decision).await.map_err(Arc::new);
                    report(&result);
                    // At shutdown there is no receiver.
                    let _ = events.send(WatchEvent::Answered { key, outcome: result });
                });
                return Ok(());
            }
            Ok(AnswerRoute::Socket) => Ok(decision.to_string()),
            Err(error) => Err(Arc::new(error.into())),
        };
        report(&result);
        self.view.answered(&key, &result)
    }
}

/// Sends the decision to a guard, and returns the guard's reply.
async fn resolve(state: &Path, key: &Key, decision: Decision) -> Result<String, NotTaken> {
    let method =
        Method::Resolve { id: key.id.clone(), decision: decision.to_string(), revision: None, pattern: None };
    let guards = Guards::find(state).map_err(NotTaken::Guards)?;
    match guards.ask_one(key.pid, &method).await {
        Ok(Body::Resolved { saved, unsaved, .. }) => {
            let saved = saved.iter().map(|path| format!(", saved in {path}"));
            let unsaved = unsaved.iter().map(|why| format!(", but not saved: {why}"));
            Ok(decision.to_string() + &saved.chain(unsaved).collect::<String>())
        }
        Ok(Body::Error { message, .. }) => Err(NotTaken::Refused(message)),
        Ok(_) => Err(NotTaken::Unexpected),
        Err(error) => Err(NotTaken::Unreachable(error)),
    }
}
