//! The connection to the supervisor, which holds the calls: lines of `guard_approvals::protocol`.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use guard_approvals::protocol::{Body, Call, Method, Reply, VERSION};
use memchr::memchr;

/// A connection to the supervisor.
#[derive(Debug)]
pub struct PromptLink {
    stream: UnixStream,
    read: Vec<u8>,
}

impl PromptLink {
    /// Subscribes to questions. The supervisor reads the request when the first question is asked.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(stream: UnixStream) -> io::Result<PromptLink> {
        stream.set_nonblocking(true)?;
        let mut link = PromptLink { stream, read: Vec::new() };
        link.send(Method::Subscribe)?;
        Ok(link)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If the supervisor is gone, or does not read.
    pub fn send(&mut self, method: Method) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Call { version: VERSION, method })?;
        line.push(b'\n');
        self.stream.write_all(&line)
    }

    /// Returns the messages that have arrived.
    ///
    /// # Errors
    /// If the supervisor is gone, or sends an invalid message.
    pub fn receive(&mut self) -> io::Result<Vec<Body>> {
        let mut buffer = [0; 65536];
        let mut bodies = Vec::new();
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.read.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(bodies),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            while let Some(at) = memchr(b'\n', &self.read) {
                let line: Vec<u8> = self.read.drain(..=at).collect();
                bodies.push(serde_json::from_slice::<Reply>(&line)?.body);
            }
        }
    }
}

impl AsFd for PromptLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
