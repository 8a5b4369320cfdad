//! The two scales of OpenClaw's exec policy, ordered so that a composition can only tighten.

use serde::{Deserialize, Serialize};

/// Which programs may start. The order is OpenClaw's: a smaller value is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// Nothing may start.
    Deny,
    /// Only what the allowlist names, and carriers.
    Allowlist,
    /// Everything that the file map lets run.
    Full,
}

/// When a human is asked. A larger value asks more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Never: what is not allowed is denied.
    Off,
    /// When no rule decides.
    OnMiss,
    /// As `OnMiss`, and for every program that is not a carrier.
    Always,
}

impl Security {
    /// Every value, as written in `guard.json`.
    pub const NAMES: [&'static str; 3] = ["deny", "allowlist", "full"];

    /// The stricter of two.
    pub fn min_security(self, other: Security) -> Security {
        self.min(other)
    }

    /// The value's name in `guard.json`.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The value of that name.
    pub fn from_name(name: &str) -> Option<Security> {
        [Security::Deny, Security::Allowlist, Security::Full].into_iter().find(|s| s.as_str() == name)
    }
}

impl Ask {
    /// Every value, as written in `guard.json`.
    pub const NAMES: [&'static str; 3] = ["off", "on-miss", "always"];

    /// The one that asks more.
    pub fn max_ask(self, other: Ask) -> Ask {
        self.max(other)
    }

    /// The value's name in `guard.json`.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The value of that name.
    pub fn from_name(name: &str) -> Option<Ask> {
        [Ask::Off, Ask::OnMiss, Ask::Always].into_iter().find(|a| a.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compositions_take_the_closed_side() {
        assert_eq!(Security::Full.min_security(Security::Deny), Security::Deny);
        assert_eq!(Security::Allowlist.min_security(Security::Full), Security::Allowlist);
        assert_eq!(Ask::Off.max_ask(Ask::OnMiss), Ask::OnMiss);
        assert_eq!(Ask::Always.max_ask(Ask::Off), Ask::Always);
    }

    #[test]
    fn names_go_both_ways() {
        for name in Security::NAMES {
            assert_eq!(Security::from_name(name).unwrap().as_str(), name);
        }
        for name in Ask::NAMES {
            assert_eq!(Ask::from_name(name).unwrap().as_str(), name);
        }
        assert_eq!(Security::from_name("bogus"), None);
        assert_eq!(Ask::from_name("On-Miss"), None);
    }
}
