//! Checks which process holds the other end of a connection on this host. The guarded tree may not bind the
//! gateway's port (docs/policy.md); this check is for the port of a gateway that does not run, which any user
//! may bind.
//!
//! Why: docs/decisions.md, "On this host the gateway's token is sent only to this user and root"

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use procfs::net::TcpNetEntry;
use procfs::process::Process;
use rustix::process::geteuid;

use crate::peer::nested_guard::guard_above;
use crate::ports::IsMember;

/// How many times a missing row is looked for: a read of the kernel's table is not atomic and can miss a row.
const MAX_POLLS: usize = 5;
/// The pause between two attempts to find the row.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The two ends of a connection, as the local socket reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketPair {
    /// The local address.
    pub own: SocketAddr,
    /// The gateway's address.
    pub peer: SocketAddr,
}

/// Why no secret may be sent to the other end.
#[derive(Debug, thiserror::Error)]
pub enum GatewayRejected {
    /// The socket belongs to neither this user nor root; holds the user id.
    #[error("a process of another user ({0}) listens there")]
    OtherUser(u32),
    /// A process of a guarded tree holds the socket; holds its pid.
    #[error("a process of a guarded tree ({0}) listens there, and may not answer")]
    Member(i32),
    /// A process of a guarded tree may hold the socket: its descriptors cannot be read. Holds its pid.
    #[error(
        "the descriptors of a process of a guarded tree ({0}) cannot be read: it may be the one that listens there"
    )]
    Hidden(i32),
    /// No process whose descriptors can be read holds the socket.
    #[error(
        "no process that this user sees listens there, so it may be one of a guarded tree: run the \
         gateway as this user and beside the guard, or let it speak TLS (wss://)"
    )]
    Unseen,
    /// The kernel's tables have no row for the connection.
    #[error("the kernel does not show which process listens there")]
    Unknown,
    /// /proc cannot be read; holds the reason.
    #[error("cannot find the process that listens there: {0}")]
    Failed(String),
}

impl SocketPair {
    /// Returns whether both ends are on this host. If this host connects to one of its own addresses, it does
    /// so from the same address.
    pub fn are_here(&self) -> bool {
        self.peer.ip().to_canonical().is_loopback() || self.peer.ip() == self.own.ip()
    }

    /// Checks a connection that the gateway has accepted. Until the gateway accepts it, no process holds the other
    /// end.
    ///
    /// # Errors
    /// Why no secret may be sent.
    pub fn check(&self, is_member: Option<&IsMember>) -> Result<(), GatewayRejected> {
        let row = self.row()?;
        let own = geteuid().as_raw();
        if row.uid != own && row.uid != 0 {
            return Err(GatewayRejected::OtherUser(row.uid));
        }
        let is_member = |pid| is_member.is_some_and(|is_member| is_member(pid)) || guard_above(pid).is_some();
        let mut hidden = None;
        // A member does not run as root, so a socket of root is not a member's.
        let mut is_other = row.uid != own;
        let mut is_perhaps_other = false;
        for pid in processes()? {
            let is_member = is_member(pid);
            if !is_member && is_other {
                continue;
            }
            match holds(pid, row.inode) {
                Some(true) if is_member => return Err(GatewayRejected::Member(pid)),
                Some(true) => is_other = true,
                None if is_member => hidden = Some(pid),
                // A guard run by root has no capabilities: it can read neither the descriptors of root's
                // other processes nor those of its own.
                None => is_perhaps_other |= own == 0,
                Some(false) => {}
            }
        }
        // A hidden member, whose descriptors cannot be read, holds the socket only if no other process does. If no
        // process is found, that proves nothing: a member may have sent the socket to itself in a message that it
        // receives later (unix(7), SCM_RIGHTS).
        match hidden {
            _ if is_other || is_perhaps_other => Ok(()),
            Some(hidden) => Err(GatewayRejected::Hidden(hidden)),
            None => Err(GatewayRejected::Unseen),
        }
    }

    /// Returns the row of the other end in the kernel's tables.
    fn row(&self) -> Result<TcpNetEntry, GatewayRejected> {
        let failed = |error: procfs::ProcError| GatewayRejected::Failed(error.to_string());
        for look in 0..MAX_POLLS {
            if look > 0 {
                std::thread::sleep(RETRY_INTERVAL);
            }
            let me = Process::myself().map_err(failed)?;
            // If the gateway listens on ::, its connections from 127.0.0.1 are in the IPv6 table.
            let mut rows = me.tcp().map_err(failed)?;
            rows.extend(me.tcp6().unwrap_or_default());
            let row = rows.into_iter().find(|row| {
                plain(row.local_address) == plain(self.peer)
                    && plain(row.remote_address) == plain(self.own)
                    && row.inode != 0
            });
            if let Some(row) = row {
                return Ok(row);
            }
        }
        Err(GatewayRejected::Unknown)
    }
}

fn plain(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

fn processes() -> Result<impl Iterator<Item = i32>, GatewayRejected> {
    let entries = fs::read_dir("/proc").map_err(|error| GatewayRejected::Failed(error.to_string()))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// Returns whether a process holds the socket with this inode; `None` if its descriptors cannot be read.
fn holds(pid: i32, inode: u64) -> Option<bool> {
    let socket_link = format!("socket:[{inode}]");
    let is_gone = |error: &io::Error| {
        error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
    };
    let tasks = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(tasks) => tasks,
        Err(error) => return is_gone(&error).then_some(false),
    };
    let mut is_certain = true;
    // A thread may have a descriptor table of its own.
    for task in tasks.flatten() {
        match fs::read_dir(task.path().join("fd")) {
            Ok(held) => {
                for entry in held {
                    // Reading a link takes more rights than listing the directory.
                    match entry.and_then(|entry| fs::read_link(entry.path())) {
                        Ok(link) if link.as_os_str() == socket_link.as_str() => return Some(true),
                        Ok(_) => {}
                        Err(error) => is_certain &= is_gone(&error),
                    }
                }
            }
            Err(error) => is_certain &= is_gone(&error),
        }
    }
    is_certain.then_some(false)
}
