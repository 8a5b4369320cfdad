//! The node itself: what it is, and what it is doing.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_openclaw::gateway::{Credentials, GatewaySettings, Link, NoAccess, NodeClient};
use guard_openclaw::node::NodeEvent;
use guard_policy::text::shown;
use guard_policy::{NodeCommand, NodeSettings};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::arguments::{NodeArgs, NodeError};
use super::files::{LastRun, NodeFiles, NodeLock, NodeRecord, NodeStatus, UNKNOWN};
use super::policies::RecentPolicies;
use super::runs::Calls;
use super::tickets::Tickets;

/// The maximum number of calls at a time, of all commands together.
pub const MAX_CALLS: usize = 256;
/// The maximum number of calls whose answer the gateway has not confirmed yet, including those that are being
/// answered. While there are so many, the node does not listen to the gateway.
const MAX_UNCONFIRMED: usize = 512;
/// The maximum size of all calls that wait to be decided, in KiB. While they are larger, the node does not
/// listen to the gateway.
const MAX_WAITING_KIB: u32 = 32 << 10;
/// The maximum number of events that wait for the next connection. If there are more, the oldest is lost, and a line on
/// stderr reports it.
const MAX_UNSENT: usize = 64;
/// Threads for calls other than runs.
const OTHER_THREADS: usize = 8;

/// The room that a call takes, until the gateway has confirmed its answer.
pub struct Room {
    _unconfirmed: OwnedSemaphorePermit,
    params: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Frees the room of the parameters.
    pub fn is_decided(&mut self) {
        self.params = None;
    }
}

/// The node.
pub struct NodeHost {
    /// The operator's options. Paths are absolute.
    pub options: Options,
    /// The real path of the state directory.
    pub state: PathBuf,
    /// Where the gateway is.
    pub gateway: GatewaySettings,
    /// `node` of guard.json at the start.
    pub settings: NodeSettings,
    /// The directory for runs that do not name one.
    pub cwd: PathBuf,
    /// The node's id.
    pub id: String,
    /// The node's files.
    pub files: NodeFiles,
    /// The policies of recent calls.
    pub policies: RecentPolicies,
    /// Plans whose approval may come.
    pub tickets: Mutex<Tickets>,
    /// Held during a change of what the gateway has set, so that there is one at a time.
    pub setting: Mutex<()>,
    /// The calls that are being answered.
    pub calls: Calls,
    /// Room for more calls.
    pub open: Semaphore,
    /// Room for more calls that are not confirmed.
    pub unconfirmed: Arc<Semaphore>,
    /// Room for the parameters of waiting calls, in KiB.
    pub waiting: Arc<Semaphore>,
    /// Room for more runs.
    pub running: Semaphore,
    client: NodeClient,
    status: Mutex<NodeStatus>,
    unsent: Mutex<VecDeque<NodeEvent>>,
    is_status_lost: AtomicBool,
    _lock: NodeLock,
}

impl NodeHost {
    /// Finds what the node is. Nothing is connected yet.
    ///
    /// # Errors
    /// If another node runs with this state directory, or something is missing.
    pub fn new(options: &Options, arguments: &NodeArgs, paths: &Paths) -> Result<NodeHost, NodeError> {
        let policy = config::policy(options, paths, Disk::Used)?;
        let mut settings = policy.node().clone();
        if let Some(only) = &arguments.commands {
            settings.commands.retain(|command| only.contains(command));
        }
        let mut gateway = GatewaySettings::from_policy(&policy);
        if let Some(url) = &arguments.url {
            gateway.url = Some(url.clone());
        }
        let absolute = |path: &PathBuf| std::path::absolute(path).map_err(NodeError::Start);
        let written = arguments.cwd.clone().unwrap_or_else(|| match settings.cwd.strip_prefix('~') {
            Some(below) => paths.home.join(below.trim_start_matches('/')),
            None => PathBuf::from(&settings.cwd),
        });
        let options = Options {
            policy: options.policy.as_ref().map(absolute).transpose()?,
            audit: options.audit.as_ref().map(absolute).transpose()?,
            home: Some(paths.home.clone()),
            ..options.clone()
        };
        let name = arguments.display_name.clone().or_else(|| settings.display_name.clone());
        let name = name.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
        let files = NodeFiles::new(&paths.state_directory);
        let lock = files.lock()?;
        let commands: Vec<&'static str> = settings.commands.iter().map(|command| command.as_str()).collect();
        let mut client =
            NodeClient { display_name: name, instance_id: String::new(), commands: commands.clone() };
        let access = Credentials::find_for_node(&gateway, &paths.state_directory, client.clone())?;
        let id = access.device_id();
        // The device's id identifies this installation as well as a random id would.
        client.instance_id = format!("{}-{}", &id[..8], &id[8..12]);
        files.write_node(&NodeRecord {
            version: 1,
            node_id: id.clone(),
            display_name: client.display_name.clone(),
            url: access.endpoint(),
        })?;
        let last_run = files.status().ok().flatten().and_then(|status| status.last_run);
        let status = NodeStatus {
            pid: std::process::id(),
            commands: commands.into_iter().map(str::to_owned).collect(),
            surface: UNKNOWN.to_owned(),
            last_run,
            ..NodeStatus::default()
        };
        Ok(NodeHost {
            options,
            state: paths.state_directory.clone(),
            gateway,
            cwd: absolute(&written)?,
            id,
            files,
            policies: RecentPolicies::default(),
            tickets: Mutex::default(),
            setting: Mutex::default(),
            calls: Calls::default(),
            open: Semaphore::new(MAX_CALLS),
            unconfirmed: Arc::new(Semaphore::new(MAX_UNCONFIRMED)),
            waiting: Arc::new(Semaphore::new(MAX_WAITING_KIB as usize)),
            running: Semaphore::new(settings.max_running),
            settings,
            client,
            status: Mutex::new(status),
            unsent: Mutex::default(),
            is_status_lost: AtomicBool::new(false),
            _lock: lock,
        })
    }

