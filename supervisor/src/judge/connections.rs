//! Connections and datagrams, and where sockets listen.

use std::net::SocketAddr;
use std::sync::Arc;

use guard_approvals::{AskedHost, DenyReason};
use guard_policy::approval::always_address;
use guard_policy::{
    Connection, Interface, Outcome, Page, Reason, Request, Transport, WebRequest, WebScheme, WebTarget,
    decide,
};
use rustix::io::Errno;

use crate::audit::Operation;
use crate::caller::Caller;
use crate::judge::consent::{ConsentState, about_host};
use crate::judge::guard::Guard;
use crate::judge::local_address::interface_of;
use crate::web::WebClients;
use crate::web::wire::Redirected;

/// The port of plain HTTP.
const HTTP: u16 = 80;

impl Guard {
    /// Judges a socket's connection to `address`; `page` is where the approvals page is served. Where a socket keeps to one
    /// link, an address of this host may be another host's.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_connection(
        &self,
        caller: &Caller<'_>,
        address: SocketAddr,
        transport: Transport,
        page: Page,
        keeps_to_link: bool,
    ) -> Result<(), Errno> {
        let policy = self.policy();
        let interface = match interface_of(policy, address, page) {
            Interface::Own if keeps_to_link => Interface::Perhaps,
            interface => interface,
        };
        let is_proxy = |web: &&Arc<WebClients>| web.socket_at(address, transport).is_some();
        let proxy = self.session.web.as_ref().filter(is_proxy).map(|_| address.port());
        let connection = Connection { address, transport, interface, page, proxy };
        let request = Request::Connect(connection);
        let verdict = decide(policy, &request);
        let verdict = if verdict.outcome == Outcome::Ask {
            if self.session.observe {
                let path = address.to_string();
                self.note_question(caller, Operation::Connect, path.as_bytes(), &[], &verdict.reason);
                return Ok(());
            }
            let consent = self.connection_consent(caller, &connection, &verdict.reason)?;
            consent.verdict(verdict, |asks| policy.fallback(&request, asks))
        } else {
            verdict
        };
        self.settle(caller, Operation::Connect, address.to_string().as_bytes(), &[], &verdict)?;
        if let Some(recorder) = self.recorder() {
            recorder.connected(address, transport);
        }
        Ok(())
    }

    /// With `network.web`, returns the port at which the guard's proxy stands in for an address, and what the proxy
    /// serves there. Returns `None` if the proxy does not stand in for it.
    ///
    /// # Errors
    /// EACCES if the policy refuses the name that the address stands for.
    pub fn redirect(
        &self,
        caller: &Caller<'_>,
        to: SocketAddr,
        transport: Transport,
    ) -> Result<Option<(u16, Redirected)>, Errno> {
        let Some(web) = self.session.web.as_ref().filter(|_| self.policy().has_web_rules()) else {
            return Ok(None);
        };
        let ports = web.ports();
        if self.policy().is_resolver(to) {
            let port = if transport == Transport::Udp { ports.lookups } else { ports.redirected };
            return Ok(Some((port, Redirected::Lookups)));
        }
        if transport == Transport::Udp {
            return Ok(None);
        }
        let Some(name) = web.names.name(to.ip()) else { return Ok(None) };
        let authority = format!("{name}:{}", to.port());
        self.judge_name(caller, &authority, to.port())?;
        Ok(Some((ports.redirected, Redirected::Host(authority))))
    }

    /// Judges a name before the proxy does, so that the call itself fails. Nobody knows yet whether TLS or plain HTTP
    /// follows, so one of them must be allowed or asked about.
    ///
    /// # Errors
    /// EACCES if it is refused.
    fn judge_name(&self, caller: &Caller<'_>, authority: &str, port: u16) -> Result<(), Errno> {
        let judged = |scheme| {
            let target = WebTarget::Authority(authority, scheme);
            let request = WebRequest { target, addresses: &[], is_name_approved: false };
            decide(self.policy(), &Request::Web(request))
        };
        let (https, http) = (judged(WebScheme::Https), judged(WebScheme::Http));
        if https.outcome != Outcome::Deny || http.outcome != Outcome::Deny {
            return Ok(());
        }
        let denied = if port == HTTP { http } else { https };
        self.settle(caller, Operation::Connect, authority.as_bytes(), &[], &denied)
    }

    /// The consent for a connection that a human is asked about.
    ///
    /// # Errors
    /// EACCES if the human is to be asked first, and ESRCH if the caller is gone.
    fn connection_consent(
        &self,
        caller: &Caller<'_>,
        connection: &Connection,
        reason: &Reason<'_>,
    ) -> Result<ConsentState, Errno> {
        if self.approvals().is_none() {
            return Ok(ConsentState::Unanswered(DenyReason::Failed, String::new()));
        }
        // A mapped address is shown as the IPv4 address that it stands for.
        let to = SocketAddr::new(connection.address.ip().to_canonical(), connection.address.port());
        let host = AskedHost {
            authority: to.to_string(),
            by: connection.transport.into(),
            addresses: Vec::new(),
            domain: None,
        };
        let process = caller.process()?;
        let question = about_host(&self.background(), process, host, reason, always_address());
        let question = question.ok_or(Errno::SRCH)?;
        match self.consent(caller, || question) {
            ConsentState::Unasked => Err(Errno::ACCESS),
            consent => Ok(consent),
        }
    }

    /// Judges whether a socket of TCP or UDP may be made, and whether one of UDP may send.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_socket(&self, caller: &Caller<'_>, transport: Transport) -> Result<(), Errno> {
        let name: &[u8] = match transport {
            Transport::Tcp => b"tcp",
            Transport::Udp => b"udp",
        };
        let verdict = decide(self.policy(), &Request::Sockets);
        self.settle(caller, Operation::Connect, name, &[], &verdict)
    }

    /// Judges whether a socket may listen at an address. `is_beside` says that it would share the port of another
    /// process's server.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_bind(
        &self,
        caller: &Caller<'_>,
        address: SocketAddr,
        transport: Transport,
        is_beside: bool,
    ) -> Result<(), Errno> {
        let request = Request::Bind { address, transport, page: self.page(transport), is_beside };
        let verdict = decide(self.policy(), &request);
        self.settle(caller, Operation::Bind, address.to_string().as_bytes(), &[], &verdict)
    }
}
