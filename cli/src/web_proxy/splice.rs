//! Moves bytes from one connection to another without copying them through this process: splice(2).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// What the pipe holds, in bytes. All pipes of a user share a bound (pipe(7), pipe-user-pages-soft), so the
/// capacity is not larger.
const CAPACITY: usize = 256 * 1024;

/// A pipe between two connections.
pub(super) struct Splice {
    from: OwnedFd,
    into: OwnedFd,
}

impl Splice {
    /// Makes the pipe.
    ///
    /// # Errors
    /// EMFILE, ENFILE: no descriptors are left.
    pub(super) fn new() -> io::Result<Splice> {
        let (from, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // If the kernel refuses the larger size, the pipe is only slower.
        let _ = fcntl_setpipe_size(&into, CAPACITY);
        Ok(Splice { from, into })
    }

    /// Moves what has arrived, at least one byte. Returns how much, 0 at the end.
    pub(super) async fn step(&self, from: &TcpStream, to: &TcpStream) -> io::Result<usize> {
        // The pipe is empty here, so EAGAIN means that nothing has arrived. In the loop below, EAGAIN means
        // that nothing can be sent.
        let moved = once(from, Interest::READABLE, from, &self.into, CAPACITY).await?;
        let mut left = moved;
        while left > 0 {
            left -= once(to, Interest::WRITABLE, &self.from, to, left).await?;
        }
        Ok(moved)
    }
}

/// Splices once `ready` is ready.
async fn once(
    ready: &TcpStream,
    interest: Interest,
    from: &impl AsFd,
    to: &impl AsFd,
    most: usize,
) -> io::Result<usize> {
    let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
    ready.async_io(interest, || Ok(splice(from, None, to, None, most, flags)?)).await
}
