//! Identifies the peer of a connection, once, before its first request is read.

use std::net::SocketAddr;

use guard_openclaw::gateway::{GatewayRejected, SocketPair};

/// Why a peer is turned away.
#[derive(Debug, thiserror::Error)]
pub enum Away {
    #[error("a process of another user ({0}) opened the page")]
    OtherUser(u32),
    #[error("a process of a guarded tree ({0}) opened the page, and may not answer")]
    Member(i32),
    #[error(
        "the descriptors of a process of a guarded tree ({0}) cannot be read: it may have made this connection to the page"
    )]
    Hidden(i32),
    #[error("cannot identify the process that opened the page: {0}")]
    Unknown(String),
}

/// Checks the process that connected from `peer` to `own`. Blocks: it may have to inspect every process.
///
/// # Errors
/// When the peer is in a guarded tree or belongs to another user, or when the kernel does not show that it is
/// neither.
pub fn check(own: SocketAddr, peer: SocketAddr) -> Result<(), Away> {
    match (SocketPair { own, peer }).check(None) {
        Ok(()) => Ok(()),
        // No process that this one may inspect has the socket, and a member of a tree cannot hide its sockets. So the
        // peer is a sandboxed browser, a browser that root runs as a service, or sshd, which forwards a remote
        // browser's connection (`ssh -L`). A member of a tree cannot get here, because its guard denies it the
        // address. The link, the cookie and the key protect the page from every other process.
        Err(GatewayRejected::Unseen) => Ok(()),
        Err(GatewayRejected::OtherUser(user)) => Err(Away::OtherUser(user)),
        Err(GatewayRejected::Member(pid)) => Err(Away::Member(pid)),
        Err(GatewayRejected::Hidden(pid)) => Err(Away::Hidden(pid)),
        Err(GatewayRejected::Unknown) => Err(Away::Unknown("the kernel does not tell".to_owned())),
        Err(GatewayRejected::Failed(why)) => Err(Away::Unknown(why)),
    }
}
