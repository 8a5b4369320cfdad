//! Programs that take code from standard input or arguments: as safe bins they would run whatever they are
//! given.

use crate::Document;
use crate::programs::inline_eval::is_interpreter;

/// Shells, which [`is_interpreter`] does not include, since elsewhere a shell is judged by what it starts.
const SHELLS: [&str; 11] =
    ["ash", "bash", "busybox", "dash", "fish", "ksh", "powershell", "pwsh", "sh", "toybox", "zsh"];

/// Returns whether a program of this name runs code that it is given.
#[must_use]
pub fn runs_its_input(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    SHELLS.contains(&name.as_str()) || is_interpreter(&name)
}

impl Document {
    /// Returns the interpreters among `exec.safeBins`, of the top level and of every agent, that have no profile of
    /// their own: OpenClaw 2026.9.6's audit rule `tools.exec.safe_bins_interpreter_unprofiled`.
    pub fn interpreters_without_profile(&self) -> impl Iterator<Item = &str> {
        let top = &self.exec.safe_bins;
        let agents = self.agents.values().map(|agent| &agent.exec.safe_bins);
        std::iter::once(top).chain(agents).flat_map(move |section| {
            let has_profile = |name: &str| {
                let name = name.to_ascii_lowercase();
                section.profiles.contains_key(&name) || top.profiles.contains_key(&name)
            };
            let names = section.names.iter().flatten().map(|name| name.trim());
            names.filter(move |name| runs_its_input(name) && !has_profile(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_and_interpreters_run_their_input() {
        for name in
            ["bash", "Python3", "python3.12", " node ", "awk", "pwsh", "osascript", "bun", "lua", "php"]
        {
            assert!(runs_its_input(name), "{name}");
        }
        for name in ["cut", "jq", "grep", "bashful", ""] {
            assert!(!runs_its_input(name), "{name}");
        }
    }

    #[test]
    fn a_profile_makes_the_difference() {
        let text = r#"{"version": 1, "exec": {"safeBins": ["jq", "Bash", "python3", "node"],
            "safeBinProfiles": {"node": {"maxPositional": 0}, "bash": {"maxPositional": 0}}}}"#;
        let document = Document::parse("guard.json", text).unwrap();
        assert_eq!(document.interpreters_without_profile().collect::<Vec<_>>(), ["python3"]);
    }

    #[test]
    fn an_agents_list_is_looked_at_too() {
        let text = r#"{"version": 1, "exec": {"safeBinProfiles": {"node": {}}},
            "agents": {"a": {"exec": {"safeBins": ["node", "ruby", "perl"], "safeBinProfiles": {"perl": {}}}}}}"#;
        let document = Document::parse("guard.json", text).unwrap();
        assert_eq!(document.interpreters_without_profile().collect::<Vec<_>>(), ["ruby"]);
    }
}
