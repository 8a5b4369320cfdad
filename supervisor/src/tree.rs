//! Who belongs to the guarded tree.
//!
//! Every member but the guard's leader descends from the reaper, the one child of the supervisor: a process whose parent ends is
//! adopted by it and by nobody else above. So a process is a member when its line of parents meets the reaper.

use crate::kernel::{Tid, proc};

/// The guard's own processes around the tree.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// The reaper: parent of the first command and of every orphan, itself no member.
    pub reaper: Tid,
    /// The supervisor.
    pub supervisor: Tid,
    /// The process that the operator started and that hands on the command's status.
    pub front: Tid,
    /// Where there is a terminal, the leader of its session: parent of the first command, itself no member. It lives
    /// as long as the tree.
    pub leader: Option<Tid>,
}

/// A line of parents longer than this is no line (pid_max is 2^22; trees are a few dozen deep).
const LONGEST_LINE: usize = 4096;

/// So many are told of.
const LONGEST_CHAIN: usize = 64;

impl Tree {
    /// Whether this process (or thread) is a member. A process that cannot be read is none.
    pub fn contains(&self, pid: Tid) -> bool {
        let mut at = pid;
        for _ in 0..LONGEST_LINE {
            if at <= 1 || self.is_guard(at) {
                return false;
            }
            let Ok(stat) = proc::stat(at) else { return false };
            if stat.ppid == self.reaper || Some(stat.ppid) == self.leader {
                return true;
            }
            at = stat.ppid;
        }
        false
    }

    /// Whether this is one of the guard's own processes.
    pub fn is_guard(&self, pid: Tid) -> bool {
        pid == self.reaper || pid == self.supervisor || pid == self.front || Some(pid) == self.leader
    }

    /// The line of parents of a member up to the reaper, the member first, as (pid, command name).
    pub fn chain(&self, pid: Tid) -> Vec<(Tid, String)> {
        let mut chain = Vec::new();
        let mut at = pid;
        while at > 1 && !self.is_guard(at) && chain.len() < LONGEST_CHAIN {
            let Ok((parent, name)) = proc::parent(at) else { break };
            chain.push((at, name));
            at = parent;
        }
        chain
    }

    /// The same, with all that the kernel says of each.
    pub fn line(&self, pid: Tid) -> impl Iterator<Item = procfs::process::Stat> {
        let mut at = pid;
        let parents = std::iter::from_fn(move || {
            let is_member = at > 1 && !self.is_guard(at);
            let stat = is_member.then(|| procfs::process::Process::new(at)?.stat());
            let stat = stat?.ok()?;
            at = stat.ppid;
            Some(stat)
        });
        parents.take(LONGEST_CHAIN)
    }
}
