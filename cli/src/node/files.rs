//! The node's own files, in `guard` in the state directory, where no guarded tree reads or writes anything.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::{Directory, GUARD, PRIVATE};
use guard_policy::text::shown;
use rustix::fs::{FlockOperation, OFlags, flock, renameat};
use serde::{Deserialize, Serialize};

/// The file that says who the node is.
const NODE: &str = "node.json";
/// The file that says what the node is doing.
const STATUS: &str = "node-status.json";
/// The file with what the gateway has set for runs here.
const APPROVALS: &str = "node-approvals.json";
/// The file that is locked as long as a node runs.
const LOCK: &str = "node.lock";
/// How much is read of a file at most, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The operator has approved the node's commands.
pub const APPROVED: &str = "approved";
/// The node's commands wait for the operator.
pub const PENDING: &str = "pending";
/// The operator has rejected the node's commands.
pub const REJECTED: &str = "rejected";
/// The operator has removed the node from the gateway.
pub const REMOVED: &str = "removed";
/// The gateway does not say whether the node's commands are approved.
pub const UNKNOWN: &str = "unknown";

/// One of the node's files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// It cannot be read or written.
    #[error("{path}: {error}", path = shown(.path.as_os_str().as_encoded_bytes()))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another node runs with this state directory.
    #[error("a node runs already for {state}: `openclaw-guard node status` shows it", state = shown(.0.as_os_str().as_encoded_bytes()))]
    Runs(PathBuf),
}

/// Who the node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRecord {
    /// The version of the format: 1.
    pub version: u32,
    /// The device's id, by which gateways know the node.
    pub node_id: String,
    /// Its name.
    pub display_name: String,
    /// The gateway.
    pub url: String,
}

/// What the node is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// The node's process.
    pub pid: u32,
    /// Since when it is connected, in milliseconds since 1970.
    pub connected_since_ms: Option<u64>,
    /// The gateway's release.
    pub gateway_version: Option<String>,
    /// Why it is not connected.
    pub problem: Option<String>,
    /// [`APPROVED`], [`PENDING`], [`REJECTED`], [`REMOVED`] or [`UNKNOWN`].
    pub surface: String,
    /// The request to approve, while the surface is pending.
    pub request_id: Option<String>,
    /// The commands that it offers.
    pub commands: Vec<String>,
    /// How many commands run now.
    pub running: usize,
    /// The last run that has ended.
    pub last_run: Option<LastRun>,
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// OpenClaw's id of the run.
    pub run_id: String,
    /// The agent.
    pub agent: String,
    /// OpenClaw's key of the session.
    pub session_key: Option<String>,
    /// The exit status, if it has one.
    pub exit_code: Option<i32>,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
}

/// The node's files in a state directory.
#[derive(Clone, Debug)]
pub struct NodeFiles(PathBuf);

/// Held as long as the node runs.
#[derive(Debug)]
pub struct NodeLock {
    _held: OwnedFd,
}

impl NodeFiles {
    /// The files in the state directory with this real path.
    pub fn new(state: &Path) -> NodeFiles {
        NodeFiles(state.to_owned())
    }

    fn failed(&self, name: &str) -> impl FnOnce(io::Error) -> FilesError {
        let path = self.0.join(GUARD).join(name);
        move |error| FilesError::Io { path, error }
    }

    /// Lets no other node run with this state directory.
    ///
    /// # Errors
    /// If one runs, or the lock cannot be made.
    pub fn lock(&self) -> Result<NodeLock, FilesError> {
        let own = Directory::make_own(&self.0).map_err(self.failed(LOCK))?;
        let made = own.below(LOCK, OFlags::RDWR | OFlags::CREATE, PRIVATE).map_err(self.failed(LOCK))?;
        own.hand_over(&made).map_err(self.failed(LOCK))?;
        match flock(&made, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(NodeLock { _held: made }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(FilesError::Runs(self.0.clone())),
            Err(error) => Err(self.failed(LOCK)(error.into())),
        }
    }

    /// Whether a node runs with this state directory.
    pub fn is_locked(&self) -> bool {
        let lock = Directory::open_own(&self.0)
            .ok()
            .flatten()
            .and_then(|own| own.below(LOCK, OFlags::RDWR, rustix::fs::Mode::empty()).ok());
        lock.is_some_and(|lock| {
            flock(&lock, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
        })
    }

    /// Who the node is, if one was ever started.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn node(&self) -> Result<Option<NodeRecord>, FilesError> {
        self.parsed(NODE)
    }

    /// Writes who the node is.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn write_node(&self, node: &NodeRecord) -> Result<(), FilesError> {
        self.write(NODE, &pretty(node))
    }

    /// What the node is doing, or was doing last.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn status(&self) -> Result<Option<NodeStatus>, FilesError> {
        self.parsed(STATUS)
    }

    /// Writes what the node is doing.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn write_status(&self, status: &NodeStatus) -> Result<(), FilesError> {
        self.write(STATUS, &pretty(status))
    }

    /// The text of what the gateway has set for runs here.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn approvals(&self) -> Result<Option<String>, FilesError> {
        self.read(APPROVALS)
    }

    /// Writes what the gateway has set.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn write_approvals(&self, text: &str) -> Result<(), FilesError> {
        self.write(APPROVALS, text)
    }

    fn parsed<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<Option<T>, FilesError> {
        let Some(text) = self.read(name)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| self.failed(name)(error.into()))
    }

    fn read(&self, name: &str) -> Result<Option<String>, FilesError> {
        let read = || -> io::Result<Option<String>> {
            let Some(own) = Directory::open_own(&self.0)? else { return Ok(None) };
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let file = match own.below(name, flags, rustix::fs::Mode::empty()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                file => file?,
            };
            let mut text = String::new();
            File::from(file).take(MAX_BYTES).read_to_string(&mut text)?;
            Ok(Some(text))
        };
        read().map_err(self.failed(name))
    }

    /// Replaces a file in one step.
    fn write(&self, name: &str, text: &str) -> Result<(), FilesError> {
        let new = format!("{name}.new");
        let write = || -> io::Result<()> {
            let own = Directory::make_own(&self.0)?;
            let file = own.below(new.as_str(), OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, PRIVATE)?;
            rustix::fs::fchmod(&file, PRIVATE)?;
            own.hand_over(&file)?;
            File::from(file).write_all(text.as_bytes())?;
            Ok(renameat(own.as_fd(), new.as_str(), own.as_fd(), name)?)
        };
        write().map_err(self.failed(name))
    }
}

fn pretty(value: &impl Serialize) -> String {
    // Serializing strings and numbers cannot fail.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
