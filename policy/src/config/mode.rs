//! The two scales of OpenClaw's exec policy, `security` and `ask`, and the presets that set both. The scales are
//! ordered so that combining two values can only tighten.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which programs may start. The order is OpenClaw's: a smaller value is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// Nothing may start.
    Deny,
    /// Only programs in the allowlist, and carriers.
    Allowlist,
    /// Every program may start for which a rule grants `x`.
    Full,
}

/// When a human is asked. A larger value asks more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ask {
    /// Never. What is not allowed is denied.
    Off,
    /// When no rule decides.
    OnMiss,
    /// The same as on-miss, and before every program that is not a carrier.
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

    /// The ask that asks more often.
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

/// The modes set by the command line or the environment. They can only tighten the policy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// `--exec-security`, `OC_EXEC_SECURITY`.
    pub security: Option<Security>,
    /// `--exec-ask`, `OC_EXEC_ASK`.
    pub ask: Option<Ask>,
}

/// `exec.mode`: a value for `security` and `ask` in one word, as OpenClaw's `tools.exec.mode` (2026.9.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Nothing may start.
    Deny,
    /// Programs in the allowlist may start; nobody is asked.
    Allowlist,
    /// Programs in the allowlist may start; the guard asks about others.
    Ask,
    /// The same as ask. In OpenClaw a model answers first; here a human answers.
    Auto,
    /// Every program may start for which a rule grants `x`.
    Full,
}

impl Preset {
    /// Every value, as written in `guard.json`.
    pub const NAMES: [&'static str; 5] = ["deny", "allowlist", "ask", "auto", "full"];
    const ALL: [Preset; 5] = [Preset::Deny, Preset::Allowlist, Preset::Ask, Preset::Auto, Preset::Full];

    /// The value's name in `guard.json`.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The value of that name.
    pub fn from_name(name: &str) -> Option<Preset> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == name)
    }

    /// The security that the preset sets.
    pub fn security(self) -> Security {
        match self {
            Preset::Deny => Security::Deny,
            Preset::Allowlist | Preset::Ask | Preset::Auto => Security::Allowlist,
            Preset::Full => Security::Full,
        }
    }

    /// The ask that the preset sets.
    pub fn ask(self) -> Ask {
        match self {
            Preset::Deny | Preset::Allowlist | Preset::Full => Ask::Off,
            Preset::Ask | Preset::Auto => Ask::OnMiss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The preset that OpenClaw shows for a security and an ask.
    fn shown(security: Security, ask: Ask) -> Preset {
        match (security, ask) {
            (Security::Deny, _) => Preset::Deny,
            (Security::Allowlist, Ask::Off) => Preset::Allowlist,
            (Security::Full, Ask::Off | Ask::OnMiss) => Preset::Full,
            (Security::Allowlist, _) | (Security::Full, Ask::Always) => Preset::Ask,
        }
    }

    #[test]
    fn combined_modes_are_the_stricter_ones() {
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
        for name in Preset::NAMES {
            assert_eq!(Preset::from_name(name).unwrap().as_str(), name);
        }
        assert_eq!(Preset::from_name("Full"), None);
        assert_eq!(Security::from_name("bogus"), None);
        assert_eq!(Ask::from_name("On-Miss"), None);
    }

    #[test]
    fn a_preset_is_shown_for_the_modes_that_it_sets() {
        for name in Preset::NAMES {
            let preset = Preset::from_name(name).unwrap();
            let word = if preset == Preset::Auto { Preset::Ask } else { preset };
            assert_eq!(shown(preset.security(), preset.ask()), word);
        }
        assert_eq!(shown(Security::Full, Ask::OnMiss), Preset::Full);
        assert_eq!(shown(Security::Full, Ask::Always), Preset::Ask);
        assert_eq!(shown(Security::Deny, Ask::Always), Preset::Deny);
    }
}
