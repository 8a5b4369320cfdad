//! `network.connect.private`: connections to other hosts that are not public.

use std::net::IpAddr;

use super::address::{AddressClass, special_uses};
use super::special_use::SpecialUse;
use crate::config::network::PrivateAccess;
use crate::verdict::{CompiledReason, Outcome, Source};

/// One `network.connect.private`, compiled. Of several, the strictest counts.
#[derive(Clone, Debug)]
pub(super) struct PrivateRule {
    access: PrivateAccess,
    /// Whether the key is written. If not, the rule leaves out addresses that are nobody's network: those for examples, and
    /// those for tests of devices (198.18.0.0/15), which some proxies give to every name.
    is_written: bool,
    reason: CompiledReason,
}

impl PrivateRule {
    /// The rule of guard.json, or `default`, if it does not say.
    pub(super) fn new(written: Option<PrivateAccess>, default: PrivateAccess) -> PrivateRule {
        let access = written.unwrap_or(default);
        let (source, class) = match written {
            Some(_) => (Source::Global, "not public"),
            None => (Source::Default, "of a private network"),
        };
        let path = "network.connect.private".to_owned();
        let rule = format!("{path} \"{}\"", access.as_str());
        let text = format!("the address is {class}, and network.connect.allow does not name it");
        PrivateRule {
            access,
            is_written: written.is_some(),
            reason: CompiledReason { source, path, rule, text },
        }
    }

    /// The rule of a project's own file.
    pub(super) fn from_project(access: PrivateAccess, reason: CompiledReason) -> PrivateRule {
        PrivateRule { access, is_written: true, reason }
    }

    /// What becomes of a connection to another host at this address, of this class; `None` if it is allowed.
    pub(super) fn judge(&self, ip: IpAddr, class: AddressClass) -> Option<(Outcome, &CompiledReason)> {
        let is_meant = match class {
            // A loopback address inside an address of another host leads back to this host by a relay: 2002:7f00:1::.
            AddressClass::Private | AddressClass::Multicast | AddressClass::Loopback => true,
            AddressClass::Reserved => self.is_written || !is_nobodys(ip),
            AddressClass::Public | AddressClass::LinkLocal | AddressClass::Metadata => false,
        };
        let outcome = match self.access {
            PrivateAccess::Deny => Outcome::Deny,
            PrivateAccess::Ask => Outcome::Ask,
            PrivateAccess::Allow => return None,
        };
        is_meant.then_some((outcome, &self.reason))
    }

    /// What is written; `None` if nothing is.
    pub(super) fn written(&self) -> Option<PrivateAccess> {
        self.is_written.then_some(self.access)
    }

    /// What becomes of connections to private networks by this rule.
    pub(super) fn access(&self) -> PrivateAccess {
        self.access
    }
}

/// Whether an address belongs to nobody's network by all of its special uses.
fn is_nobodys(ip: IpAddr) -> bool {
    special_uses(ip).all(|one| {
        matches!(one.special_use, SpecialUse::Benchmarking | SpecialUse::Documentation | SpecialUse::Global)
    })
}
