//! The restrictions of openat2(2), which apply to each step of a walk.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;

/// Restricts which steps a walk may take.
#[derive(Debug)]
pub struct Restrictions {
    flags: ResolveFlags,
    /// With RESOLVE_BENEATH and RESOLVE_IN_ROOT: the directories passed, starting with the one that may not be left.
    above: Vec<OwnedFd>,
    /// Whether the kernel would have looked up `/` by now. With RESOLVE_NO_XDEV, a link may lead to `/` only then.
    has_root: bool,
}

/// Where `..` leads.
pub enum Up {
    /// To the parent, as the kernel knows it.
    Parent,
    /// Nowhere: this is the root of the walk.
    Stay,
}

/// The ID of the mount through which a file was reached.
///
/// # Errors
/// The kernel's.
pub fn mount_of(file: BorrowedFd<'_>) -> Result<u64, Errno> {
    Ok(identity(file)?.0)
}

/// A mount and an inode in it.
fn identity(file: BorrowedFd<'_>) -> Result<(u64, u64), Errno> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::INO | StatxFlags::MNT_ID)?;
    Ok((stat.stx_mnt_id, stat.stx_ino))
}

impl Restrictions {
    /// Creates the restrictions for a walk that starts in this directory; `absolute` is whether the path is absolute.
    ///
    /// # Errors
    /// EMFILE.
    pub fn new(flags: ResolveFlags, start: &OwnedFd, absolute: bool) -> Result<Restrictions, Errno> {
        let mut scope = Restrictions { flags, above: Vec::new(), has_root: absolute };
        if scope.is_closed() {
            scope.above.push(start.try_clone().map_err(|_| Errno::MFILE)?);
        }
        Ok(scope)
    }

    /// Whether nothing is restricted.
    pub fn is_open(&self) -> bool {
        self.flags.is_empty()
    }

    /// Whether the walk may not leave its starting directory.
    fn is_closed(&self) -> bool {
        self.flags.intersects(ResolveFlags::BENEATH | ResolveFlags::IN_ROOT)
    }

    /// Notes a step from a directory into one of its subdirectories.
    ///
    /// # Errors
    /// EXDEV if that is on another mount.
    pub fn enter(&mut self, from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
        self.cross(from.as_fd(), to.as_fd())?;
        if self.is_closed() {
            self.above.push(to.try_clone().map_err(|_| Errno::MFILE)?);
        }
        Ok(())
    }

    /// Checks a step from one object to another.
    ///
    /// # Errors
    /// EXDEV if that is on another mount.
    pub fn cross(&self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), Errno> {
        if self.flags.contains(ResolveFlags::NO_XDEV) && mount_of(from)? != mount_of(to)? {
            return Err(Errno::XDEV);
        }
        Ok(())
    }

    /// Where `..` leads.
    ///
    /// # Errors
    /// EXDEV if `..` leads above the starting directory.
    pub fn up(&mut self) -> Result<Up, Errno> {
        self.has_root = true;
        if self.is_closed() && self.above.len() == 1 {
            return if self.flags.contains(ResolveFlags::BENEATH) { Err(Errno::XDEV) } else { Ok(Up::Stay) };
        }
        Ok(Up::Parent)
    }

    /// Notes a step from a directory to its parent.
    ///
    /// # Errors
    /// EXDEV if that is on another mount; EAGAIN if the directory was moved away from where the walk came through: its
    /// parent may be outside.
    pub fn check_dotdot(&mut self, from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
        self.cross(from.as_fd(), to.as_fd())?;
        if self.is_closed() {
            self.above.pop();
            let Some(before) = self.above.last() else { return Err(Errno::XDEV) };
            if identity(before.as_fd())? != identity(to.as_fd())? {
                return Err(Errno::AGAIN);
            }
        }
        Ok(())
    }

    /// Checks that a symbolic link may be followed.
    ///
    /// # Errors
    /// ELOOP if no link may be followed.
    pub fn follow(&self) -> Result<(), Errno> {
        if self.flags.contains(ResolveFlags::NO_SYMLINKS) { Err(Errno::LOOP) } else { Ok(()) }
    }

    /// Checks that an absolute link may be followed from this directory. Returns the directory where the walk goes on;
    /// `None` means `/`.
    ///
    /// # Errors
    /// EXDEV if it leads out.
    pub fn enter_root(&mut self, from: &OwnedFd, root: &OwnedFd) -> Result<Option<OwnedFd>, Errno> {
        if self.flags.contains(ResolveFlags::BENEATH) {
            return Err(Errno::XDEV);
        }
        if self.flags.contains(ResolveFlags::IN_ROOT) {
            self.above.truncate(1);
            let top = self.above.first().ok_or(Errno::XDEV)?;
            self.cross(from.as_fd(), top.as_fd())?;
            return top.try_clone().map(Some).map_err(|_| Errno::MFILE);
        }
        if self.flags.contains(ResolveFlags::NO_XDEV) && !self.has_root {
            return Err(Errno::XDEV);
        }
        self.cross(from.as_fd(), root.as_fd())?;
        Ok(None)
    }

    /// Checks that a /proc link to an object may be followed.
    ///
    /// # Errors
    /// ELOOP and EXDEV if that is excluded.
    pub fn jump(&self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), Errno> {
        if self.flags.contains(ResolveFlags::NO_MAGICLINKS) {
            return Err(Errno::LOOP);
        }
        if self.is_closed() {
            return Err(Errno::XDEV);
        }
        self.cross(from, to)
    }
}
