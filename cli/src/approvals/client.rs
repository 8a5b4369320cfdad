//! The command line's end: asks every guard of this user.

use std::io;
use std::path::Path;
use std::time::Duration;

use guard_approvals::routes::guard_socket::place::SocketDirectory;
use guard_approvals::routes::guard_socket::protocol::{Body, Call, MAX_REPLY_LEN, Method, Reply, VERSION};
use guard_policy::text::shown;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a guard may take. One that saves an entry may wait for a disk.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// The guards of a state directory.
#[derive(Debug)]
pub struct Guards {
    place: Option<SocketDirectory>,
}

/// What one guard said.
#[derive(Debug)]
pub struct GuardReply {
    /// The guard.
    pub pid: u32,
    /// What it said, or why it said nothing.
    pub said: io::Result<Body>,
}

impl Guards {
    /// Those that have a socket in this state directory.
    ///
    /// # Errors
    /// The kernel's.
    pub fn find(state: &Path) -> io::Result<Guards> {
        Ok(Guards { place: SocketDirectory::open(state)? })
    }

    /// Asks each of them. Sockets that dead guards left are removed.
    ///
    /// # Errors
    /// The kernel's, where they cannot be found.
    pub async fn ask(&self, method: &Method) -> io::Result<Vec<GuardReply>> {
        let mut answers = Vec::new();
        let Some(place) = &self.place else { return Ok(answers) };
        for pid in place.pids()? {
            match self.ask_one(pid, method).await {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => place.remove_dead(pid),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                said => answers.push(GuardReply { pid, said }),
            }
        }
        Ok(answers)
    }

    /// Asks one of them.
    ///
    /// # Errors
    /// When it cannot be reached or says nothing that can be read.
    pub async fn ask_one(&self, pid: u32, method: &Method) -> io::Result<Body> {
        let place = self.place.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let asked = timeout(IO_TIMEOUT, ask(place.path(pid), method)).await;
        asked.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer")))
    }
}

/// A guard that is followed.
#[derive(Debug)]
pub struct Subscription {
    // Both ends stay open: a guard takes the end of one for a peer that has gone.
    stream: BufReader<UnixStream>,
}

impl Guards {
    /// The guards that have a socket, or had one.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pids(&self) -> io::Result<Vec<u32>> {
        self.place.as_ref().map_or(Ok(Vec::new()), SocketDirectory::pids)
    }

    /// Follows one of them. The socket that a dead guard left is removed.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn subscribe(&self, pid: u32) -> io::Result<Subscription> {
        let place = self.place.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut stream = match UnixStream::connect(place.path(pid)).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                place.remove_dead(pid);
                return Err(error);
            }
            connected => connected?,
        };
        stream.write_all(&line(&Method::Subscribe)?).await?;
        Ok(Subscription { stream: BufReader::new(stream) })
    }
}

impl Subscription {
    /// What is said next.
    ///
    /// # Errors
    /// When the guard has gone, or says what cannot be read.
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

/// Reads a reply. What an error says of it can be shown on a terminal.
pub fn read_reply(reply: &[u8]) -> io::Result<Body> {
    if reply.is_empty() {
        return Err(io::Error::other("it has turned this process away"));
    }
    let reply: Reply = serde_json::from_slice(reply)
        .map_err(|error| io::Error::other(shown(error.to_string().as_bytes())))?;
    if reply.version != VERSION {
        return Err(io::Error::other(format!("it speaks version {}, this is {VERSION}", reply.version)));
    }
    Ok(reply.said)
}

#[cfg(test)]
mod tests {
    use super::read_reply;

    #[test]
    fn what_is_wrong_with_a_reply_acts_on_no_terminal() {
        let error = read_reply(br#"{"version":1,"type":"\u001b[31m"}"#).unwrap_err().to_string();
        assert!(error.contains("\\u{1b}[31m") && !error.contains('\x1b'), "{error}");
    }
}
