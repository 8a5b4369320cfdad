//! Look-ups of names by the tree, and connections that it makes without knowing the proxy.

use guard_policy::{Outcome, Request, WebScheme, WebTarget, decide};

use super::answers::Answers;
use super::wire::{WebLookup, WebPeer, WebVerdict};

impl Answers {
    /// Answers a look-up. A denial is reported.
    pub(super) fn looked_up(&self, lookup: &WebLookup) -> WebVerdict {
        let Some(process) = self.clients.process(lookup.client) else { return WebVerdict::UnknownClient };
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
                self.report(process, &lookup.name, Outcome::Deny, reason);
                WebVerdict::Denied(rule)
            }
        }
    }

    /// What a redirected connection was for.
    pub(super) fn redirected(&self, from: WebPeer) -> WebVerdict {
        match self.clients.client(from).and_then(|client| client.redirected) {
            Some(redirected) => WebVerdict::Redirected(redirected),
            None => WebVerdict::UnknownClient,
        }
    }
}
