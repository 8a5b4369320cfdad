//! The paths of the sockets: `guard/run` in the state directory, for its owner only. A guard may have one for each
//! [`Purpose`].

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

/// What a guard's socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Questions and their answers, from the first question on.
    Approvals,
    /// The session itself: `openclaw-guard session`.
    Session,
    /// Calls of OpenClaw's tools: `openclaw-guard gate serve`. Each user has at most one such socket.
    Gate,
}

impl Purpose {
    fn suffix(self) -> &'static str {
        match self {
            Purpose::Approvals | Purpose::Gate => ".sock",
            Purpose::Session => ".session",
        }
    }
}

/// The directory of the sockets for one purpose, held open.
#[derive(Debug)]
pub struct SocketDirectory {
    run: OwnedFd,
    purpose: Purpose,
}

impl SocketDirectory {
    /// Opens the directory; `None` if there is none.
    ///
    /// # Errors
    /// The error of the system call, or a sentence if it belongs to another user.
    pub fn open(state: &Path, purpose: Purpose) -> io::Result<Option<SocketDirectory>> {
        let Some(directory) = Directory::open(state)? else { return Ok(None) };
        let path = Path::new(GUARD).join(RUN);
        match directory.below(path.as_path(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
            Ok(run) => SocketDirectory::owned(run, purpose).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the directory, and creates it if there is none.
    fn make(state: &Path, purpose: Purpose) -> io::Result<SocketDirectory> {
        drop(Directory::make_own(state)?);
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let run = Directory::open_own(state)?.ok_or_else(missing)?.make(RUN)?;
        if fstat(&run)?.st_mode & 0o777 != 0o700 {
            fchmod(&run, Mode::RWXU)?;
        }
        SocketDirectory::owned(run, purpose)
    }

    fn owned(run: OwnedFd, purpose: Purpose) -> io::Result<SocketDirectory> {
        let (owner, user) = (fstat(&run)?.st_uid, geteuid());
        if owner != user.as_raw() && !user.is_root() {
            return Err(io::Error::other(format!("{GUARD}/{RUN} belongs to another user ({owner})")));
        }
        Ok(SocketDirectory { run, purpose })
    }

    /// The pids of the guards that have or had a socket here.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn pids(&self) -> io::Result<Vec<u32>> {
        let mut pids = Vec::new();
        for entry in Dir::read_from(&self.run)? {
            let entry = entry?;
            let name =
                entry.file_name().to_str().ok().and_then(|name| name.strip_suffix(self.purpose.suffix()));
            pids.extend(name.and_then(|name| name.parse::<u32>().ok()));
        }
        pids.sort_unstable();
        Ok(pids)
    }

    /// A socket's path through the open directory: short enough for a socket address, and safe from links on the way.
    pub fn path(&self, pid: u32) -> PathBuf {
        self.entry(&self.name(pid))
    }

    /// The path of the socket with this name, in the same form.
    pub fn entry(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.run.as_raw_fd()).into()
    }

    fn name(&self, pid: u32) -> String {
        format!("{pid}{}", self.purpose.suffix())
    }

    /// Removes the socket of a dead guard. A starting guard holds the lock until it listens, so no live guard is mistaken
    /// for a dead one here.
    pub fn remove_dead(&self, pid: u32) {
        let Ok(_lock) = self.lock() else { return };
        let refused = std::os::unix::net::UnixStream::connect(self.path(pid))
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        if refused {
            // If this fails, the next guard tries again.
            let _ = unlinkat(&self.run, self.name(pid), AtFlags::empty());
        }
    }

    fn lock(&self) -> io::Result<OwnedFd> {
        // Open the directory again: a lock on a shared file description would be shared too.
        let own = rustix::fs::openat(
            &self.run,
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
    pub fn bind(state: &Path, purpose: Purpose) -> io::Result<Socket> {
        Socket::bind_as(state, purpose, std::process::id())
    }

    pub(super) fn bind_as(state: &Path, purpose: Purpose, pid: u32) -> io::Result<Socket> {
        let directory = SocketDirectory::make(state, purpose)?;
        let lock = directory.lock()?;
        let name = directory.name(pid);
        Socket::listen(directory, name, &lock)
    }

    /// Binds a socket that only one process has at a time. Returns `None` if another process listens on it.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn bind_only(state: &Path, name: &str) -> io::Result<Option<Socket>> {
        let directory = SocketDirectory::make(state, Purpose::Gate)?;
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
        match unlinkat(&directory.run, &name, AtFlags::empty()) {
            // A dead guard had the same pid.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let listener = UnixListener::bind(directory.entry(&name))?;
        chmodat(&directory.run, &name, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        let stat = rustix::fs::statat(&directory.run, &name, AtFlags::SYMLINK_NOFOLLOW)?;
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

    /// The listener, which does not block.
    pub fn accepting(&self) -> &UnixListener {
        &self.listener
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
        let _ = unlinkat(&self.directory.run, &self.name, AtFlags::empty());
    }
}
