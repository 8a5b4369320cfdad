//! The directory of a store, held open. Like OpenClaw, the guard follows no symbolic link below it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Uid, fchown, fstat, mkdirat, openat2, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::{DATABASE, GATEWAYS, GUARD, NAME, OWN};

/// The largest store that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Which store a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// OpenClaw's store, in the state directory.
    OpenClaw,
    /// The guard's own store, in the directory `guard` of the state directory.
    Guard,
    /// The gateway's store as last reported, in the same directory as the guard's own.
    Gateway,
}

/// The directory of a store.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    path: PathBuf,
    kind: StoreKind,
}

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// A store's file as read.
#[derive(Debug)]
pub struct Content {
    /// All bytes of the file.
    pub bytes: Vec<u8>,
    /// The file's owner.
    pub owner: Owner,
}

impl Directory {
    /// Opens OpenClaw's state directory; returns `None` if there is none. `path` is a real path. No link in it is
    /// followed: a link that has appeared since it was resolved may have been made by the tree.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn open(path: &Path) -> io::Result<Option<Directory>> {
        Directory::open_as(path, StoreKind::OpenClaw)
    }

    /// Opens the guard's own directory in a state directory; returns `None` if there is none.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn open_own(state: &Path) -> io::Result<Option<Directory>> {
        Directory::open_as(&state.join(GUARD), StoreKind::Guard)
    }

    /// Opens the guard's own directory, to access the gateway's store.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn open_gateways(state: &Path) -> io::Result<Option<Directory>> {
        Directory::open_as(&state.join(GUARD), StoreKind::Gateway)
    }

    /// Opens the guard's own directory in a state directory, and creates what is missing.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn make_own(state: &Path) -> io::Result<Directory> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        Directory::open(state)?.ok_or_else(missing)?.make(GUARD)?;
        Directory::open_own(state)?.ok_or_else(missing)
    }

    fn open_as(path: &Path, kind: StoreKind) -> io::Result<Option<Directory>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(descriptor) => Ok(Some(Directory { descriptor, path: path.to_owned(), kind })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns which store the directory holds.
    pub fn kind(&self) -> StoreKind {
        self.kind
    }

    /// Returns the store's file name.
    pub fn name(&self) -> &'static str {
        match self.kind {
            StoreKind::OpenClaw => NAME,
            StoreKind::Guard => OWN,
            StoreKind::Gateway => GATEWAYS,
        }
    }

    /// Returns the store's path.
    pub fn store(&self) -> PathBuf {
        self.path.join(self.name())
    }

    /// Opens a directory below this one. A missing one is created, accessible to its owner alone.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn make(&self, name: &str) -> io::Result<OwnedFd> {
        let is_new = match mkdirat(self, name, Mode::RWXU) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let made = self.below(name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        if is_new {
            self.hand_over(&made)?;
        }
        Ok(made)
    }

    /// Gives files that root creates to the directory's owner, so that the owner's guards can use them.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn hand_over(&self, made: &OwnedFd) -> io::Result<()> {
        let owner = self.owner()?;
        if geteuid().is_root() && fstat(made)?.st_uid != owner.uid {
            fchown(made, Some(Uid::from_raw(owner.uid)), Some(Gid::from_raw(owner.gid)))?;
        }
        Ok(())
    }

    /// Returns the directory's owner.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn owner(&self) -> io::Result<Owner> {
        let stat = fstat(&self.descriptor)?;
        Ok(Owner { uid: stat.st_uid, gid: stat.st_gid })
    }

    /// Opens a path below the directory.
    ///
    /// # Errors
    /// The error of the failed system call; ELOOP if a path component is a symbolic link.
    pub fn below(&self, name: impl rustix::path::Arg, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        below(self.as_fd(), name, flags, mode)
    }

    /// Opens a regular file to read it; returns `None` if there is none.
    ///
    /// # Errors
    /// The error of the failed system call, or a sentence if the name belongs to another kind of file.
    pub fn regular(&self, name: &str) -> io::Result<Option<File>> {
        match self.below(name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()) {
            Ok(file) => only_regular(file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a regular file to write it. A missing one is created, accessible to its owner alone.
    ///
    /// # Errors
    /// The errors of [`Directory::regular`].
    pub fn make_regular(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CREATE | OFlags::NONBLOCK;
        let file = self.below(name, flags, Mode::RUSR | Mode::WUSR)?;
        self.hand_over(&file)?;
        only_regular(file)
    }

    /// Reads the whole store; returns `None` if there is none.
    ///
    /// # Errors
    /// The error of the failed system call, or a sentence if the file is not regular or is too large.
    pub fn read(&self) -> io::Result<Option<Content>> {
        // Without NONBLOCK, opening a FIFO would wait for a writer.
        let descriptor = match self.below(
            self.name(),
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
            Mode::empty(),
        ) {
            Ok(descriptor) => descriptor,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                return Err(io::Error::other("it is a symbolic link, which OpenClaw refuses too"));
            }
            Err(error) => return Err(error),
        };
        let stat = fstat(&descriptor)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        File::from(descriptor).take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_BYTES {
            return Err(io::Error::other("it is larger than 16 MiB"));
        }
        Ok(Some(Content { bytes, owner: Owner { uid: stat.st_uid, gid: stat.st_gid } }))
    }

    /// Returns whether OpenClaw 2026.8 or newer has used this state directory.
    ///
    /// # Errors
    /// The error of the failed system call.
    pub fn has_database(&self) -> io::Result<bool> {
        if self.kind != StoreKind::OpenClaw {
            return Ok(false);
        }
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

fn only_regular(file: OwnedFd) -> io::Result<File> {
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(File::from(file))
}

/// Opens a path below a directory.
///
/// # Errors
/// The error of the failed system call; ELOOP if a path component is a symbolic link.
pub fn below(
    directory: BorrowedFd<'_>,
    name: impl rustix::path::Arg,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    Ok(openat2(directory, name, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, mode, resolve)?)
}
