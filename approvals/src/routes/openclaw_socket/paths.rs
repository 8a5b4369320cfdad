//! The path of the socket, and its token.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_openclaw::approvals_store::{self, Directory, GUARD};
use guard_openclaw::ids;
use guard_policy::text::shown;
use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, renameat};
use rustix::process::geteuid;
use subtle::ConstantTimeEq;

/// The socket's default name in the state directory.
pub const NAME: &str = "exec-approvals.sock";
/// The name of the guard's own token file in [`GUARD`], used if the store has no token.
const TOKEN: &str = "socket-token";
/// The maximum length of a token, in bytes.
const MAX_BYTES: u64 = 4096;
/// The number of random bytes of a new token. OpenClaw uses 24.
const BYTES: usize = 32;

/// The token of the socket. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SocketToken(String);

impl SocketToken {
    /// The token in plain text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares with a peer's token in constant time.
    pub fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// A token chosen by a test.
    #[cfg(any(test, feature = "test-support"))]
    pub fn new(text: &str) -> SocketToken {
        SocketToken(text.to_owned())
    }
}

impl fmt::Debug for SocketToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Why the endpoint is not known.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// OpenClaw's store is not valid; holds a line that says where and why.
    #[error("{0}")]
    Store(String),
    /// The store names a socket that has no absolute path.
    #[error(
        "socket.path of {} is {}: an absolute path to a socket is needed",
        approvals_store::NAME,
        shown(.0.as_bytes())
    )]
    NotAbsolute(String),
    /// The guard's own token cannot be used.
    #[error("{path}: {error}", path = shown(path.as_os_str().as_encoded_bytes()))]
    Token {
        /// The token's file.
        path: PathBuf,
        /// Why it cannot be used.
        #[source]
        error: io::Error,
    },
}

/// Finds the endpoint. Called for each connection, because the token or the store may have changed.
pub type Find = Arc<dyn Fn() -> Result<Endpoint, EndpointError> + Send + Sync>;

/// The approvals socket: its path and token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The socket's path, with all directories resolved.
    pub path: PathBuf,
    /// The token; `None` if there is none yet.
    pub token: Option<SocketToken>,
}

impl Endpoint {
    /// Reads the endpoint from OpenClaw's store, or else from the guard's own files. `state` is the real path of the
    /// state directory, `home` the directory that `~` stands for.
    ///
    /// # Errors
    /// Why the endpoint is not known.
    pub fn find(state: &Path, home: &Path) -> Result<Endpoint, EndpointError> {
        let reading = match approvals_store::load(state) {
            approvals_store::File::Present(reading) => Some(reading),
            approvals_store::File::Absent | approvals_store::File::Elsewhere => None,
            approvals_store::File::Broken(line) => return Err(EndpointError::Store(line)),
        };
        let store = reading.as_ref().map(|reading| &reading.store);
        let path = match store.and_then(|store| store.socket_path()) {
            Some(path) => named(path, home)?,
            None => state.join(NAME),
        };
        let token = match store.and_then(|store| store.socket_token()) {
            Some(token) => Some(SocketToken(token.to_owned())),
            None => read(state)
                .map_err(|error| EndpointError::Token { path: state.join(GUARD).join(TOKEN), error })?,
        };
        Ok(Endpoint { path, token })
    }

    /// Opens the socket file, so that a later replacement is not used.
    ///
    /// # Errors
    /// The error of the system call, or a sentence if it is not a socket of this user.
    pub fn open(&self) -> io::Result<SocketHandle> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::open(&self.path, flags, Mode::empty())?;
        let stat = fstat(&held)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(io::Error::other("it is no socket"));
        }
        if !is_ours(&stat) {
            return Err(io::Error::other(format!("it belongs to another user ({})", stat.st_uid)));
        }
        Ok(SocketHandle(held))
    }
}

/// A socket, held open by a descriptor of its file.
#[derive(Debug)]
pub struct SocketHandle(OwnedFd);

impl SocketHandle {
    /// The path to connect to. It is short enough for a socket address however long the socket's own path is.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == geteuid().as_raw()
}

/// The path that the store names, with its directory resolved.
fn named(path: &str, home: &Path) -> Result<PathBuf, EndpointError> {
    let socket = approvals_store::socket(path, home);
    let parts = socket.as_deref().and_then(|path| path.parent().zip(path.file_name()));
    match parts {
        Some((directory, name)) => Ok(guard_openclaw::real_path::real(directory).join(name)),
        None => Err(EndpointError::NotAbsolute(path.to_owned())),
    }
}

/// Reads the guard's own token.
fn read(state: &Path) -> io::Result<Option<SocketToken>> {
    let Some(own) = Directory::open_own(state)? else { return Ok(None) };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match own.below(TOKEN, flags, Mode::empty()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    if stat.st_mode & 0o077 != 0 || !(is_ours(&stat) || geteuid().is_root()) {
        return Err(io::Error::other(
            "others may read it: remove it, and let `approvals watch` make another",
        ));
    }
    let mut text = String::new();
    File::from(file).take(MAX_BYTES).read_to_string(&mut text)?;
    let text = text.trim();
    if text.is_empty() {
        return Err(io::Error::other("it is empty: remove it, and let `approvals watch` make another"));
    }
    Ok(Some(SocketToken(text.to_owned())))
}

/// Reads the guard's own token, and creates it if there is none. The caller holds the lock against concurrent calls.
///
/// # Errors
/// The error of the system call.
pub fn make(state: &Path) -> io::Result<SocketToken> {
    if let Some(token) = read(state)? {
        return Ok(token);
    }
    let own = Directory::make_own(state)?;
    let bytes: [u8; BYTES] = ids::bytes();
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // Rename it into place, so that nobody reads half a token.
    let temporary = format!("{TOKEN}.{}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let file = own.below(temporary.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    own.hand_over(&file)?;
    File::from(file).write_all(format!("{text}\n").as_bytes())?;
    renameat(&own, temporary.as_str(), &own, TOKEN)?;
    Ok(SocketToken(text))
}
