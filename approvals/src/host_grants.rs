//! Answers about a host that cover all hosts below its domain, for a time. Kept in memory only.

use tokio::time::Instant;

use super::asked_host::HostProtocol;
use super::decision::{Decision, GrantWidth};
use super::grants::TemporaryGrants;
use super::question::{Question, Subject};

/// An answer for the hosts below a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostGrant {
    hosts: DomainHosts,
    /// The answer.
    pub decision: Decision,
}

/// The hosts below a domain, by the rule that asks about them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DomainHosts {
    agent: String,
    session: String,
    rule: String,
    domain: String,
    by: HostProtocol,
    /// The port, as digits.
    port: String,
}

impl DomainHosts {
    /// Returns `None` if the question is not about a name below a domain.
    fn new(question: &Question) -> Option<DomainHosts> {
        let Subject::Host(host) = &question.subject else { return None };
        let (_, port) = host.authority.rsplit_once(':')?;
        Some(DomainHosts {
            agent: question.agent.clone(),
            session: question.session.clone(),
            rule: question.rule(),
            domain: host.domain.clone()?,
            by: host.by.clone(),
            port: port.to_owned(),
        })
    }
}

impl HostGrant {
    /// The grant that an answer to a question makes for later calls. `None` if the answer is not for a domain.
    pub fn new(question: &Question, decision: Decision) -> Option<HostGrant> {
        let is_wide = matches!(
            decision,
            Decision::AllowFor(GrantWidth::Directory, _) | Decision::DenyFor(GrantWidth::Directory, _)
        );
        let hosts = DomainHosts::new(question).filter(|_| is_wide)?;
        Some(HostGrant { hosts, decision })
    }
}

impl TemporaryGrants<HostGrant> {
    /// Returns the kept answer that covers the host of a question, and when the answer ends. If several cover it,
    /// returns the one that ends last. Call [`TemporaryGrants::forget`] first, as this does not check the time.
    pub fn covering(&self, question: &Question) -> Option<(&HostGrant, Option<Instant>)> {
        let hosts = DomainHosts::new(question)?;
        self.find(|grant| grant.hosts == hosts)
    }
}
