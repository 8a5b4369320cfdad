//! The address of the approvals page. All guards of a state directory look it up, because no guarded process may reach the page.
//!
//! The address is in `guard/page.lock`, and is valid while a process holds the lock on that file. So a page that is
//! killed leaves no port blocked. The lock is an open file description lock, which can be queried without taking it.

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use guard_openclaw::approvals_store::Directory;
use guard_policy::Page;
use guard_policy::text::shown;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use rustix::fs::{FileType, Mode, OFlags, fstat};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};

/// The file name in the guard's own directory.
const LOCK: &str = "page.lock";
/// The maximum length of the file, longer than any address.
const MAX_BYTES: u64 = 64;
/// The backlog of the listening socket.
const BACKLOG: i32 = 64;

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// Another process serves the page. Holds " at ADDRESS" if its address is known.
    #[error("`approvals serve` runs already{0}: answer there, or end it")]
    Runs(String),
    /// The address cannot be bound.
    #[error("cannot listen on {at}: {error}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The error of the system call.
        error: io::Error,
    },
    /// The lock file cannot be created, locked or written.
    #[error("cannot write the page's address to {path}: {error}")]
    Announce {
        /// The path of the lock file, escaped for a terminal.
        path: String,
        /// The error of the system call.
        error: io::Error,
    },
}

/// Holds the page's lock. While it lives, no guarded process can reach the page. Keep it until the last connection is
/// closed.
#[derive(Debug)]
pub struct Serving {
    listener: TcpListener,
    address: SocketAddr,
    _lock: OwnedFd,
}

impl Serving {
    /// Binds the page's address, unless a page is already served for this state directory (given by its real path).
    /// Port 0 picks any port. The address is bound, then published in the lock file, and listens last, so that no
    /// guarded process can connect before it is blocked.
    ///
    /// # Errors
    /// Another process serves the page, or a system call failed.
    pub fn begin(state: &Path, at: SocketAddr) -> Result<Serving, ServingError> {
        let lock = lock(state)?;
        let failed = |error: rustix::io::Errno| ServingError::Listen { at, error: error.into() };
        let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(failed)?;
        // Lets the page reuse a port that recent connections left in TIME_WAIT.
        sockopt::set_socket_reuseaddr(&socket, true).map_err(failed)?;
        bind(&socket, &at).map_err(failed)?;
        let listener = TcpListener::from(socket);
        let listening = |error| ServingError::Listen { at, error };
        let address = listener.local_addr().map_err(listening)?;
        announce(&lock, address).map_err(unannounced(state))?;
        listen(&listener, BACKLOG).map_err(failed)?;
        listener.set_nonblocking(true).map_err(listening)?;
        Ok(Serving { listener, address, _lock: lock })
    }

    /// The address of the page.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the listener, in non-blocking mode.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn listener(&self) -> io::Result<TcpListener> {
        self.listener.try_clone()
    }
}

/// The address of the page that is served for this state directory.
pub fn served(state: &Path) -> Page {
    match look(state) {
        Ok(page) => page,
        // Assume that a page is served somewhere.
        Err(_) => Page::Somewhere,
    }
}

fn look(state: &Path) -> io::Result<Page> {
    let Some(own) = Directory::open_own(state)? else { return Ok(Page::Down) };
    // Opening a FIFO without NONBLOCK would wait for a writer.
    let file = match own.below(LOCK, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Page::Down),
        Err(error) => return Err(error),
    };
    let mut found = whole(nix::libc::F_WRLCK);
    fcntl(&file, FcntlArg::F_OFD_GETLK(&mut found))?;
    if i32::from(found.l_type) == nix::libc::F_UNLCK {
        return Ok(Page::Down);
    }
    let address = read(file)?.parse::<SocketAddr>().map_err(io::Error::other)?;
    Ok(Page::At(address.port()))
}

fn read(file: OwnedFd) -> io::Result<String> {
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::from(file).take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text.trim_end().to_owned())
}

