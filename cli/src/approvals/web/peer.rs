//! Who is at the other end of a connection: looked at once, before the first request is read.

use std::net::SocketAddr;

use guard_openclaw::gateway::{GatewayRejected, SocketPair};

/// Why somebody is turned away.
#[derive(Debug, thiserror::Error)]
pub enum Away {
    #[error("a process of another user ({0}) wants the page")]
    OtherUser(u32),
    #[error("a process of a guarded tree ({0}) wants the page: it may not answer")]
    Member(i32),
    #[error("a process of a guarded tree ({0}) does not show what it holds: it may be who wants the page")]
    Hidden(i32),
    #[error("it cannot be told who wants the page: {0}")]
    Unknown(String),
}

/// Looks at who connected from `peer` to `own`. Waits: every process may have to be looked at.
///
/// # Errors
/// A process of a guarded tree, or another user's; or what cannot be told from those.
pub fn check(own: SocketAddr, peer: SocketAddr) -> Result<(), Away> {
    match (SocketPair { own, peer }).check(None) {
        Ok(()) => Ok(()),
        // No process that this one may look into has it, and no member of a tree hides what it has. That is what a browser
        // is that is sandboxed, or of which root has made a service, and sshd, which carries the connection of a browser
        // elsewhere (`ssh -L`). Members of a tree cannot come so far, for their guards deny them the address; here it is
        // left to the link, the cookie and the key.
        Err(GatewayRejected::Unseen) => Ok(()),
        Err(GatewayRejected::OtherUser(user)) => Err(Away::OtherUser(user)),
        Err(GatewayRejected::Member(pid)) => Err(Away::Member(pid)),
        Err(GatewayRejected::Hidden(pid)) => Err(Away::Hidden(pid)),
        Err(GatewayRejected::Unknown) => Err(Away::Unknown("the kernel does not tell".to_owned())),
        Err(GatewayRejected::Failed(why)) => Err(Away::Unknown(why)),
    }
}
