//! The sets of places, by name.

use serde::Serialize;

/// A set of places, named after what runs the files there by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Set {
    Shell,
    Login,
    Ssh,
    Autostart,
    Systemd,
    Cron,
    Git,
    Direnv,
    Editors,
    Packages,
    Path,
    Preload,
    Agents,
    Guard,
}

/// The set that protects a name which is a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkedSet(pub(crate) Set);

impl Set {
    pub(crate) const ALL: [Set; 14] = [
        Set::Shell,
        Set::Login,
        Set::Ssh,
        Set::Autostart,
        Set::Systemd,
        Set::Cron,
        Set::Git,
        Set::Direnv,
        Set::Editors,
        Set::Packages,
        Set::Path,
        Set::Preload,
        Set::Agents,
        Set::Guard,
    ];

    /// Returns whether the path of a key in guard.json is that of this set.
    pub(crate) fn is_named_by(self, key: &str) -> bool {
        key.strip_prefix("permissions.persistence.") == Some(self.as_str())
    }

    /// Every name, as written in `guard.json`.
    pub(crate) const NAMES: [&str; 14] = [
        "shell",
        "login",
        "ssh",
        "autostart",
        "systemd",
        "cron",
        "git",
        "direnv",
        "editors",
        "packages",
        "path",
        "preload",
        "agents",
        "guard",
    ];

    pub(crate) fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    pub(crate) fn from_name(name: &str) -> Option<Set> {
        Set::ALL.into_iter().find(|set| set.as_str() == name)
    }

    /// Returns when a file written there runs: completes "runs outside the guard".
    pub(crate) fn when(self) -> &'static str {
        match self {
            Set::Shell => "in the next shell",
            Set::Login => "at the next login",
            Set::Ssh => "at the next ssh, or lets others in",
            Set::Autostart => "when the desktop starts it",
            Set::Systemd => "when the system starts it",
            Set::Cron => "at its time",
            Set::Git => "when git is used next",
            Set::Direnv => "when a shell enters the directory",
            Set::Editors => "when the program is opened next",
            Set::Packages => "when packages are installed or used next",
            Set::Path => "when its name is called next",
            Set::Preload => "in every program",
            Set::Agents => "in the next agent",
            Set::Guard => "as the guard itself",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sets_are_in_the_same_order() {
        for (set, name) in Set::ALL.into_iter().zip(Set::NAMES) {
            assert_eq!(serde_json::to_value(set).unwrap(), name);
            assert_eq!((set.as_str(), Set::from_name(name)), (name, Some(set)));
        }
    }
}
