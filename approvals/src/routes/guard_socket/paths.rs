//! The paths of the sockets: `guard/run` in the state directory, for its owner only.

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
    /// Opens the directory; `None` if there is none.
    ///
    /// # Errors
    /// The error of the system call, or a sentence if it belongs to another user.
    pub fn open(state: &Path) -> io::Result<Option<SocketDirectory>> {
        let Some(directory) = Directory::open(state)? else { return Ok(None) };
        let path = Path::new(GUARD).join(RUN);
        match directory.below(path.as_path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
            Ok(run) => SocketDirectory::owned(run).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the directory, and creates it if there is none.
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

    /// The pids of the guards that have or had a socket here.
    ///
    /// # Errors
    /// The error of the system call.
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

    /// A socket's path through the open directory: short enough for a socket address, and safe from links on the way.
    pub fn path(&self, pid: u32) -> PathBuf {
        self.entry(&format!("{pid}{SUFFIX}"))
    }

    /// The path of the socket with this name, in the same form.
    pub fn entry(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()).into()
    }

    /// Removes the socket of a dead guard. A guard holds the lock until it listens, so nobody listens under it now.
    pub fn remove_dead(&self, pid: u32) {
        let Ok(_lock) = self.lock() else { return };
        let refused = std::os::unix::net::UnixStream::connect(self.path(pid))
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if refused {
            // If this fails, the next guard tries again.
            let _ = unlinkat(&self.0, format!("{pid}{SUFFIX}"), AtFlags::empty());
        }
    }

    fn lock(&self) -> io::Result<OwnedFd> {
        // Open the directory again: a lock on a shared file description would be shared too.
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

/// A guard's listening socket. Dropping it removes its name.
#[derive(Debug)]
pub struct Socket {
    directory: SocketDirectory,
    name: String,
    listener: UnixListener,
}

impl Socket {
    /// Binds the socket of this process.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn bind(state: &Path) -> io::Result<Socket> {
        Socket::bind_as(state, std::process::id())
    }

    pub(super) fn bind_as(state: &Path, pid: u32) -> io::Result<Socket> {
        let directory = SocketDirectory::make(state)?;
        let lock = directory.lock()?;
        Socket::listen(directory, format!("{pid}{SUFFIX}"), &lock)
    }

    /// Binds a socket that only one process has at a time. Returns `None` if another one listens there.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn bind_only(state: &Path, name: &str) -> io::Result<Option<Socket>> {
        let directory = SocketDirectory::make(state)?;
        let lock = directory.lock()?;
        match std::os::unix::net::UnixStream::connect(directory.entry(name)) {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(None),
        }
        Socket::listen(directory, name.to_owned(), &lock).map(Some)
    }

    fn listen(directory: SocketDirectory, name: String, _lock: &OwnedFd) -> io::Result<Socket> {
        match unlinkat(&directory.0, &name, AtFlags::empty()) {
            // A dead guard had the same pid.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let listener = UnixListener::bind(directory.entry(&name))?;
        chmodat(&directory.0, &name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        let stat = rustix::fs::statat(&directory.0, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(io::Error::other(format!("{name} is no socket")));
        }
        listener.set_nonblocking(true)?;
        Ok(Socket { directory, name, listener })
    }

    /// The listener, for threads that wait.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn blocking(&self) -> io::Result<UnixListener> {
        let listener = self.listener.try_clone()?;
        listener.set_nonblocking(false)?;
        Ok(listener)
    }

    /// The listener, registered with the current async runtime.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = unlinkat(&self.directory.0, &self.name, AtFlags::empty());
    }
}