    /// How many threads may block.
    pub fn threads(&self) -> usize {
        self.settings.max_running + OTHER_THREADS
    }

    /// The node's name, for messages.
    pub fn name(&self) -> String {
        shown(self.client.display_name.as_bytes())
    }

    /// The command of this name, if the node offers it.
    pub fn offered(&self, name: &str) -> Option<NodeCommand> {
        NodeCommand::from_name(name).filter(|command| self.settings.commands.contains(command))
    }

    /// Prints a line on stderr, for the operator.
    pub fn print(&self, what: &str) {
        eprintln!("openclaw-guard: node: {what}");
    }

    /// Changes what `node status` shows.
    pub fn note(&self, change: impl FnOnce(&mut NodeStatus)) {
        let mut status = self.status.lock();
        change(&mut status);
        match self.files.write_status(&status) {
            Ok(()) => self.is_status_lost.store(false, Ordering::Relaxed),
            // `node status` shows what was written last, so the operator has to know.
            Err(error) if !self.is_status_lost.swap(true, Ordering::Relaxed) => self.print(&format!(
                "`openclaw-guard node status` is out of date, because its file cannot be written: {error}: make room"
            )),
            Err(_) => {}
        }
    }

    /// How many commands run.
    pub fn running_now(&self) -> usize {
        self.settings.max_running - self.running.available_permits()
    }

    /// Notes how many commands run.
    pub fn note_runs(&self) {
        let running = self.running_now();
        self.note(|status| status.running = running);
    }

    /// Notes a run that has ended.
    pub fn note_last(&self, run: LastRun) {
        self.note(|status| status.last_run = Some(run));
    }

    /// Whether the node's commands are approved, as last noted.
    pub fn surface(&self) -> String {
        self.status.lock().surface.clone()
    }

    /// The request that waits for the operator.
    pub fn request(&self) -> Option<String> {
        self.status.lock().request_id.clone()
    }

    /// Notes whether the node's commands are approved. Returns whether that is new.
    pub fn note_surface(&self, surface: &str, request: Option<String>) -> bool {
        let mut is_new = false;
        self.note(|status| {
            is_new = status.surface != surface;
            status.surface = surface.to_owned();
            status.request_id = request;
        });
        is_new
    }

    /// Waits until there is room for a call with these parameters.
    pub async fn room(&self, params: Option<&str>) -> Option<Room> {
        let kib = params.map_or(0, str::len).div_ceil(1 << 10).min(MAX_WAITING_KIB as usize) as u32;
        let unconfirmed = Arc::clone(&self.unconfirmed).acquire_owned().await.ok()?;
        let params = Arc::clone(&self.waiting).acquire_many_owned(kib).await.ok()?;
        Some(Room { _unconfirmed: unconfirmed, params: Some(params) })
    }

    /// Keeps an event for the next connection.
    pub fn keep_unsent(&self, event: NodeEvent) {
        let mut unsent = self.unsent.lock();
        if unsent.len() >= MAX_UNSENT
            && let Some(lost) = unsent.pop_front()
        {
            self.print(&format!("an event {} is lost: the gateway was away for too long", lost.name()));
        }
        unsent.push_back(event);
    }

    /// Takes the events that wait for a connection.
    pub fn take_unsent(&self) -> Vec<NodeEvent> {
        self.unsent.lock().drain(..).collect()
    }

    /// Whether a connection has ended.
    pub fn is_lost(&self, link: &Link) -> bool {
        link.has_ended()
    }

    /// What the node presents to the gateway now: a token may change.
    ///
    /// # Errors
    /// What is missing.
    pub fn credentials(&self) -> Result<Credentials, NoAccess> {
        Credentials::find_for_node(&self.gateway, &self.state, self.client.clone())
    }
}
