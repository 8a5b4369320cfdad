//! Where the socket is, and the token that opens it.

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

/// The socket's name in the state directory, where the store names none.
pub const NAME: &str = "exec-approvals.sock";
/// The token's file in [`GUARD`], where the store has none.
const TOKEN: &str = "socket-token";
/// A longer token is none.
const MAX_BYTES: u64 = 4096;
/// Random bytes of a token that is made here. OpenClaw takes 24.
const BYTES: usize = 32;

/// What opens the socket. `Debug` does not tell it.
#[derive(Clone, PartialEq, Eq)]
pub struct SocketToken(String);

impl SocketToken {
    /// The token itself, for whoever may have it.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether a peer has the same: how long it takes says nothing of where they differ.
    pub fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }

    /// A token that a test has chosen.
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

/// Finds out where to meet, each time anew: a token may be made, and a store changed.
pub type Find = Arc<dyn Fn() -> Result<Endpoint, String> + Send + Sync>;

/// Where who asks and who answers meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The socket's path. What leads to it is real.
    pub path: PathBuf,
    /// `None` where nobody has made one yet.
    pub token: Option<SocketToken>,
}

impl Endpoint {
    /// By OpenClaw's store where there is one, else by what the guard has of its own. `state` is the real path of the
    /// state directory, `home` what `~` means.
    ///
    /// # Errors
    /// A sentence for a human.
    pub fn find(state: &Path, home: &Path) -> Result<Endpoint, String> {
        let reading = match approvals_store::load(state) {
            approvals_store::File::Present(reading) => Some(reading),
            approvals_store::File::Absent | approvals_store::File::Elsewhere => None,
            approvals_store::File::Broken(line) => return Err(line),
        };
        let store = reading.as_ref().map(|reading| &reading.store);
        let path = match store.and_then(|store| store.socket_path()) {
            Some(path) => named(path, home)?,
            None => state.join(NAME),
        };
        let token = match store.and_then(|store| store.socket_token()) {
            Some(token) => Some(SocketToken(token.to_owned())),
            None => read(state).map_err(|error| {
                format!("{}: {error}", shown(state.join(GUARD).join(TOKEN).as_os_str().as_encoded_bytes()))
            })?,
        };
        Ok(Endpoint { path, token })
    }

    /// The socket at the path, held: what is put in its place later is another.
    ///
    /// # Errors
    /// The kernel's; a sentence for what is no socket of this user's.
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

/// A socket that is held by a descriptor of its file.
#[derive(Debug)]
pub struct SocketHandle(OwnedFd);

impl SocketHandle {
    /// What to connect to: short enough for an address, however long the socket's path is.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == geteuid().as_raw()
}

/// What the store names. What leads there is resolved.
fn named(path: &str, home: &Path) -> Result<PathBuf, String> {
    let socket = approvals_store::socket(path, home);
    let parts = socket.as_deref().and_then(|path| path.parent().zip(path.file_name()));
    match parts {
        Some((directory, name)) => Ok(guard_openclaw::real_path::real(directory).join(name)),
        None => Err(format!(
            "socket.path of {} is {}: an absolute path to a socket is needed",
            approvals_store::NAME,
            shown(path.as_bytes())
        )),
    }
}

/// The guard's own token.
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
        return Err(io::Error::other("it is no plain file"));
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

/// The guard's own token, which is made where there is none. Whoever calls holds a lock against others that do.
///
/// # Errors
/// The kernel's.
pub fn make(state: &Path) -> io::Result<SocketToken> {
    if let Some(token) = read(state)? {
        return Ok(token);
    }
    let own = Directory::make_own(state)?;
    let bytes: [u8; BYTES] = ids::bytes();
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // In one step: half a token would be a wrong one.
    let temporary = format!("{TOKEN}.{}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let file = own.below(temporary.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    own.hand_over(&file)?;
    File::from(file).write_all(format!("{text}\n").as_bytes())?;
    renameat(&own, temporary.as_str(), &own, TOKEN)?;
    Ok(SocketToken(text))
}
