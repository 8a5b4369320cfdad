//! While the tree runs: a thread of its own with a connection of its own, which asks again and again, and at once where
//! somebody is about to be asked. What it hears it writes to the disk, and the policy is read again for that.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guard_policy::Policy;
use guard_policy::approval::GatewayUrl;
use guard_policy::store::NewEntry;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::said::{Unsaid, add, fetch};
use crate::approval::{Complain, IsMember, now_ms};
use crate::faults::kept_up_task;
use crate::gateway::{Access, Link, NoAccess, Wanted};
use crate::ids;
use crate::store::{self, Snapshot};
use crate::text::shown;

/// Between two looks: no event tells of a change (OpenClaw 2026.9.6).
const AGAIN: Duration = Duration::from_secs(30);
/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// Between two attempts to connect: it doubles from one to the other.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), AGAIN];
/// How long somebody who is about to ask waits for the gateway's word.
const WORTH: Duration = Duration::from_secs(1);
/// How long somebody who saves waits for it.
const SAVED: Duration = Duration::from_secs(15);

/// Keeps what the gateway says up to date; all clones are one. There is no thread while the policy does not want it.
#[derive(Clone)]
pub struct Follower(Arc<Shared>);

struct Shared {
    /// The real path of the state directory.
    state: PathBuf,
    is_member: IsMember,
    complain: Complain,
    running: Mutex<Option<Running>>,
}

struct Running {
    wanted: watch::Sender<Wanted>,
    asks: mpsc::UnboundedSender<Ask>,
}

/// What is wanted of the thread.
enum Ask {
    /// To look now.
    Look(SyncSender<()>),
    /// To add an entry.
    Add { agent: String, entry: NewEntry, done: SyncSender<Result<(), String>> },
}

/// Why an entry is not at the gateway.
#[derive(Debug, PartialEq, Eq)]
pub enum Unsaved {
    /// The policy does not want it there.
    Elsewhere,
    /// It could not be put there: why.
    Failed(String),
}

impl std::fmt::Debug for Follower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Follower").field(&self.0.state).finish()
    }
}

impl Follower {
    /// Nothing runs yet. No gateway is whoever `is_member` says.
    pub fn new(state: PathBuf, is_member: IsMember, complain: Complain) -> Follower {
        Follower(Arc::new(Shared { state, is_member, complain, running: Mutex::default() }))
    }

    /// Does as this policy wants from now on. Starts the thread where there is none and one is wanted.
    pub fn follow(&self, policy: &Policy) {
        self.want(Wanted::of(policy));
    }

    pub(super) fn want(&self, wanted: Wanted) {
        let mut running = self.running();
        if let Some(running) = &*running {
            running.wanted.send_if_modified(|before| {
                let is_new = *before != wanted;
                *before = wanted;
                is_new
            });
        } else if wanted.admin {
            let (wanted, changes) = watch::channel(wanted);
            let (asks, asked) = mpsc::unbounded_channel();
            match self.spawn(changes, asked) {
                Ok(()) => *running = Some(Running { wanted, asks }),
                Err(error) => self.complain(&format!("cannot start a thread: {error}")),
            }
        }
    }

    /// Has the gateway asked at once, where there is one, and waits for a moment. Many that wait have it asked once.
    pub fn look(&self) {
        let _ = self.ask(Ask::Look, WORTH);
    }

    /// Adds an entry as an "always" does, and waits for it on a plain thread.
    ///
    /// # Errors
    /// Why it is not there, as far as is known.
    pub fn add(&self, agent: &str, entry: &NewEntry) -> Result<(), Unsaved> {
        let add = |done| Ask::Add { agent: agent.to_owned(), entry: entry.clone(), done };
        match self.ask(add, SAVED) {
            Some(done) => done.map_err(Unsaved::Failed),
            None if self.is_wanted() => Err(Unsaved::Failed("the gateway does not answer".to_owned())),
            None => Err(Unsaved::Elsewhere),
        }
    }

    fn ask<T>(&self, ask: impl FnOnce(SyncSender<T>) -> Ask, longest: Duration) -> Option<T> {
        let (done, answered) = sync_channel(1);
        {
            let running = self.running();
            let running = running.as_ref().filter(|running| running.wanted.borrow().admin)?;
            running.asks.send(ask(done)).ok()?;
        }
        answered.recv_timeout(longest).ok()
    }

    fn is_wanted(&self) -> bool {
        self.running().as_ref().is_some_and(|running| running.wanted.borrow().admin)
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        // Nothing is left by halves.
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complain(&self, what: &str) {
        (self.0.complain)(format!("openclaw-guard: approvals.gateway.admin: {}", shown(what.as_bytes())));
    }

    fn spawn(
        &self,
        wanted: watch::Receiver<Wanted>,
        asked: mpsc::UnboundedReceiver<Ask>,
    ) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let work = Work { follower: self.clone(), wanted, asked, complained: None, pause: PAUSES[0] };
        let work = Arc::new(tokio::sync::Mutex::new(work));
        let run = move || {
            let work = Arc::clone(&work);
            async move { work.lock().await.run().await }
        };
        let thread = std::thread::Builder::new().name("gateway".into());
        thread.spawn(move || runtime.block_on(kept_up_task(run))).map(drop)
    }
}

/// What the thread does.
struct Work {
    follower: Follower,
    wanted: watch::Receiver<Wanted>,
    asked: mpsc::UnboundedReceiver<Ask>,
    /// What was said last of what is wrong: it is said once.
    complained: Option<String>,
    pause: Duration,
}

