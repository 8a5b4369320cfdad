//! Fetches the gateway's exec approvals while the tree runs. A separate thread does so at intervals, and at
//! once before a human is asked. It saves the result to disk, from where the policy is reloaded. The thread
//! connects anew each time, and disconnects before it replies to a caller: gateways up to 2026.7 take a
//! connected administrator for one who answers questions.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use guard_policy::Policy;
use guard_policy::approval::GatewayUrl;
use guard_policy::store::NewEntry;
use guard_policy::text::shown;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::wire::{SyncError, add, fetch, save};
use crate::approvals_store::Snapshot;
use crate::clock::now_ms;
use crate::gateway::{Credentials, GatewaySettings, Link, Pause};
use crate::ports::{IsMember, Warn};
use crate::tasks::restart_task_on_panic;

/// The interval between two fetches: no event reports a change (OpenClaw 2026.9.6).
const FETCH_INTERVAL: Duration = Duration::from_secs(30);
/// How long one answer may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The shortest and the longest wait between two attempts to connect; it doubles each time.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), FETCH_INTERVAL];
/// How long a caller that is about to ask a human waits for the gateway.
const RESYNC_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a caller that saves an entry waits for the gateway.
const SAVE_TIMEOUT: Duration = Duration::from_secs(15);

/// Keeps the saved store of the gateway up to date; all clones share one thread. The thread starts on demand.
#[derive(Clone)]
pub struct SyncThread(Arc<Shared>);

struct Shared {
    /// The real path of the state directory.
    state: PathBuf,
    is_member: IsMember,
    warn: Warn,
    running: Mutex<Option<Running>>,
    /// How long [`SyncThread::look`] waits: [`RESYNC_TIMEOUT`], except in tests.
    worth: Duration,
}

struct Running {
    settings: watch::Sender<GatewaySettings>,
    asks: mpsc::UnboundedSender<Ask>,
}

/// A request to the thread.
enum Ask {
    /// Fetch the store now.
    Look(SyncSender<()>),
    /// Add an entry.
    Add { agent: String, entry: NewEntry, done: SyncSender<Result<(), Arc<SyncError>>> },
}

/// Why an entry is not at the gateway.
#[derive(Debug)]
pub enum Unsaved {
    /// The policy does not want the entry at the gateway.
    Elsewhere,
    /// The entry could not be saved at the gateway.
    Failed(Arc<SyncError>),
}

impl std::fmt::Debug for SyncThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SyncThread").field(&self.0.state).finish()
    }
}

impl SyncThread {
    /// Creates the handle; nothing runs yet. A process that `is_member` accepts must not act as the gateway.
    pub fn new(state: PathBuf, is_member: IsMember, warn: Warn) -> SyncThread {
        SyncThread::patient(state, is_member, warn, RESYNC_TIMEOUT)
    }

    /// Does as [`SyncThread::new`], with another time for [`SyncThread::look`] to wait.
    pub(super) fn patient(state: PathBuf, is_member: IsMember, warn: Warn, worth: Duration) -> SyncThread {
        SyncThread(Arc::new(Shared { state, is_member, warn, running: Mutex::default(), worth }))
    }

    /// Applies the settings of this policy. Starts the thread if the policy needs it and it does not run yet.
    pub fn follow(&self, policy: &Policy) {
        self.want(GatewaySettings::from_policy(policy));
    }

    pub(super) fn want(&self, settings: GatewaySettings) {
        let mut running = self.running();
        if let Some(running) = &*running {
            running.settings.send_if_modified(|before| {
                let is_new = *before != settings;
                *before = settings;
                is_new
            });
        } else if settings.admin {
            let (settings, changes) = watch::channel(settings);
            let (asks, asked) = mpsc::unbounded_channel();
            match self.spawn(changes, asked) {
                Ok(()) => *running = Some(Running { settings, asks }),
                Err(error) => self.warn(&format!("cannot start a thread: {error}")),
            }
        }
    }

    /// Has the store fetched at once, if the policy wants that, and waits briefly. Callers share one fetch.
    pub fn look(&self) {
        let _ = self.ask(Ask::Look, self.0.worth);
    }

    /// Adds an entry as an "always" does, and blocks the calling thread until that is done.
    ///
    /// # Errors
    /// Why the entry is not at the gateway, as far as is known.
    pub fn add(&self, agent: &str, entry: &NewEntry) -> Result<(), Unsaved> {
        let add = |done| Ask::Add { agent: agent.to_owned(), entry: entry.clone(), done };
        match self.ask(add, SAVE_TIMEOUT) {
            Some(done) => done.map_err(Unsaved::Failed),
            None if self.is_wanted() => Err(Unsaved::Failed(Arc::new(SyncError::NoReply))),
            None => Err(Unsaved::Elsewhere),
        }
    }

    fn ask<T>(&self, ask: impl FnOnce(SyncSender<T>) -> Ask, longest: Duration) -> Option<T> {
        let (done, answered) = sync_channel(1);
        {
            let running = self.running();
            let running = running.as_ref().filter(|running| running.settings.borrow().admin)?;
            running.asks.send(ask(done)).ok()?;
        }
        answered.recv_timeout(longest).ok()
    }

    fn is_wanted(&self) -> bool {
        self.running().as_ref().is_some_and(|running| running.settings.borrow().admin)
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        // No holder of this lock leaves the value half changed.
        self.0.running.lock()
    }

    fn warn(&self, what: &str) {
        (self.0.warn)(format!("openclaw-guard: approvals.gateway.admin: {}", shown(what.as_bytes())));
    }

