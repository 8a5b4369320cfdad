//! A client of the proxy: a connection of the tree, until its last request has been served.

use std::net::IpAddr;
use std::rc::Rc;

use guard_policy::WebScheme;
use guard_supervisor::web::wire::{ProxyMessage, RefusalReason, WebGrant};
use tokio::sync::OwnedSemaphorePermit;

use super::supervisor_link::{NotAllowed, SupervisorLink};

/// A connection to the proxy. Its tunnels, requests and counters share it. When the last of them drops it, the
/// supervisor gets a message that the connection has ended.
pub(super) struct Client {
    link: Rc<SupervisorLink>,
    port: u16,
    _seat: OwnedSemaphorePermit,
}

impl Client {
    /// The client that connects from this port.
    pub(super) fn new(link: &Rc<SupervisorLink>, port: u16, seat: OwnedSemaphorePermit) -> Rc<Client> {
        Rc::new(Client { link: Rc::clone(link), port, _seat: seat })
    }

    /// The port that it has connected from.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Asks whether it may reach a host.
    pub(super) async fn ask(
        &self,
        authority: &str,
        scheme: WebScheme,
        addresses: &[IpAddr],
    ) -> Result<WebGrant, NotAllowed> {
        self.link.ask(self.port, authority, scheme, addresses).await
    }

    /// Reports a request that differs from what was judged. Returns after it is reported.
    pub(super) async fn refuse(&self, authority: &str, why: RefusalReason) {
        self.link.refuse(self.port, authority, why).await;
    }

    /// Sends a message to the supervisor.
    pub(super) fn send(&self, message: &ProxyMessage) {
        self.link.send(message);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.send(&ProxyMessage::Left { client: self.port });
    }
}