impl Work {
    async fn run(&mut self) {
        loop {
            let wanted = self.wanted.borrow_and_update().clone();
            if !wanted.admin {
                self.rest("approvals.gateway.admin is off", None).await;
                continue;
            }
            let why = match self.open(&wanted).await {
                Ok(link) => self.serve(&link, &wanted).await,
                Err(why) => Some(why),
            };
            let why = match why {
                Some(why) => {
                    let pause = jittered(self.pause);
                    self.pause = (self.pause * 2).min(PAUSES[1]);
                    (why, pause)
                }
                // Something else is wanted.
                None => continue,
            };
            self.complain_of(&why.0);
            self.rest(&why.0, Some(why.1)).await;
        }
    }

    async fn open(&self, wanted: &Wanted) -> Result<Link, String> {
        let (shared, wanted) = (Arc::clone(&self.follower.0), wanted.clone());
        let find = move || Ok(Access::find(&wanted, &shared.state)?.apart_from(&shared.is_member));
        // The disk may be slow.
        let access = tokio::task::spawn_blocking(find).await.map_err(|error| error.to_string())?;
        let access = access.map_err(|error: NoAccess| error.to_string())?;
        Link::open(&access).await.map_err(|error| error.to_string())
    }

    /// Until the connection has ended, and why; `None` where something else is wanted.
    async fn serve(&mut self, link: &Link, wanted: &Wanted) -> Option<String> {
        let gateway = wanted.url.as_ref().map(GatewayUrl::as_str);
        let mut events = link.events();
        let mut again = interval(AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let outcome = tokio::select! {
                lost = link.lost() => return Some(lost.to_string()),
                changed = self.wanted.changed() => match changed {
                    Ok(()) => return None,
                    Err(_) => return std::future::pending().await,
                },
                _ = again.tick() => self.look(link, gateway).await,
                event = events.recv() => match event {
                    // An "always" that was given elsewhere, perhaps.
                    Ok(event) if event.event == "exec.approval.resolved" => self.look(link, gateway).await,
                    Err(RecvError::Lagged(_)) => self.look(link, gateway).await,
                    Ok(_) => Ok(()),
                    Err(RecvError::Closed) => return Some(link.lost().await.to_string()),
                },
                ask = self.asked.recv() => match ask {
                    Some(ask) => self.answer(link, gateway, ask).await,
                    None => return std::future::pending().await,
                },
            };
            match outcome {
                Ok(()) => (self.complained, self.pause) = (None, PAUSES[0]),
                Err(Unsaid::NoAdmin) => {
                    // It is the gateway's word, and will not be another soon.
                    self.pause = PAUSES[1];
                    return Some(Unsaid::NoAdmin.to_string());
                }
                Err(error) => self.complain_of(&error.to_string()),
            }
        }
    }

    async fn look(&self, link: &Link, gateway: Option<&str>) -> Result<(), Unsaid> {
        match timeout(ANSWER, fetch(link, gateway)).await {
            Ok(Ok(snapshot)) => self.keep(&snapshot),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(Unsaid::Slow),
        }
    }

    /// Answers one, and all who wait for the same.
    async fn answer(&mut self, link: &Link, gateway: Option<&str>, ask: Ask) -> Result<(), Unsaid> {
        let mut looks = Vec::new();
        let mut outcome = Ok(());
        let mut next = Some(ask);
        while let Some(ask) = next.take().or_else(|| self.asked.try_recv().ok()) {
            match ask {
                Ask::Look(done) => looks.push(done),
                Ask::Add { agent, entry, done } => {
                    let added = timeout(ANSWER, add(link, gateway, &agent, &entry, now_ms())).await;
                    let added = added.unwrap_or(Err(Unsaid::Slow)).and_then(|snapshot| self.keep(&snapshot));
                    // Who does not wait any more was told nothing, and saves elsewhere.
                    let _ = done.try_send(added.map_err(|error| error.to_string()));
                }
            }
        }
        if !looks.is_empty() {
            outcome = self.look(link, gateway).await;
        }
        for done in looks {
            let _ = done.try_send(());
        }
        outcome
    }

    fn keep(&self, snapshot: &Snapshot) -> Result<(), Unsaid> {
        let state = &self.follower.0.state;
        store::keep_gateways(state, snapshot)
            .map_err(|error| Unsaid::NotKept(format!("{}: {error}", store::gateways(state).display())))
    }

    /// Waits until something else is wanted, or for this time. Who asks meanwhile is told why nobody answers.
    async fn rest(&mut self, why: &str, pause: Option<Duration>) {
        let pause = async {
            match pause {
                Some(pause) => sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => return,
                changed = self.wanted.changed() => match changed {
                    Ok(()) => return,
                    Err(_) => return std::future::pending().await,
                },
                ask = self.asked.recv() => match ask {
                    Some(Ask::Look(done)) => drop(done.try_send(())),
                    Some(Ask::Add { done, .. }) => drop(done.try_send(Err(why.to_owned()))),
                    None => return std::future::pending().await,
                },
            }
        }
    }

    fn complain_of(&mut self, why: &str) {
        if self.complained.as_deref() != Some(why) {
            self.follower.complain(&format!("{why}; what the gateway said last counts"));
            self.complained = Some(why.to_owned());
        }
    }
}

/// From half of it to all of it: many guards are not to come back at once.
fn jittered(pause: Duration) -> Duration {
    let chance = (ids::random().as_u128() % 1000) as u32;
    pause / 2 + pause / 2 * chance / 1000
}
