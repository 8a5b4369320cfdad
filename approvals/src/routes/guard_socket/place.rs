//! Where the sockets are: `guard/run` in the state directory, for its owner alone.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use guard_openclaw::approvals_store::{Directory, GUARD};
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, chmodat, fchmod, flock, fstat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The directory of the sockets, below [`GUARD`].
const RUN: &str = "run";
const SUFFIX: &str = ".sock";

/// The directory of the sockets, held open.
#[derive(Debug)]
pub struct SocketDirectory(OwnedFd);

impl SocketDirectory {
    /// Opens it; `None` where there is none.
    ///
    /// # Errors
    /// The kernel's; a sentence where it is another user's.
    pub fn open(state: &Path) -> io::Result<Option<SocketDirectory>> {
        let Some(directory) = Directory::open(state)? else { return Ok(None) };
        let path = Path::new(GUARD).join(RUN);
        match directory.below(path.as_path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
            Ok(run) => SocketDirectory::owned(run).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes it where there is none.
    fn make(state: &Path) -> io::Result<SocketDirectory> {
        drop(Directory::make_own(state)?);
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let run = Directory::open_own(state)?.ok_or_else(missing)?.make(RUN)?;
        if fstat(&run)?.st_mode & 0o777 != 0o700 {
            fchmod(&run, Mode::RWXU)?;
        }
        SocketDirectory::owned(run)
    }

    fn owned(run: OwnedFd) -> io::Result<SocketDirectory> {
        let (owner, user) = (fstat(&run)?.st_uid, geteuid());
        if owner != user.as_raw() && !user.is_root() {
            return Err(io::Error::other(format!("{GUARD}/{RUN} belongs to another user ({owner})")));
        }
        Ok(SocketDirectory(run))
    }

    /// The processes that have a socket here, or had one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pids(&self) -> io::Result<Vec<u32>> {
        let mut pids = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok().and_then(|name| name.strip_suffix(SUFFIX));
            pids.extend(name.and_then(|name| name.parse::<u32>().ok()));
        }
        pids.sort_unstable();
        Ok(pids)
    }

    /// A path to a socket by the open directory: short enough for an address, and no link can be put on the way.
    pub fn path(&self, pid: u32) -> PathBuf {
        format!("/proc/self/fd/{}/{pid}{SUFFIX}", self.0.as_raw_fd()).into()
    }

    /// Removes the socket of a guard that is dead: under the lock that a guard holds until it listens, nobody listens.
    pub fn remove_dead(&self, pid: u32) {
        let Ok(_lock) = self.lock() else { return };
        let refused = std::os::unix::net::UnixStream::connect(self.path(pid))
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if refused {
            // The next one tries again.
            let _ = unlinkat(&self.0, format!("{pid}{SUFFIX}"), AtFlags::empty());
        }
    }

    fn lock(&self) -> io::Result<OwnedFd> {
        // A description of its own: a lock of this one would be shared with the socket's.
        let own = rustix::fs::openat(
            &self.0,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        loop {
            match flock(&own, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(own),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A guard's listening socket; its name goes with it.
#[derive(Debug)]
pub struct Socket {
    place: SocketDirectory,
    name: String,
    listener: UnixListener,
}

impl Socket {
    /// Binds the socket of this process.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind(state: &Path) -> io::Result<Socket> {
        Socket::bind_as(state, std::process::id())
    }

    pub(super) fn bind_as(state: &Path, pid: u32) -> io::Result<Socket> {
        let place = SocketDirectory::make(state)?;
        let lock = place.lock()?;
        let name = format!("{pid}{SUFFIX}");
        match unlinkat(&place.0, &name, AtFlags::empty()) {
            // A dead guard had the same number.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let listener = UnixListener::bind(place.path(pid))?;
        chmodat(&place.0, &name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        let stat = rustix::fs::statat(&place.0, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(io::Error::other(format!("{name} is no socket")));
        }
        listener.set_nonblocking(true)?;
        drop(lock);
        Ok(Socket { place, name, listener })
    }

    /// The listener, in a runtime.
    ///
    /// # Errors
    /// The kernel's.
    pub fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = unlinkat(&self.place.0, &self.name, AtFlags::empty());
    }
}
