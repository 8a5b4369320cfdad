//! Answers the proxy's questions, and reports what it has done.

use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use guard_openclaw::peer::proc::{self, Tid};
use guard_policy::{
    AddressClass, Connection, Outcome, Reason, Request, Source, Transport, Verdict, WebRequest, WebTarget,
    decide,
};

use super::clients::WebClients;
use super::wire::{
    MAX_ADDRESSES, ProxyMessage, RefusalReason, WebAnswer, WebGrant, WebQuestion, WebRefusal, WebTransfer,
    WebVerdict, line, receive,
};
use crate::audit::report::Reporter;
use crate::audit::{DecisionEvent, MAX_DENIED_ARGV, Operation, WebConnectionRecord, shortened};
use crate::judge::active::Current;
use crate::judge::guard::Guard;
use crate::judge::local_address::interface_of;

/// The maximum length of a host's name in a report, in bytes.
const MAX_AUTHORITY: usize = 300;

/// What answers need.
pub(super) struct Answers {
    pub(super) current: Arc<Current>,
    pub(super) clients: Arc<WebClients>,
    pub(super) reporter: Reporter,
}

impl Answers {
    /// Answers until the proxy ends, or sends an invalid message.
    pub(super) fn serve(&self, from: &mut impl BufRead, mut to: impl Write) {
        while let Ok(Some(message)) = receive(from) {
            if self.handle(message, &mut to).is_err() {
                return;
            }
        }
    }

    fn handle(&self, message: ProxyMessage, to: &mut impl Write) -> io::Result<()> {
        match message {
            ProxyMessage::Asks(question) => {
                let answer = WebAnswer { id: question.id, verdict: self.answer(&question) };
                to.write_all(&line(&answer))?;
            }
            ProxyMessage::Refuses(refusal) => {
                let answer = WebAnswer { id: refusal.id, verdict: self.refused(&refusal) };
                to.write_all(&line(&answer))?;
            }
            ProxyMessage::Moved(transfer) => self.moved(transfer),
            ProxyMessage::Left { client } => self.clients.remove(client),
        }
        Ok(())
    }

    fn answer(&self, question: &WebQuestion) -> WebVerdict {
        let Some(process) = self.clients.process(question.client) else { return WebVerdict::UnknownClient };
        let guard = self.current.guard();
        let target = WebTarget::Authority(&question.authority, question.scheme);
        let endpoint = target.endpoint();
        let port = endpoint.as_ref().map_or(0, |endpoint| endpoint.port());
        let authority = endpoint.as_ref().map_or(question.authority.clone(), |endpoint| endpoint.authority());
        let addresses = question.addresses.iter().map(|ip| connection(&guard, SocketAddr::new(*ip, port)));
        let addresses: Vec<_> = addresses.collect();
        let verdict = match question.addresses.len() {
            0..=MAX_ADDRESSES => {
                decide(guard.policy(), &Request::Web(WebRequest { target, addresses: &addresses }))
            }
            _ => Verdict {
                outcome: Outcome::Deny,
                reason: builtin("the name has more addresses than the guard judges"),
            },
        };
        if verdict.outcome != Outcome::Allow {
            let rule = verdict.reason.rule().to_owned();
            self.report(process, &authority, verdict.reason.into_owned());
            if !guard.observe {
                return WebVerdict::Denied(rule);
            }
        }
        match endpoint {
            Ok(endpoint) => WebVerdict::Allowed(WebGrant {
                host: endpoint.host().to_owned(),
                authority,
                port,
                max_response_bytes: guard.policy().max_response_bytes().filter(|_| !guard.observe),
                follow_redirects: guard.policy().follows_redirects() || guard.observe,
            }),
            Err(error) => WebVerdict::Denied(error.to_string()),
        }
    }

    fn refused(&self, refusal: &WebRefusal) -> WebVerdict {
        let Some(process) = self.clients.process(refusal.client) else { return WebVerdict::UnknownClient };
        let reason = reason(&refusal.why);
        let rule = reason.rule().to_owned();
        self.report(process, &refusal.authority, reason);
        WebVerdict::Denied(rule)
    }

    /// Reports a denial, in the log and on stderr. Both have it before the client hears of it.
    fn report(&self, process: Tid, authority: &str, reason: Reason<'static>) {
        let argv = proc::arguments(process).unwrap_or_default();
        // It is denied whether or not it can be logged.
        let _ = self.reporter.record(DecisionEvent {
            pid: process,
            chain: self.current.guard().tree.chain(process),
            operation: Operation::Connect,
            path: shortest(authority).into_bytes(),
            argv: shortened(&argv, MAX_DENIED_ARGV),
            outcome: Outcome::Deny,
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

fn shortest(authority: &str) -> String {
    authority.chars().take(MAX_AUTHORITY).collect()
}

fn builtin(rule: impl Into<String>) -> Reason<'static> {
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
