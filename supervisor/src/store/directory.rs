//! OpenClaw's state directory, held open: below it no symbolic link is followed, as OpenClaw follows none.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2, statat};
use rustix::io::Errno;

use super::{DATABASE, NAME};

/// More than any store; what is larger is none.
const LARGEST: u64 = 16 << 20;

/// The state directory.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    path: PathBuf,
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// The store's file as it was found.
#[derive(Debug)]
pub struct Content {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Whose it is.
    pub owner: Owner,
}

impl Directory {
    /// Opens the directory; `None` where there is none. The path is a real one, on which no link is followed: one that
    /// has become a link since may be the tree's.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(path: &Path) -> io::Result<Option<Directory>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(descriptor) => Ok(Some(Directory { descriptor, path: path.to_owned() })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The store's path.
    pub fn store(&self) -> PathBuf {
        self.path.join(NAME)
    }

    /// Whose the directory is.
    ///
    /// # Errors
    /// The kernel's.
    pub fn owner(&self) -> io::Result<Owner> {
        let stat = fstat(&self.descriptor)?;
        Ok(Owner { uid: stat.st_uid, gid: stat.st_gid })
    }

    /// Opens what is below the directory.
    ///
    /// # Errors
    /// The kernel's; ELOOP for a symbolic link on the way or at the end.
    pub fn below(&self, name: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
        Ok(openat2(&self.descriptor, name, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, mode, resolve)?)
    }

    /// The whole store; `None` where there is none.
    ///
    /// # Errors
    /// The kernel's; a sentence for what is no plain file of a store's size.
    pub fn read(&self) -> io::Result<Option<Content>> {
        // A FIFO would wait for somebody to write.
        let descriptor =
            match self.below(NAME, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty()) {
                Ok(descriptor) => descriptor,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                    return Err(io::Error::other("it is a symbolic link, which OpenClaw refuses too"));
                }
                Err(error) => return Err(error),
            };
        let stat = fstat(&descriptor)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no plain file"));
        }
        let mut bytes = Vec::new();
        File::from(descriptor).take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other("it is larger than any store"));
        }
        Ok(Some(Content { bytes, owner: Owner { uid: stat.st_uid, gid: stat.st_gid } }))
    }

    /// Whether a release from 2026.8 on has been here.
    ///
    /// # Errors
    /// The kernel's.
    pub fn has_database(&self) -> io::Result<bool> {
        match statat(&self.descriptor, DATABASE, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
