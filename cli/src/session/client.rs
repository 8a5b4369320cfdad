//! Reaches the running sessions of this user by their sockets.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use guard_approvals::routes::guard_socket::Purpose;
use guard_approvals::routes::guard_socket::paths::SocketDirectory;
use guard_policy::text::shown;
use guard_supervisor::session::protocol::{
    MAX_REPLY_LEN, Method, SessionInfo, SessionReply, SessionRequest, VERSION,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::SessionError;

/// How long a session may take to reply. It serves its peers one after another.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// The sessions of a state directory.
pub struct Sessions {
    directory: Option<SocketDirectory>,
}

/// The sessions that were found.
pub struct SessionList {
    /// Oldest first.
    pub sessions: Vec<SessionInfo>,
    /// Guards that gave no answer: process id and error.
    pub unreached: Vec<(u32, io::Error)>,
}

impl Sessions {
    /// Opens the directory of their sockets.
    ///
    /// # Errors
    /// An I/O error.
    pub fn open(state: &Path) -> io::Result<Sessions> {
        Ok(Sessions { directory: SocketDirectory::open(state, Purpose::Session)? })
    }

    /// Asks each session what it is. Removes sockets that dead guards left behind.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn all(&self) -> io::Result<SessionList> {
        let mut found = SessionList { sessions: Vec::new(), unreached: Vec::new() };
        let Some(directory) = &self.directory else { return Ok(found) };
        for pid in directory.pids()? {
            match self.ask(pid, Method::Show) {
                Ok(SessionReply::Session(info)) => found.sessions.push(*info),
                Ok(SessionReply::Error { message }) => {
                    found.unreached.push((pid, io::Error::other(shown(message.as_bytes()))));
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => directory.remove_dead(pid),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => found.unreached.push((pid, error)),
            }
        }
        found.sessions.sort_by_key(|info| (info.started_at_ms, info.pid));
        Ok(found)
    }

    /// Asks one session.
    ///
    /// # Errors
    /// When it cannot be reached, or its reply cannot be read.
    pub fn ask(&self, pid: u32, method: Method) -> io::Result<SessionReply> {
        let directory = self.directory.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut stream = UnixStream::connect(directory.path(pid))?;
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        let mut line = serde_json::to_vec(&SessionRequest { version: VERSION, method })?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut reply = Vec::new();
        BufReader::new(stream.take(MAX_REPLY_LEN)).read_until(b'\n', &mut reply)?;
        if reply.is_empty() {
            return Err(io::Error::other("it has rejected this process"));
        }
        serde_json::from_slice(&reply).map_err(|error| io::Error::other(shown(error.to_string().as_bytes())))
    }
}

/// A guard whose end can be waited for.
pub struct Ending(OwnedFd);

impl Ending {
    /// Holds the guard with this process id. The guard must have just answered, so that the id is still its
    /// own.
    ///
    /// # Errors
    /// When it has ended.
    pub fn hold(pid: u32) -> io::Result<Ending> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Ending(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// [`SessionError::Remains`] if that takes longer than `timeout`.
    pub fn wait(&self, timeout: Duration) -> Result<(), SessionError> {
        use std::os::fd::AsFd;
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::NONE);
        // A pidfd becomes readable when its process has ended.
        match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) => Err(SessionError::Remains),
            Ok(_) => Ok(()),
            Err(error) => Err(SessionError::Output(error.into())),
        }
    }
}