    fn spawn(
        &self,
        settings: watch::Receiver<GatewaySettings>,
        asked: mpsc::UnboundedReceiver<Ask>,
    ) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let work = Work { sync: self.clone(), settings, asked, warned: None, pause: Pause::new(PAUSES) };
        let work = Arc::new(tokio::sync::Mutex::new(work));
        let run = move || {
            let work = Arc::clone(&work);
            async move { work.lock().await.run().await }
        };
        let thread = std::thread::Builder::new().name("gateway".into());
        thread.spawn(move || runtime.block_on(restart_task_on_panic(run))).map(drop)
    }
}

/// The state of the thread.
struct Work {
    sync: SyncThread,
    settings: watch::Receiver<GatewaySettings>,
    asked: mpsc::UnboundedReceiver<Ask>,
    /// The last problem that was reported; it is not repeated.
    warned: Option<String>,
    pause: Pause,
}

/// What ends a wait.
enum Next {
    /// A request.
    Ask(Ask),
    /// The time is up.
    Time,
    /// The settings have changed.
    Changed,
}

impl Work {
    async fn run(&mut self) {
        let mut asks = Vec::new();
        loop {
            let settings = self.settings.borrow_and_update().clone();
            if !settings.admin {
                self.refuse(&Arc::new(SyncError::Off), None).await;
                continue;
            }
            match self.visit(&settings, std::mem::take(&mut asks)).await {
                Ok(()) => {
                    self.warned = None;
                    self.pause.reset();
                    if let Next::Ask(ask) = self.next(sleep(FETCH_INTERVAL)).await {
                        asks.push(ask);
                        // All callers that wait are answered together.
                        asks.extend(std::iter::from_fn(|| self.asked.try_recv().ok()));
                    }
                }
                Err(why) => {
                    self.warn_once(&why.to_string());
                    let pause = self.pause.next_wait();
                    self.refuse(&why, Some(pause)).await;
                }
            }
        }
    }

    /// Connects, adds the requested entries, fetches the store, and disconnects before it replies.
    async fn visit(&self, settings: &GatewaySettings, asks: Vec<Ask>) -> Result<(), Arc<SyncError>> {
        let link = match self.open(settings).await {
            Ok(link) => link,
            Err(error) => {
                let why = Arc::new(error);
                asks.into_iter().for_each(|ask| ask.refuse(&why));
                return Err(why);
            }
        };
        let gateway = settings.url.as_ref().map(GatewayUrl::as_str);
        let mut added = Vec::new();
        for ask in &asks {
            added.push(match ask {
                Ask::Look(_) => Ok(()),
                Ask::Add { agent, entry, .. } => self.add(&link, gateway, agent, entry).await,
            });
        }
        let looked = match timeout(RESPONSE_TIMEOUT, fetch(&link, gateway)).await {
            Ok(reply) => reply.and_then(|snapshot| self.save(&snapshot)),
            Err(_) => Err(SyncError::Slow),
        };
        link.end().await;
        for (ask, added) in asks.into_iter().zip(added) {
            match ask {
                // A caller that has stopped waiting saves its entry elsewhere.
                Ask::Look(done) => drop(done.try_send(())),
                Ask::Add { done, .. } => drop(done.try_send(added.map_err(Arc::new))),
            }
        }
        looked.map_err(Arc::new)
    }

    async fn open(&self, settings: &GatewaySettings) -> Result<Link, SyncError> {
        let (shared, settings) = (Arc::clone(&self.sync.0), settings.clone());
        let find = move || Credentials::find(&settings, &shared.state);
        // The disk may be slow.
        let access = tokio::task::spawn_blocking(find).await??.apart_from(&self.sync.0.is_member);
        Ok(Link::open(&access).await?)
    }

    async fn add(
        &self,
        link: &Link,
        gateway: Option<&str>,
        agent: &str,
        entry: &NewEntry,
    ) -> Result<(), SyncError> {
        let added = timeout(RESPONSE_TIMEOUT, add(link, gateway, agent, entry, now_ms())).await;
        self.save(&added.unwrap_or(Err(SyncError::Slow))?)
    }

    fn save(&self, snapshot: &Snapshot) -> Result<(), SyncError> {
        save(&self.sync.0.state, snapshot)
    }

    async fn next(&mut self, time: impl Future<Output = ()>) -> Next {
        tokio::select! {
            () = time => Next::Time,
            changed = self.settings.changed() => match changed {
                Ok(()) => Next::Changed,
                Err(_) => std::future::pending().await,
            },
            ask = self.asked.recv() => match ask {
                Some(ask) => Next::Ask(ask),
                None => std::future::pending().await,
            },
        }
    }

    /// Waits until the settings change or the pause ends. Meanwhile it refuses requests with the reason `why`.
    async fn refuse(&mut self, why: &Arc<SyncError>, pause: Option<Duration>) {
        let time = async {
            match pause {
                Some(pause) => sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(time);
        while let Next::Ask(ask) = self.next(&mut time).await {
            ask.refuse(why);
        }
    }

    fn warn_once(&mut self, why: &str) {
        if self.warned.as_deref() != Some(why) {
            self.sync.warn(&format!("{why}; the last approvals from the gateway stay in force"));
            self.warned = Some(why.to_owned());
        }
    }
}

impl Ask {
    /// Refuses a request, with the reason.
    fn refuse(self, why: &Arc<SyncError>) {
        match self {
            Ask::Look(done) => drop(done.try_send(())),
            Ask::Add { done, .. } => drop(done.try_send(Err(Arc::clone(why)))),
        }
    }
}
