//! Hands sockets to the proxy, over its channel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::outside::wire::{receive_with, send_with};

/// Sends two sockets with one byte, the first one of the channel.
pub(super) fn send_sockets(channel: impl AsFd, sockets: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    Ok(send_with(channel.as_fd(), b"\n", &sockets)?)
}

/// Receives the sockets: that of redirected connections, and that of look-ups. Nothing else comes before a message is
/// sent.
///
/// # Errors
/// That of recvmsg(2); `InvalidData` if something else comes.
pub fn receive_sockets(channel: impl AsFd) -> io::Result<[OwnedFd; 2]> {
    let (_, sockets) = receive_with(channel.as_fd())?;
    sockets.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn sockets_arrive_in_their_order() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let [first, second] = ["127.0.0.1:0"; 2].map(|at| UdpSocket::bind(at).unwrap());
        send_sockets(&ours, [first.as_fd(), second.as_fd()]).unwrap();
        let received = receive_sockets(&theirs).unwrap().map(UdpSocket::from);
        let addresses = [first, second].map(|socket| socket.local_addr().unwrap());
        assert_eq!(received.map(|socket| socket.local_addr().unwrap()), addresses);
        drop(ours);
        assert_eq!(receive_sockets(&theirs).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