/// Takes the lock, so that each state directory has at most one page.
fn lock(state: &Path) -> Result<OwnedFd, ServingError> {
    let open = || {
        let own = Directory::make_own(state)?;
        let lock =
            own.below(LOCK, OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK, Mode::RUSR | Mode::WUSR)?;
        own.hand_over(&lock)?;
        Ok(lock)
    };
    let lock = open().map_err(unannounced(state))?;
    match fcntl(&lock, FcntlArg::F_OFD_SETLK(&whole(nix::libc::F_WRLCK))) {
        Ok(_) => Ok(lock),
        Err(Errno::EAGAIN | Errno::EACCES) => {
            let there = read(lock).ok().filter(|text| text.parse::<SocketAddr>().is_ok());
            Err(ServingError::Runs(there.map(|there| format!(" at {there}")).unwrap_or_default()))
        }
        Err(error) => Err(unannounced(state)(error.into())),
    }
}

fn announce(lock: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let file = File::from(lock.as_fd().try_clone_to_owned()?);
    file.set_len(0)?;
    file.write_all_at(format!("{address}\n").as_bytes(), 0)
}

fn unannounced(state: &Path) -> impl Fn(io::Error) -> ServingError {
    move |error| {
        let path =
            shown(state.join(guard_openclaw::approvals_store::GUARD).join(LOCK).as_os_str().as_bytes());
        ServingError::Announce { path, error }
    }
}

/// A lock of this kind on the whole file.
fn whole(kind: i32) -> nix::libc::flock {
    let (l_type, l_whence) = (kind as i16, nix::libc::SEEK_SET as i16);
    nix::libc::flock { l_type, l_whence, l_start: 0, l_len: 0, l_pid: 0 }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::TcpStream;
    use std::os::unix::fs::symlink;

    use super::*;

    const ANY: &str = "127.0.0.1:0";

    fn state() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn begin(state: &Path) -> Serving {
        Serving::begin(state, ANY.parse().unwrap()).unwrap()
    }

    #[test]
    fn the_page_lock_is_held_as_long_as_the_page_is_served() {
        let state = state();
        let state = state.path();
        assert_eq!(served(state), Page::Down);
        assert!(!state.join("guard").exists(), "looking makes nothing");
        let first = begin(state);
        let port = first.address().port();
        assert_eq!(served(state), Page::At(port));
        TcpStream::connect(first.address()).unwrap();
        drop(first);
        assert_eq!(served(state), Page::Down);
        assert_eq!(fs::read_to_string(state.join("guard/page.lock")).unwrap(), format!("127.0.0.1:{port}\n"));
        // The longer address must leave nothing behind after the shorter one.
        fs::write(state.join("guard/page.lock"), "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535\n")
            .unwrap();
        assert_eq!(served(state), Page::Down);
        let second = begin(state);
        assert_eq!(served(state), Page::At(second.address().port()));
    }

    #[test]
    fn one_page_is_served_for_each_state_directory() {
        let (one, two) = (state(), state());
        let first = begin(one.path());
        let port = first.address().port();
        let error = Serving::begin(one.path(), ANY.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("`approvals serve` runs already at 127.0.0.1:{port}: answer there, or end it")
        );
        // The first page still holds the lock.
        assert_eq!(served(one.path()), Page::At(port));
        let other = begin(two.path());
        assert_eq!(served(two.path()), Page::At(other.address().port()));
        // A port in use by another program is not a page.
        let three = state();
        let taken = Serving::begin(three.path(), first.address()).unwrap_err();
        assert!(matches!(taken, ServingError::Listen { .. }), "{taken}");
        assert_eq!(served(three.path()), Page::Down);
    }

    #[test]
    fn an_unreadable_page_address_counts_as_every_address() {
        let state = state();
        let path = state.path().join("guard/page.lock");
        let serving = begin(state.path());
        for text in ["", "x", "127.0.0.1", "127.0.0.1:x\n", "\u{0}", &"1".repeat(1000)] {
            fs::write(&path, text).unwrap();
            assert_eq!(served(state.path()), Page::Somewhere, "{text}");
        }
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(served(state.path()), Page::Somewhere);
        drop(serving);
        assert_eq!(served(state.path()), Page::Down);
        fs::remove_file(&path).unwrap();
        symlink("/dev/null", &path).unwrap();
        assert_eq!(served(state.path()), Page::Somewhere);
        let error = Serving::begin(state.path(), ANY.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("guard/page.lock: "), "{error}");
        fs::remove_file(&path).unwrap();
        fs::remove_dir(state.path().join("guard")).unwrap();
        symlink("/", state.path().join("guard")).unwrap();
        assert_eq!(served(state.path()), Page::Somewhere);
    }
}
