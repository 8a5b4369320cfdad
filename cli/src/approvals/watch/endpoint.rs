//! The socket on which guards and OpenClaw's nodes ask for approval.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use guard_approvals::routes::openclaw_socket::{Endpoint, EndpointError, SocketToken, make};
use guard_openclaw::approvals_store::Directory;
use guard_policy::text::shown;
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The lock in the guard's own directory. The process that serves the socket holds it.
const LOCK: &str = "watch.lock";

/// Why the socket cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WatchSocketError {
    #[error("`approvals watch` or `approvals serve` runs already: answer there")]
    Runs,
    #[error("{0}: another program listens there: end it, or answer there")]
    Taken(String),
    #[error("{0} is not a socket, so it is not replaced: remove it, or set another socket.path")]
    NoSocket(String),
    #[error("{path} {why}: other users must not be able to create a socket there")]
    Open { path: String, why: &'static str },
    #[error("cannot {what} {path}: {error}")]
    Failed { what: &'static str, path: String, error: io::Error },
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// The listening socket. Dropping it removes the socket file.
#[derive(Debug)]
pub struct WatchSocket {
    directory: OwnedFd,
    name: PathBuf,
    /// Device and inode of the socket file.
    made: (u64, u64),
    listener: UnixListener,
    /// The token that peers need.
    pub token: SocketToken,
    /// The socket's path.
    pub path: PathBuf,
    _lock: OwnedFd,
}

impl WatchSocket {
    /// Binds the socket where guards and nodes ask. `state` is the real path of the state directory, and `home` is
    /// the directory that `~` means. Call it while the process has one thread: it changes the umask of the whole
    /// process.
    ///
    /// # Errors
    /// When another process serves the socket already, or something else is at its path.
    pub fn bind(state: &Path, home: &Path) -> Result<WatchSocket, WatchSocketError> {
        let lock = lock(state)?;
        let Endpoint { path, token } = Endpoint::find(state, home)?;
        let at = || shown(path.as_os_str().as_bytes());
        let failed = |what| move |error: io::Error| WatchSocketError::Failed { what, path: at(), error };
        let token = match token {
            Some(token) => token,
            None => make(state).map_err(failed("make a token for"))?,
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(WatchSocketError::NoSocket(at()));
        };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(failed("make the directory of"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, parent, flags, Mode::empty())
            .map_err(|error| failed("open the directory of")(error.into()))?;
        let stat = fstat(&directory).map_err(|error| failed("look at the directory of")(error.into()))?;
        let open = |why| WatchSocketError::Open { path: shown(parent.as_os_str().as_bytes()), why };
        if stat.st_uid != geteuid().as_raw() {
            return Err(open("is the directory of another user"));
        }
        if stat.st_mode & 0o022 != 0 {
            return Err(open("may be written by other users (chmod go-w)"));
        }
        let name = PathBuf::from(name);
        let short = |name: &Path| {
            let mut path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
            path.push(name);
            path
        };
        match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if !is_socket(&stat) => return Err(WatchSocketError::NoSocket(at())),
            Ok(_) => match UnixStream::connect(short(&name)) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    unlinkat(&directory, &name, AtFlags::empty())
                        .map_err(|error| failed("replace")(error.into()))?;
                }
                Ok(_) => return Err(WatchSocketError::Taken(at())),
                Err(error) => return Err(failed("look who listens on")(error)),
            },
            Err(Errno::NOENT) => {}
            Err(error) => return Err(failed("look at")(error.into())),
        }
        // Creates the socket for its owner alone, with no moment in which others may open it.
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let listener = UnixListener::bind(short(&name));
        rustix::process::umask(before);
        let listener = listener.map_err(failed("listen on"))?;
        listener.set_nonblocking(true).map_err(failed("listen on"))?;
        let stat = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| failed("look at")(error.into()))?;
        if !is_socket(&stat) {
            return Err(WatchSocketError::NoSocket(at()));
        }
        let made = (stat.st_dev, stat.st_ino);
        Ok(WatchSocket { directory, name, made, listener, token, path: path.clone(), _lock: lock })
    }

    /// The listener for the async runtime.
    ///
    /// # Errors
    /// Returns an I/O error when the listener cannot be registered.
    pub fn listener(&self) -> io::Result<tokio::net::UnixListener> {
        tokio::net::UnixListener::from_std(self.listener.try_clone()?)
    }
}

impl Drop for WatchSocket {
    fn drop(&mut self) {
        // If another process has replaced the socket file, the new file stays.
        let now = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if now.is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.made) {
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

fn is_socket(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Socket
}

/// Takes the lock, so that each state directory has one watcher.
fn lock(state: &Path) -> Result<OwnedFd, WatchSocketError> {
    let failed =
        |error| WatchSocketError::Failed { what: "lock", path: shown(state.as_os_str().as_bytes()), error };
    let own = Directory::make_own(state).map_err(failed)?;
    let lock = own.below(LOCK, OFlags::RDWR | OFlags::CREATE, Mode::RUSR | Mode::WUSR).map_err(failed)?;
    own.hand_over(&lock).map_err(failed)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(Errno::WOULDBLOCK) => Err(WatchSocketError::Runs),
        Err(error) => Err(failed(error.into())),
    }
}
