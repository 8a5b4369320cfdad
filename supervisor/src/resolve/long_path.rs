//! The path of a directory that is too deep for the kernel to report: the kernel's path of an ancestor, and the names
//! between.
//!
//! The names are read one after another, and directories may move meanwhile. That gains nothing: each name was correct
//! when it was read, and nothing moves to where it, or anything below it, would have more rights (syscall/rename.rs).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::proc_fd::{KernelPath, kernel_path, link_to};

/// The maximum number of levels to go up.
const MAX_LEVELS: usize = 4096;

/// The path of `directory`.
///
/// # Errors
/// ENAMETOOLONG if it is not a directory, and if a name is not found or may not be searched for.
pub fn deep_path(directory: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    let mut here = directory.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
    let mut names: Vec<Vec<u8>> = Vec::new();
    for _ in 0..MAX_LEVELS {
        let stat = rustix::fs::fstat(&here)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            break;
        }
        let parent = rustix::fs::openat(&here, "..", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        names.push(name_in(&parent, &stat)?);
        match kernel_path(parent.as_fd()) {
            Ok(KernelPath { mut path, .. }) => {
                for name in names.iter().rev() {
                    path.push(b'/');
                    path.extend_from_slice(name);
                }
                return Ok(path);
            }
            Err(Errno::NAMETOOLONG) => here = parent,
            Err(error) => return Err(error),
        }
    }
    Err(Errno::NAMETOOLONG)
}

/// The name of a directory in its parent.
fn name_in(parent: &OwnedFd, child: &Stat) -> Result<Vec<u8>, Errno> {
    if child.st_nlink == 0 {
        // The directory was removed: its name is gone, and nothing can be in it.
        return Ok(b"(deleted)".to_vec());
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let listed =
        rustix::fs::open(link_to(parent.as_fd()), flags, Mode::empty()).map_err(|_| Errno::NAMETOOLONG)?;
    for entry in Dir::new(listed)? {
        let entry = entry?;
        let name = entry.file_name();
        // A mount point has another inode number in the listing. At such a depth it is not searched for.
        if entry.ino() != child.st_ino || name == c".." || name == c"." {
            continue;
        }
        let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| (found.st_dev, found.st_ino) == (child.st_dev, child.st_ino)) {
            return Ok(name.to_bytes().to_vec());
        }
    }
    Err(Errno::NAMETOOLONG)
}
