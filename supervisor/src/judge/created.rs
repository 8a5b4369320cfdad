//! What the tree has created in this session: it counts as the tree's own.

use std::os::fd::BorrowedFd;

use super::bound_sockets::BoundSockets;
use super::git_files::GitFiles;
use super::git_locks::GitLocks;
use super::git_remotes::GitRemotes;
use super::made_directories::MadeDirectories;
use super::shared_ports::PortSockets;

/// The objects that the tree has created, as far as that decides what it may do with them.
#[derive(Debug, Default)]
pub struct Created {
    /// Directories.
    pub directories: MadeDirectories,
    /// Files with the name `.git`.
    pub git_files: GitFiles,
    /// The locks of git configurations.
    pub git_locks: GitLocks,
    /// Remotes in git configurations.
    pub git_remotes: GitRemotes,
    /// AF_UNIX sockets that it has bound.
    pub sockets: BoundSockets,
    /// TCP and UDP sockets that it has bound.
    pub ports: PortSockets,
}

impl Created {
    /// Remembers a file that the tree has just made with the name `.git`, or is about to give that name.
    pub fn record_git_file(&self, file: BorrowedFd<'_>) {
        self.git_files.record(file);
        // Where a `.git` of the operator's would open something, this file counts as the tree's even if the guard does
        // not hold it open.
        self.directories.record_open(file);
    }
}
