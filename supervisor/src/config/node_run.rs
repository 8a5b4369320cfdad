//! `openclaw-guard node` starts a guard of its own for each run. This module has what the node passes to that guard:
//! descriptors that the guarded tree never gets, and ids for the audit log and the questions.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{OwnedFd, RawFd};
use std::time::Duration;

use clap::Args;
use guard_approvals::Digest;
use serde::{Deserialize, Serialize};

use crate::kernel::descriptors;

/// The maximum length of an approval, in bytes. It has paths and digests of a few files.
const MAX_BYTES: u64 = 1 << 20;

/// The options by which a node starts the guard of one run. They are for the node alone.
#[derive(Args, Clone, Debug, Default)]
pub struct NodeRunOptions {
    /// OpenClaw's id of the run, for the audit log
    #[arg(long, global = true, value_name = "ID", hide = true)]
    pub run_id: Option<String>,
    /// The node's id, for the audit log and the questions
    #[arg(long, global = true, value_name = "ID", hide = true)]
    pub node_id: Option<String>,
    /// Where the approval of the run's first program is
    #[arg(long, global = true, value_name = "FD", hide = true)]
    pub approval_fd: Option<RawFd>,
    /// A socket to the node: when the node closes it, the run ends
    #[arg(long, global = true, value_name = "FD", hide = true)]
    pub lifeline_fd: Option<RawFd>,
    /// How long questions may wait, in milliseconds from the start
    #[arg(long, global = true, value_name = "MS", hide = true)]
    pub ask_within: Option<u64>,
}

/// A file that was approved, by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedFile {
    /// The real path.
    pub path: String,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// An approval from the gateway. Each start in it may be used once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunApproval {
    /// The run's first program.
    pub first: Option<ApprovedStart>,
    /// The command in the first program's code, if that program is a shell and its code is a single command.
    pub code: Option<ApprovedStart>,
}

/// A start that was approved: of a program, and of its script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedStart {
    /// The arguments.
    pub argv: Vec<String>,
    /// The real path of the directory.
    pub cwd: String,
    /// Everything that runs: the program, its script, and what interprets a script.
    pub files: Vec<ApprovedFile>,
}

impl ApprovedStart {
    /// Whether this approval covers a start of this program with the caller's `argv`, in `cwd`.
    pub fn covers(&self, argv: &[Vec<u8>], exec: &guard_approvals::Exec) -> bool {
        let is_same = self.argv.iter().map(String::as_bytes).eq(argv.iter().map(Vec::as_slice));
        let is_approved = |path: &[u8], digest: &Digest| {
            self.files.iter().any(|file| file.path.as_bytes() == path && file.sha256 == digest.to_string())
        };
        let scripts = exec.script.iter().chain(&exec.through);
        // The standard input must be empty: other sources of code were not approved.
        let is_closed = exec.files.is_empty() && exec.inputs.iter().all(|input| input.path == b"/dev/null");
        is_same
            && is_closed
            && self.cwd.as_bytes() == exec.cwd
            && is_approved(&exec.executable.path, &exec.executable.sha256)
            && scripts.clone().all(|script| is_approved(&script.path, &script.sha256))
    }
}

impl NodeRunOptions {
    /// The approval that the node hands over, if there is one.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn approval(&self) -> io::Result<Option<RunApproval>> {
        let Some(fd) = self.approval_fd else { return Ok(None) };
        let mut file = File::open(format!("/proc/self/fd/{fd}"))?;
        // No process that is started later inherits it.
        nix::unistd::close(fd)?;
        file.rewind()?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other)
    }

    /// The socket to the node, if there is one.
    ///
    /// # Errors
    /// If there is no such descriptor.
    pub fn lifeline(&self) -> io::Result<Option<OwnedFd>> {
        let Some(fd) = self.lifeline_fd else { return Ok(None) };
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let lifeline = descriptors::duplicate(own, fd)?;
        nix::unistd::close(fd)?;
        Ok(Some(lifeline))
    }

    /// How long questions may wait, from now on.
    pub fn patience(&self) -> Option<Duration> {
        self.ask_within.map(Duration::from_millis)
    }
}
