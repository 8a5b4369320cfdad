//! Files that have been removed: the tree reaches them by its descriptors alone.
//!
//! The kernel still has a path for such a file, by the directory that had its last name. Where that directory is moved, the
//! path goes along, and the file may be one that had no name there: a second name of another file, which is still in use. So
//! such a path allows nothing. What a descriptor was opened for, the policy has allowed once.

use std::os::fd::{AsFd, BorrowedFd};

use guard_policy::Access;
use rustix::fs::{FileType, OFlags};
use rustix::io::Errno;

use super::{Identity, Object};
use crate::caller::Caller;

/// What a descriptor was opened for: nothing with O_PATH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenedFor {
    reads: bool,
    writes: bool,
}

impl OpenedFor {
    /// Only to be read.
    pub(super) const READING: OpenedFor = OpenedFor { reads: true, writes: false };

    /// Asks for what an open file was opened for.
    pub(super) fn from_file(file: BorrowedFd<'_>) -> Result<OpenedFor, Errno> {
        let flags = rustix::fs::fcntl_getfl(file)?;
        let mode = flags & OFlags::RWMODE;
        let opens = |modes: [OFlags; 2]| !flags.contains(OFlags::PATH) && modes.contains(&mode);
        Ok(OpenedFor {
            reads: opens([OFlags::RDONLY, OFlags::RDWR]),
            writes: opens([OFlags::WRONLY, OFlags::RDWR]),
        })
    }

    /// Whether its holder can do this with the file anyway.
    pub fn allows(self, access: Access) -> bool {
        (self.reads || !access.contains(Access::READ)) && (self.writes || !access.contains(Access::WRITE))
    }
}

/// What a descriptor of the caller was opened for that leads to a removed object; `None` for a directory, in which nothing is
/// left.
pub(super) fn held_by(caller: &Caller<'_>, number: i32, object: &Object) -> Option<OpenedFor> {
    if object.kind() == FileType::Directory {
        return None;
    }
    let own = || {
        let own = caller.descriptor(number)?;
        // Another thread may have put another file there meanwhile.
        let is_same = Identity::from_stat(&rustix::fs::fstat(&own)?) == Identity::from_stat(&object.stat);
        if is_same { OpenedFor::from_file(own.as_fd()) } else { Ok(OpenedFor::default()) }
    };
    Some(own().unwrap_or_default())
}
