//! Who belongs to the guarded tree.
//!
//! Every member but the guard's leader descends from the reaper, the one child of the supervisor: a process whose parent ends is
//! adopted by it and by nobody else above. So a process is a member when its line of parents meets the reaper.

use rustix::io::Errno;

use crate::peer::proc::{self, Tid};

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
const MAX_LINE_LEN: usize = 4096;

/// So often a line is looked at that changes meanwhile: who is on it may end just then, to be taken for one who has no
/// parents.
const MAX_POLLS: usize = 64;

/// Goes up a line of parents until `says` answers of one and the one above it. `None` where that cannot be told: the line
/// is longer than any, changes each time, or is not shown.
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
                    Some(said) => return Some(said),
                    None => at = above,
                },
                Err(Errno::ACCESS) => return None,
                // It is nobody any more.
                Err(_) if at == pid => return Some(false),
                // The line is another one by now.
                Err(_) => break,
            }
        }
    }
    None
}

/// The parent of a process.
///
/// # Errors
/// The kernel's.
pub fn parent(pid: Tid) -> Result<Tid, Errno> {
    proc::stat(pid).map(|stat| stat.ppid)
}

/// So many are told of.
const MAX_CHAIN_LEN: usize = 64;

impl Tree {
    /// Whether this process (or thread) is a member. A process that cannot be read is none, nor is one of which that cannot
    /// be told.
    pub fn contains(&self, pid: Tid) -> bool {
        self.is_member(pid) == Some(true)
    }

    /// Whether it may be a member: where that cannot be told, it may.
    pub fn may_contain(&self, pid: Tid) -> bool {
        self.is_member(pid) != Some(false)
    }

    fn is_member(&self, pid: Tid) -> Option<bool> {
        if pid <= 1 || self.is_guard(pid) {
            return Some(false);
        }
        line_of(pid, parent, |_, above| self.says(above))
    }

    /// Whether the children of this one are members, where it says so itself.
    fn says(&self, above: Tid) -> Option<bool> {
        let is_root = above == self.reaper || Some(above) == self.leader;
        (is_root || above <= 1 || self.is_guard(above)).then_some(is_root)
    }

    /// Whether this is one of the guard's own processes.
    pub fn is_guard(&self, pid: Tid) -> bool {
        pid == self.reaper || pid == self.supervisor || pid == self.front || Some(pid) == self.leader
    }

    /// The line of parents of a member up to the reaper, the member first, as (pid, command name).
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

    /// Whoever is too far below to be followed is not nobody's child.
    #[test]
    fn a_line_longer_than_any_is_nobodys_alibi() {
        assert_eq!(is_member(100_000, |pid| Ok(pid - 1)), None);
    }

    /// One whose parents end while they are looked at is found all the same.
    #[test]
    fn a_line_that_changes_is_looked_at_again() {
        let looks = Cell::new(0);
        let parent = |pid| {
            looks.set(looks.get() + 1);
            match (pid, looks.get()) {
                (20, ..40) => Ok(19),
                // It has the reaper for its parent now.
                (20, _) => Ok(12),
                _ => Err(Errno::SRCH),
            }
        };
        assert_eq!(is_member(20, parent), Some(true));
        assert_eq!(is_member(20, |pid| if pid == 20 { Ok(19) } else { Err(Errno::SRCH) }), None);
    }
}
