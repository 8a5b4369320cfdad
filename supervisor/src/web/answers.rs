//! Answers the proxy's questions, and reports what it has done.

use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use guard_approvals::{AskedHost, Binding, HostProtocol, Question};
use guard_openclaw::peer::proc::{self, Tid};
use guard_policy::approval::always_host;
use guard_policy::{
    AddressClass, Connection, Outcome, Policy, Reason, Request, Source, Transport, Verdict, WebRequest,
    WebTarget, decide,
};
use parking_lot::Mutex;

use super::asked::AskedRequests;
use super::clients::WebClients;
use super::suffixes::domain;
use super::wire::{
    MAX_ADDRESSES, ProxyMessage, RefusalReason, WebAnswer, WebGrant, WebQuestion, WebRefusal, WebTransfer,
    WebVerdict, line, receive,
};
use crate::audit::report::Reporter;
use crate::audit::{DecisionEvent, MAX_DENIED_ARGV, Operation, WebConnectionRecord, shortened};
use crate::judge::active::Current;
use crate::judge::consent::about_host;
use crate::judge::guard::Guard;
use crate::judge::local_address::interface_of;

/// The maximum length of a host's name in a report, in bytes.
const MAX_AUTHORITY: usize = 300;
/// The longest method that a question shows, in characters.
const MAX_METHOD: usize = 32;

pub(super) struct Answers {
    pub(super) current: Arc<Current>,
    pub(super) clients: Arc<WebClients>,
    pub(super) reporter: Reporter,
    pub(super) asked: AskedRequests,
    pub(super) to: Mutex<UnixStream>,
}

/// What becomes of a question of the proxy's.
pub(super) enum Judged {
    /// This answer.
    Settled(WebVerdict),
    /// A human has to be asked this.
    Asks(Box<Question>),
}

impl Answers {
    /// Answers until the proxy ends, or sends an invalid message.
    pub(super) fn serve(self: &Arc<Self>, from: &mut impl BufRead) {
        while let Ok(Some(message)) = receive(from) {
            if self.handle(message).is_err() {
                return;
            }
        }
    }

    fn handle(self: &Arc<Self>, message: ProxyMessage) -> io::Result<()> {
        match message {
            ProxyMessage::Asks(question) => match self.judge_anew(&question) {
                Judged::Settled(verdict) => return self.send(question.id, verdict),
                Judged::Asks(asked) => return self.ask(question, *asked),
            },
            ProxyMessage::Withdraws { id } => self.asked.withdraw(id),
            ProxyMessage::Refuses(refusal) => return self.send(refusal.id, self.refused(&refusal)),
            ProxyMessage::Accepts { id, client } => return self.send(id, self.redirected(client)),
            ProxyMessage::LooksUp(lookup) => return self.send(lookup.id, self.looked_up(&lookup)),
            ProxyMessage::Moved(transfer) => self.moved(transfer),
            ProxyMessage::Left { client } => {
                self.clients.remove(client);
                self.asked.forget(client);
            }
        }
        Ok(())
    }

    /// Judges a question. Before a human is asked, what was allowed "always" a moment ago counts, too.
    fn judge_anew(&self, question: &WebQuestion) -> Judged {
        let guard = self.current.guard();
        match self.judge(question) {
            Judged::Asks(_) if self.current.newer(&guard).is_some() => self.judge(question),
            judged => judged,
        }
    }

    pub(super) fn send(&self, id: u64, verdict: WebVerdict) -> io::Result<()> {
        self.to.lock().write_all(&line(&WebAnswer { id, verdict }))
    }

    /// Judges a question by the policy in force, and by what a human has allowed this request. A denial is reported.
    pub(super) fn judge(&self, question: &WebQuestion) -> Judged {
        let settled = Judged::Settled;
        let Some(process) = self.clients.process(question.client) else {
            return settled(WebVerdict::UnknownClient);
        };
        let guard = self.current.guard();
        let target = WebTarget::Authority(&question.authority, question.scheme);
        let endpoint = match target.endpoint() {
            Ok(endpoint) => endpoint,
            Err(error) => {
                self.report(process, &question.authority, Outcome::Deny, builtin(error.to_string()));
                return settled(WebVerdict::Denied(error.to_string()));
            }
        };
        let connections = question.addresses.iter();
        let connections = connections.map(|ip| connection(&guard, SocketAddr::new(*ip, endpoint.port())));
        let connections: Vec<_> = connections.collect();
        // A question about the name comes before the look-up, and so before one about its addresses.
        let own: Vec<IpAddr> = endpoint.address().iter().map(SocketAddr::ip).collect();
        let stages = [(&[][..], false, own), (&connections[..], true, not_public(&question.addresses))];
        let count = if question.addresses.is_empty() { 1 } else { 2 };
        for (addresses, is_name_approved, shown) in stages.into_iter().take(count) {
            let request = WebRequest { target, addresses, is_name_approved };
            let verdict = match question.addresses.len() {
                // A session that is learned from goes wherever it could go without the proxy.
                0..=MAX_ADDRESSES if guard.recorder().is_some() => {
                    let itself = endpoint.address().map(|address| connection(&guard, address));
                    directly(guard.policy(), itself.iter().chain(addresses))
                }
                0..=MAX_ADDRESSES => decide(guard.policy(), &Request::Web(request)),
                _ => too_many(),
            };
            if verdict.outcome == Outcome::Allow {
                continue;
            }
            let reason = verdict.reason.into_owned();
            if guard.session.observe {
                self.report(process, &endpoint.authority(), verdict.outcome, reason);
                break;
            }
            if verdict.outcome == Outcome::Deny {
                let rule = reason.rule().to_owned();
                self.report(process, &endpoint.authority(), Outcome::Deny, reason);
                return settled(WebVerdict::Denied(rule));
            }
            // The name is asked about, and not what it leads to.
            let domain = domain(&endpoint).filter(|_| shown.is_empty());
            let always = always_host(&endpoint, domain.as_deref(), &reason);
            let host = AskedHost {
                authority: endpoint.authority(),
                by: HostProtocol::from_web(
                    question.scheme,
                    question.method.chars().take(MAX_METHOD).collect(),
                ),
                domain,
                addresses: shown,
            };
            let Some(asked) = about_host(&guard.background(), process, host, &reason, always) else {
                let rule = "the program that asked has ended";
                self.report(process, &endpoint.authority(), Outcome::Deny, builtin(rule));
                return settled(WebVerdict::Denied(rule.to_owned()));
            };
            if !self.asked.is_allowed(question, &Binding::from_question(&asked)) {
                return Judged::Asks(Box::new(asked));
            }
        }
        let is_reached = endpoint.address().is_some() || !question.addresses.is_empty();
        if let Some(recorder) = guard.recorder().filter(|_| is_reached) {
            recorder.reached(&endpoint, &question.addresses);
        }
        settled(WebVerdict::Allowed(WebGrant {
            host: endpoint.host().to_owned(),
            authority: endpoint.authority(),
            port: endpoint.port(),
            max_response_bytes: guard.policy().max_response_bytes().filter(|_| !guard.session.observe),
            follow_redirects: guard.policy().follows_redirects() || guard.session.observe,
        }))
    }

