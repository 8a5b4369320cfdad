//! The socket by which a running page gives out another link: `guard/page.sock` in the state directory. It sends one
//! line to each peer of the same user that is outside every guarded tree.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guard_approvals::routes::Peer;
use guard_openclaw::approvals_store::Directory;
use guard_openclaw::ports::IsMember;
use rustix::fs::{AtFlags, FileType, Mode, chmodat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::time::{sleep, timeout};

use super::super::watch::event::{Sender, WatchEvent};
use super::state::AppState;

const NAME: &str = "page.sock";
/// The longest line, in bytes.
const MAX_BYTES: u64 = 4096;
/// How long a peer may take to send or to read the line.
const IO_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between two attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The line on the socket.
#[derive(Debug, Serialize, Deserialize)]
struct LinkMessage {
    url: String,
}

/// The socket. Dropping it removes the socket file.
#[derive(Debug)]
pub struct Links {
    directory: Directory,
    made: (u64, u64),
}

impl Links {
    /// Binds the socket in the guard's own directory. The caller must be the only one that serves the page: a socket
    /// file that is there is taken for a dead process's, and replaced.
    ///
    /// # Errors
    /// Returns an I/O error when the socket cannot be made.
    pub fn bind(state: &Path) -> io::Result<(Links, UnixListener)> {
        let directory = Directory::make_own(state)?;
        match unlinkat(&directory, NAME, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let listener = UnixListener::bind(path(&directory))?;
        chmodat(&directory, NAME, Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
        let stat = statat(&directory, NAME, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(io::Error::other(format!("{NAME} is no socket")));
        }
        listener.set_nonblocking(true)?;
        Ok((Links { directory, made: (stat.st_dev, stat.st_ino) }, listener))
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        // If another process has replaced the socket file, the new file stays.
        let now = statat(&self.directory, NAME, AtFlags::SYMLINK_NOFOLLOW);
        if now.is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.made) {
            let _ = unlinkat(&self.directory, NAME, AtFlags::empty());
        }
    }
}

/// A path short enough for a socket address, with no symbolic link on the way.
fn path(directory: &Directory) -> PathBuf {
    format!("/proc/self/fd/{}/{NAME}", directory.as_fd().as_raw_fd()).into()
}

/// Gets another link from the running page; `None` if no page is running.
///
/// # Errors
/// When the page does not answer, or cannot be trusted.
pub fn ask(state: &Path) -> io::Result<Option<String>> {
    let Some(directory) = Directory::open_own(state)? else { return Ok(None) };
    let stream = match UnixStream::connect(path(&directory)) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    Peer::from_stream(&stream, &nobody()).map_err(io::Error::other)?;
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream.take(MAX_BYTES)).read_line(&mut line)?;
    match serde_json::from_str(&line) {
        Ok(LinkMessage { url }) => Ok(Some(url)),
        Err(_) => Err(io::Error::other("it gave this process no link")),
    }
}

/// Gives out links for ever.
pub async fn hand_out(listener: tokio::net::UnixListener, app: Arc<AppState>, events: Sender) {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            // Usually no descriptors are left: wait until some are.
            sleep(IO_TIMEOUT).await;
            continue;
        };
        match Peer::from_stream(&stream, &nobody()) {
            Ok(_) => {
                // Serializing a string cannot fail.
                let mut line = serde_json::to_vec(&LinkMessage { url: app.link() }).unwrap_or_default();
                line.push(b'\n');
                // The peer may not read its link.
                let _ = timeout(IO_TIMEOUT, stream.write_all(&line)).await;
            }
            Err(rejected) => {
                let why = format!("a process asked for a link to the page: {rejected}");
                // At shutdown there is no receiver.
                let _ = events.send(WatchEvent::Rejected { pid: None, why });
            }
        }
        sleep(RETRY_INTERVAL).await;
    }
}

/// This process has no tree of its own; members of other trees are recognised by their ancestors.
fn nobody() -> IsMember {
    Arc::new(|_| false)
}
