//! Decides which processes belong to the guarded tree.
//!
//! Every descendant of the reaper, the supervisor's only child, is a member, except the guard's leader. A
//! process whose parent ends is adopted by the reaper, not by a process above it. So a process is a member if
//! its chain of parents reaches the reaper or the leader.

use rustix::io::Errno;

use crate::peer::proc::{self, Tid};

/// The guard's own processes around the tree.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// The reaper: parent of the first command and of every orphan, not itself a member.
    pub reaper: Tid,
    /// The supervisor.
    pub supervisor: Tid,
    /// The process that the operator started; it returns the command's status.
    pub front: Tid,
    /// With a terminal, the leader of its session: parent of the first command, not itself a member. It lives
    /// as long as the tree.
    pub leader: Option<Tid>,
}

/// The longest chain of parents that is followed (pid_max is 2^22; trees are a few dozen deep).
const MAX_LINE_LEN: usize = 4096;

/// How many times a changing chain is followed: a process that ends meanwhile seems to have no parent.
const MAX_POLLS: usize = 64;

/// Follows a chain of parents until `says` returns a result for a process and its parent. Returns `None` if
/// the chain is too long, changes each time, or cannot be read.
pub fn line_of(
    pid: Tid,
    parent: impl Fn(Tid) -> Result<Tid, Errno>,
    says: impl Fn(Tid, Tid) -> Option<bool>,
) -> Option<bool> {
    for _ in 0..MAX_POLLS {
        let mut at = pid;
        for step in 0.. {
            if step == MAX_LINE_LEN {
                return None;
            }
            match parent(at) {
                Ok(above) => match says(at, above) {
                    Some(line) => return Some(line),
                    None => at = above,
                },
                Err(Errno::ACCESS) => return None,
                // The process itself has ended.
                Err(_) if at == pid => return Some(false),
                // The chain has changed.
                Err(_) => break,
            }
        }
    }
    None
}

/// Returns the parent of a process.
///
/// # Errors
/// The errors of [`proc::stat`], or the error of the failed system call.
pub fn parent(pid: Tid) -> Result<Tid, Errno> {
    proc::stat(pid).map(|stat| stat.ppid)
}

/// The most ancestors that are reported.
const MAX_CHAIN_LEN: usize = 64;

impl Tree {
    /// Returns whether a process (or thread) is a member; false if its chain of parents cannot be followed.
    pub fn contains(&self, pid: Tid) -> bool {
        self.is_member(pid) == Some(true)
    }

    /// Returns whether a process may be a member; true if its chain of parents cannot be followed.
    pub fn may_contain(&self, pid: Tid) -> bool {
        self.is_member(pid) != Some(false)
    }

    fn is_member(&self, pid: Tid) -> Option<bool> {
        if pid <= 1 || self.is_guard(pid) {
            return Some(false);
        }
        line_of(pid, parent, |_, above| self.says(above))
    }

    /// Returns whether the children of a process are members, or `None` if that depends on its own parent.
    fn says(&self, above: Tid) -> Option<bool> {
        let is_root = above == self.reaper || Some(above) == self.leader;
        (is_root || above <= 1 || self.is_guard(above)).then_some(is_root)
    }

    /// Returns whether this is one of the guard's own processes.
    pub fn is_guard(&self, pid: Tid) -> bool {
        pid == self.reaper || pid == self.supervisor || pid == self.front || Some(pid) == self.leader
    }

    /// Returns a member and its ancestors below the guard's processes, as (pid, command name).
    pub fn chain(&self, pid: Tid) -> Vec<(Tid, String)> {
        let mut chain = Vec::new();
        let mut at = pid;
        while at > 1 && !self.is_guard(at) && chain.len() < MAX_CHAIN_LEN {
            let Ok((parent, name)) = proc::parent(at) else { break };
            chain.push((at, name));
            at = parent;
        }
        chain
    }

    /// Returns a member and all its ancestors below the guard's processes; `None` if any of them is uncertain.
    ///
    /// All are read twice, with their start times. A process that is the same at both looks was not replaced in
    /// between, so the parents of the second look are certain. The caller must make sure that `pid` still is
    /// the same process afterwards.
    pub fn lineage(&self, pid: Tid) -> Option<Vec<procfs::process::Stat>> {
        let look = || self.line(pid).collect::<Vec<_>>();
        let (first, second) = (look(), look());
        let identity = |all: &[procfs::process::Stat]| -> Vec<_> {
            all.iter().map(|stat| (stat.pid, stat.starttime, stat.ppid)).collect()
        };
        let top = second.last()?.ppid;
        let is_whole = top == self.reaper || Some(top) == self.leader;
        (is_whole && identity(&first) == identity(&second)).then_some(second)
    }

    /// Iterates over a member and its ancestors below the guard's processes, with all fields of each
    /// `/proc/PID/stat`.
    pub fn line(&self, pid: Tid) -> impl Iterator<Item = procfs::process::Stat> {
        let mut at = pid;
        let parents = std::iter::from_fn(move || {
            let is_member = at > 1 && !self.is_guard(at);
            let stat = is_member.then(|| procfs::process::Process::new(at)?.stat());
            let stat = stat?.ok()?;
            at = stat.ppid;
            Some(stat)
        });
        parents.take(MAX_CHAIN_LEN)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const TREE: Tree = Tree { reaper: 12, supervisor: 11, front: 10, leader: None };

    fn is_member(pid: Tid, parent: impl Fn(Tid) -> Result<Tid, Errno>) -> Option<bool> {
        line_of(pid, parent, |_, above| TREE.says(above))
    }

    #[test]
    fn a_line_leads_to_the_reaper_or_elsewhere() {
        assert_eq!(is_member(15, |pid| Ok(pid - 1)), Some(true));
        assert_eq!(is_member(9, |pid| Ok(pid - 1)), Some(false));
        assert_eq!(is_member(15, |pid| Ok(if pid == 15 { 2 } else { 0 })), Some(false));
        assert_eq!(is_member(15, |_| Err(Errno::SRCH)), Some(false));
        assert_eq!(is_member(15, |pid| if pid == 15 { Ok(14) } else { Err(Errno::ACCESS) }), None);
    }

    /// If a process has too many ancestors to follow, it is not known whether it is a member.
    #[test]
    fn a_line_longer_than_any_is_nobodys_alibi() {
        assert_eq!(is_member(100_000, |pid| Ok(pid - 1)), None);
    }

    /// A process whose parents end during the search is still found.
    #[test]
    fn a_line_that_changes_is_looked_at_again() {
        let looks = Cell::new(0);
        let parent = |pid| {
            looks.set(looks.get() + 1);
            match (pid, looks.get()) {
                (20, ..40) => Ok(19),
                // The reaper has adopted it.
                (20, _) => Ok(12),
                _ => Err(Errno::SRCH),
            }
        };
        assert_eq!(is_member(20, parent), Some(true));
        assert_eq!(is_member(20, |pid| if pid == 20 { Ok(19) } else { Err(Errno::SRCH) }), None);
    }
}
