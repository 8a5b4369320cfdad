//! sendmsg(2) on a caller's socket.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::errno;

/// A message whose parts are all in our own memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutgoingMessage<'m> {
    /// The receiver's address; empty for none.
    pub name: &'m [u8],
    /// The content.
    pub data: &'m [u8],
    /// The control messages, each padded to whole words; empty for none.
    pub control: &'m [u64],
}

/// The kernel's own structure (linux/socket.h, `user_msghdr`). musl's function copies the control messages, and only short ones.
#[repr(C)]
struct MessageHeader {
    name: *const u8,
    name_length: u32,
    parts: *const libc::iovec,
    part_count: usize,
    control: *const u64,
    control_length: usize,
    flags: u32,
}

/// Sends a message and returns how many bytes of it the kernel took. `flags` are `MSG_*`. Never raises SIGPIPE.
///
/// # Errors
/// The kernel's.
pub fn send(socket: BorrowedFd<'_>, message: OutgoingMessage<'_>, flags: i32) -> Result<usize, Errno> {
    let data = libc::iovec { iov_base: message.data.as_ptr() as *mut _, iov_len: message.data.len() };
    let header = MessageHeader {
        name: if message.name.is_empty() { std::ptr::null() } else { message.name.as_ptr() },
        name_length: message.name.len() as u32,
        parts: &raw const data,
        part_count: 1,
        control: if message.control.is_empty() { std::ptr::null() } else { message.control.as_ptr() },
        control_length: size_of_val(message.control),
        flags: 0,
    };
    let flags = flags | libc::MSG_NOSIGNAL;
    // SAFETY: each pointer is null with length 0, or that of live memory of the given length. The kernel only reads.
    let sent = unsafe { libc::syscall(libc::SYS_sendmsg, socket.as_raw_fd(), &raw const header, flags) };
    usize::try_from(sent).map_err(|_| errno::from_io(io::Error::last_os_error()))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use super::*;

    #[test]
    fn a_message_arrives_at_the_address_that_it_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let receiver = UnixDatagram::bind(&path).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        let name = [&1u16.to_ne_bytes()[..], path.to_str().unwrap().as_bytes()].concat();
        let message = OutgoingMessage { name: &name, data: b"hello", ..OutgoingMessage::default() };
        assert_eq!(send(sender.as_fd(), message, 0), Ok(5));
        let mut text = [0; 16];
        assert_eq!(receiver.recv(&mut text).unwrap(), 5);
        assert_eq!(&text[..5], b"hello");
    }

    #[test]
    fn a_closed_stream_is_an_error_and_no_signal() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let message = OutgoingMessage { data: b"hello", ..OutgoingMessage::default() };
        assert_eq!(send(ours.as_fd(), message, 0), Err(Errno::PIPE));
    }
}
