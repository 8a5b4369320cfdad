//! The command line's side of the guard sockets: asks every guard of this user.

use std::io;
use std::path::Path;
use std::time::Duration;

use guard_approvals::routes::guard_socket::paths::{Purpose, SocketDirectory};
use guard_approvals::routes::guard_socket::protocol::{Body, Call, MAX_REPLY_LEN, Method, Reply, VERSION};
use guard_policy::text::shown;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a guard may take to reply. A guard that saves an entry may have to wait for the disk.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// The guards of a state directory.
#[derive(Debug)]
pub struct Guards {
    directory: Option<SocketDirectory>,
}

/// One guard's reply.
#[derive(Debug)]
pub struct GuardReply {
    /// The guard's process id.
    pub pid: u32,
    /// The reply, or why there is none.
    pub body: io::Result<Body>,
}

impl Guards {
    /// Finds the guards that have a socket in this state directory.
    ///
    /// # Errors
    /// Returns an I/O error when the directory cannot be opened.
    pub fn find(state: &Path) -> io::Result<Guards> {
        Ok(Guards { directory: SocketDirectory::open(state, Purpose::Approvals)? })
    }

    /// Asks each guard. Removes sockets that dead guards left behind.
    ///
    /// # Errors
    /// Returns an I/O error when the sockets cannot be listed.
    pub async fn ask(&self, method: &Method) -> io::Result<Vec<GuardReply>> {
        let mut answers = Vec::new();
        let Some(directory) = &self.directory else { return Ok(answers) };
        for pid in directory.pids()? {
            match self.ask_one(pid, method).await {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => directory.remove_dead(pid),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                body => answers.push(GuardReply { pid, body }),
            }
        }
        Ok(answers)
    }

    /// Asks one guard.
    ///
    /// # Errors
    /// When the guard cannot be reached, or its reply cannot be read.
    pub async fn ask_one(&self, pid: u32, method: &Method) -> io::Result<Body> {
        let directory = self.directory.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let asked = timeout(IO_TIMEOUT, ask(directory.path(pid), method)).await;
        asked.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer")))
    }
}

/// A subscription to one guard's events.
#[derive(Debug)]
pub struct Subscription {
    // Keeps both halves open: a guard treats a half-closed connection as a peer that has gone.
    stream: BufReader<UnixStream>,
}

impl Guards {
    /// The process ids of all guards whose socket is there. Some may have ended.
    ///
    /// # Errors
    /// Returns an I/O error when the directory cannot be read.
    pub fn pids(&self) -> io::Result<Vec<u32>> {
        self.directory.as_ref().map_or(Ok(Vec::new()), SocketDirectory::pids)
    }

    /// Subscribes to one guard. Removes the socket if its guard is dead.
    ///
    /// # Errors
    /// When the guard cannot be reached.
    pub async fn subscribe(&self, pid: u32) -> io::Result<Subscription> {
        let directory = self.directory.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut stream = match UnixStream::connect(directory.path(pid)).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                directory.remove_dead(pid);
                return Err(error);
            }
            connected => connected?,
        };
        stream.write_all(&line(&Method::Subscribe)?).await?;
        Ok(Subscription { stream: BufReader::new(stream) })
    }
}

impl Subscription {
    /// The next reply or event.
    ///
    /// # Errors
    /// When the guard has gone, or its message cannot be read.
    pub async fn next(&mut self) -> io::Result<Body> {
        let mut reply = Vec::new();
        (&mut self.stream).take(MAX_REPLY_LEN).read_until(b'\n', &mut reply).await?;
        read_reply(&reply)
    }
}

fn line(method: &Method) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&Call { version: VERSION, method: method.clone() })?;
    line.push(b'\n');
    Ok(line)
}

async fn ask(path: impl AsRef<Path>, method: &Method) -> io::Result<Body> {
    let mut stream = UnixStream::connect(path).await?;
    stream.write_all(&line(method)?).await?;
    let mut reply = Vec::new();
    BufReader::new(stream.take(MAX_REPLY_LEN)).read_until(b'\n', &mut reply).await?;
    read_reply(&reply)
}

/// Parses a reply. Errors quote it with terminal control sequences escaped.
pub fn read_reply(reply: &[u8]) -> io::Result<Body> {
    if reply.is_empty() {
        return Err(io::Error::other("it has rejected this process"));
    }
    let reply: Reply = serde_json::from_slice(reply)
        .map_err(|error| io::Error::other(shown(error.to_string().as_bytes())))?;
    if reply.version != VERSION {
        return Err(io::Error::other(format!(
            "it uses protocol version {}, but this program uses {VERSION}",
            reply.version
        )));
    }
    Ok(reply.body)
}

#[cfg(test)]
mod tests {
    use super::read_reply;

    #[test]
    fn an_error_in_a_reply_is_printed_without_control_characters() {
        let error = read_reply(br#"{"version":1,"type":"\u001b[31m"}"#).unwrap_err().to_string();
        assert!(error.contains("\\u{1B}[31m") && !error.contains('\x1b'), "{error}");
    }
}
