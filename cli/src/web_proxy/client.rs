//! A client of the proxy: a connection of the tree, until its last request has been served.

use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use guard_policy::WebScheme;
use guard_supervisor::web::wire::{ProxyMessage, Redirected, RefusalReason, WebGrant, WebPeer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use super::supervisor_link::{HostQuestion, NotAllowed, SupervisorLink};

/// How often the proxy looks whether a client is still there, while a human is asked.
const LEFT_INTERVAL: Duration = Duration::from_millis(250);

/// A connection to the proxy. Its tunnels, requests and counters share it. When the last of them drops it, the
/// supervisor gets a message that the connection has ended.
pub(super) struct Client {
    link: Rc<SupervisorLink>,
    peer: WebPeer,
    /// The connection, to see its end while a request waits. `None` if there were no descriptors left.
    socket: Option<OwnedFd>,
    _seat: OwnedSemaphorePermit,
}

impl Client {
    /// The client of a connection.
    pub(super) fn new(
        link: &Rc<SupervisorLink>,
        (stream, peer): (&TcpStream, WebPeer),
        seat: OwnedSemaphorePermit,
    ) -> Rc<Client> {
        let socket = stream.as_fd().try_clone_to_owned().ok();
        Rc::new(Client { link: Rc::clone(link), peer, socket, _seat: seat })
    }

    /// How the supervisor knows the client.
    pub(super) fn peer(&self) -> WebPeer {
        self.peer
    }

    /// The channel to the supervisor.
    pub(super) fn link(&self) -> &SupervisorLink {
        &self.link
    }

    /// What the client's connection was for, if it was redirected; `None` if the client is not of the tree.
    pub(super) async fn redirected(&self) -> Option<Redirected> {
        self.link.redirected(self.peer).await
    }

    /// The number of a new request.
    pub(super) fn next_request(&self) -> u64 {
        self.link.next_number()
    }

    /// Asks whether the client may reach a host.
    pub(super) async fn ask(
        &self,
        request: (u64, &str),
        authority: &str,
        scheme: WebScheme,
        addresses: &[IpAddr],
    ) -> Result<WebGrant, NotAllowed> {
        let question = HostQuestion { client: self.peer, request, authority, scheme, addresses };
        self.link.ask(&question, || self.left()).await
    }

    /// Waits until the client closes its connection, or only its sending side. Then no human need be asked.
    async fn left(&self) {
        let Some(socket) = &self.socket else { return std::future::pending().await };
        loop {
            tokio::time::sleep(LEFT_INTERVAL).await;
            let mut seen = [PollFd::new(socket, PollFlags::RDHUP)];
            if poll(&mut seen, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|count| count > 0) {
                return;
            }
        }
    }

    /// Reports a request that differs from what was judged. Returns after it is reported.
    pub(super) async fn refuse(&self, authority: &str, why: RefusalReason) {
        self.link.refuse(self.peer, authority, why).await;
    }

    pub(super) fn send(&self, message: &ProxyMessage) {
        self.link.send(message);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.send(&ProxyMessage::Left { client: self.peer });
    }
}
