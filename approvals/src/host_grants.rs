//! Answers for hosts that reach beyond one host: for all hosts below its domain, for a time. Kept in memory only.

use std::collections::HashMap;

use guard_policy::WebScheme;
use tokio::time::Instant;

use super::decision::{Decision, GrantWidth};
use super::file_grants::until;
use super::grants::MAX_GRANTS;
use super::question::{Question, Subject};

/// What an answer for a domain is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DomainKey {
    agent: String,
    session: String,
    /// The rule that asks.
    rule: String,
    domain: String,
    scheme: WebScheme,
    method: String,
    /// The port, as digits.
    port: String,
}

impl DomainKey {
    /// `None` if the question is not about a name below a domain.
    fn new(question: &Question) -> Option<DomainKey> {
        let Subject::Host(host) = &question.subject else { return None };
        let (_, port) = host.authority.rsplit_once(':')?;
        Some(DomainKey {
            agent: question.agent.clone(),
            session: question.session.clone(),
            rule: question.rule(),
            domain: host.domain.clone()?,
            scheme: host.scheme,
            method: host.method.clone(),
            port: port.to_owned(),
        })
    }
}

/// An answer for a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostGrant {
    /// When it ends; `None` if it lasts as long as the guard.
    pub until: Option<Instant>,
    /// The answer.
    pub decision: Decision,
}

/// Answers of one kind: those that allow, or those that deny.
#[derive(Debug, Default)]
pub struct HostGrants(HashMap<DomainKey, HostGrant>);

impl HostGrants {
    /// Keeps this answer to a question, if it is for a domain and a time. If the domain has one already, the later end
    /// applies. Beyond [`MAX_GRANTS`], the answer that ends first is dropped.
    pub fn insert(&mut self, question: &Question, decision: Decision, now: Instant) -> bool {
        let (Decision::AllowFor(GrantWidth::Directory, span)
        | Decision::DenyFor(GrantWidth::Directory, span)) = decision
        else {
            return false;
        };
        let Some(key) = DomainKey::new(question) else { return false };
        let until = until(span, now);
        if let Some(known) = self.0.get_mut(&key) {
            known.until = known.until.zip(until).map(|(known, until)| known.max(until));
            return true;
        }
        if self.0.len() >= MAX_GRANTS {
            let first = self.0.iter().min_by_key(|(_, grant)| (grant.until.is_none(), grant.until));
            if let Some(first) = first.map(|(key, _)| key.clone()) {
                self.0.remove(&first);
            }
        }
        self.0.insert(key, HostGrant { until, decision });
        true
    }

    /// The answer that covers a question. Call [`HostGrants::forget`] first, as this does not check the time.
    pub fn get(&self, question: &Question) -> Option<HostGrant> {
        self.0.get(&DomainKey::new(question)?).copied()
    }

    /// Removes the answers that have ended by `now`.
    pub fn forget(&mut self, now: Instant) {
        self.0.retain(|_, grant| grant.until.is_none_or(|until| until > now));
    }

    /// Removes all answers.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