    fn refused(&self, refusal: &WebRefusal) -> WebVerdict {
        let Some(process) = self.clients.process(refusal.client) else { return WebVerdict::UnknownClient };
        let reason = reason(&refusal.why);
        let rule = reason.rule().to_owned();
        self.report(process, &refusal.authority, Outcome::Deny, reason);
        WebVerdict::Denied(rule)
    }

    /// Reports a denial, in the log and on stderr. Both have it before the client hears of it.
    pub(super) fn report(&self, process: Tid, authority: &str, outcome: Outcome, reason: Reason<'static>) {
        let argv = proc::arguments(process).unwrap_or_default();
        // It is denied whether or not it can be logged.
        let _ = self.reporter.record(DecisionEvent {
            pid: process,
            chain: self.current.guard().tree.chain(process),
            operation: Operation::Connect,
            path: shortest(authority).into_bytes(),
            argv: shortened(&argv, MAX_DENIED_ARGV),
            outcome,
            reason,
            micros: 0,
        });
        self.reporter.write_log();
    }

    fn moved(&self, transfer: WebTransfer) {
        let Some(pid) = self.clients.process(transfer.client) else { return };
        self.reporter.web_connection(WebConnectionRecord {
            pid,
            name: shortest(&transfer.authority),
            address: transfer.address,
            class: AddressClass::from_ip(transfer.address).to_string(),
            sent: transfer.sent,
            received: transfer.received,
        });
    }
}

/// The connection that would be made to an address.
fn connection(guard: &Guard, address: SocketAddr) -> Connection {
    let page = guard.page(Transport::Tcp);
    let interface = interface_of(guard.policy(), address, page);
    Connection { interface, page, ..Connection::to(address) }
}

/// The verdict on connections that do not use the proxy: the first verdict that does not allow a connection, if there is one.
fn directly<'a, 'p>(policy: &'p Policy, connections: impl Iterator<Item = &'a Connection>) -> Verdict<'p> {
    let verdicts = connections.map(|connection| decide(policy, &Request::Connect(*connection)));
    let mut denied = verdicts.filter(|verdict| verdict.outcome != Outcome::Allow);
    denied.next().unwrap_or_else(|| Verdict { outcome: Outcome::Allow, reason: builtin("learning") })
}

/// The addresses of a name that are not public.
fn not_public(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let mut found: Vec<_> = addresses.to_vec();
    found.retain(|ip| AddressClass::from_ip(*ip) != AddressClass::Public);
    found.sort_unstable();
    found.dedup();
    found
}

fn too_many() -> Verdict<'static> {
    Verdict { outcome: Outcome::Deny, reason: builtin("the name has more addresses than the guard judges") }
}

fn shortest(authority: &str) -> String {
    authority.chars().take(MAX_AUTHORITY).collect()
}

/// A reason of the guard's own.
pub(super) fn builtin(rule: impl Into<String>) -> Reason<'static> {
    let rule = rule.into();
    Reason::new(Source::Builtin, "network.web", rule.clone(), rule)
}

/// The reason for a refusal of the proxy's own.
fn reason(why: &RefusalReason) -> Reason<'static> {
    match why {
        RefusalReason::ServerName(name) => builtin(format!("TLS for another name, \"{}\"", shortest(name))),
        RefusalReason::NoServerName => builtin("TLS that names no host (SNI)"),
        RefusalReason::HiddenServerName => {
            builtin("TLS with a hidden name (Encrypted Client Hello); turn it off in the program")
        }
        RefusalReason::NotTls => builtin("data that begins like TLS and is not"),
        RefusalReason::Host(name) => builtin(format!("HTTP for another host, \"{}\"", shortest(name))),
        RefusalReason::TooLong(most) => {
            let text = format!("the response is longer than {most} bytes");
            Reason::new(
                Source::Global,
                "network.web.maxResponseBytes",
                format!("network.web.maxResponseBytes {most}"),
                text,
            )
        }
        RefusalReason::Redirect => {
            let text = "the response is a redirect";
            Reason::new(
                Source::Global,
                "network.web.followRedirects",
                "network.web.followRedirects false",
                text,
            )
        }
    }
}
