//! Look-ups of names by the tree, and connections that it makes without knowing the proxy.

use guard_policy::{Outcome, Request, Transport, WebScheme, WebTarget, decide};

use super::answers::Answers;
use super::wire::{WebLookup, WebVerdict};

impl Answers {
    /// Answers a look-up. A denial is reported.
    pub(super) fn looked_up(&self, lookup: &WebLookup) -> WebVerdict {
        let transport = if lookup.is_tcp { Transport::Tcp } else { Transport::Udp };
        let Some(client) = self.clients.client(lookup.client, transport) else {
            return WebVerdict::UnknownClient;
        };
        let guard = self.current.guard();
        let verdict = decide(guard.policy(), &Request::Lookup(&lookup.name));
        let endpoint = WebTarget::Authority(&lookup.name, WebScheme::Https).endpoint();
        match endpoint {
            Ok(endpoint) if verdict.outcome == Outcome::Allow || guard.session.observe => {
                WebVerdict::Address(self.clients.names.address(endpoint.host()))
            }
            _ => {
                let reason = verdict.reason.into_owned();
                let rule = reason.rule().to_owned();
                self.report(client.process, &lookup.name, Outcome::Deny, reason);
                WebVerdict::Denied(rule)
            }
        }
    }

    /// What a redirected connection was for.
    pub(super) fn redirected(&self, from: u16) -> WebVerdict {
        match self.clients.client(from, Transport::Tcp).and_then(|client| client.redirected) {
            Some(redirected) => WebVerdict::Redirected(redirected),
            None => WebVerdict::UnknownClient,
        }
    }
}
