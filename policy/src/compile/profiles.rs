//! Profiles: what the programs of agents need in a home beside the work on a project. The profile of the guarded command
//! is laid over the policy in force.

use crate::compile::builtin::system::{PROGRAMS, TOOLCHAINS};
use crate::paths::expansion::{Expanded, expand};
use crate::{Grant, Permission, Policy};

/// An agent whose program has a profile.
///
/// The directories are those of each agent's own documentation: Claude Code's "Settings" and "Set up", Codex's
/// "Configuration", aider's "Options reference", Gemini CLI's "Configuration" and opencode's "Config".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
    /// aider.
    Aider,
    /// Google's Gemini CLI.
    GeminiCli,
    /// opencode.
    Opencode,
}

/// What a profile consists of.
pub(super) struct Content {
    name: &'static str,
    /// What the command is called.
    pub(super) command: &'static str,
    /// Patterns and what they grant. What would run outside of the guard stays protected by persistence.
    rules: &'static [(&'static str, &'static str)],
    /// The secrets of the built-in policy that are the agent's own.
    pub(super) own_secrets: &'static [&'static str],
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 5] =
        [Profile::ClaudeCode, Profile::Codex, Profile::Aider, Profile::GeminiCli, Profile::Opencode];

    pub(super) fn content(self) -> &'static Content {
        match self {
            Profile::ClaudeCode => &Content {
                name: "claude-code",
                command: "claude",
                rules: &[
                    ("~/.claude/**", "rw-"),
                    ("~/.claude.json*", "rw-"),
                    ("~/.claude/local/**", "r-x"),
                    ("~/.local/share/claude/**", "r-x"),
                    ("~/.local/state/claude/**", "rw-"),
                ],
                own_secrets: &["~/.claude", "~/.claude.json"],
            },
            Profile::Codex => &Content {
                name: "codex",
                command: "codex",
                rules: &[("~/.codex/**", "rw-"), ("~/.codex/packages/**", "r-x")],
                own_secrets: &["~/.codex"],
            },
            Profile::Aider => &Content {
                name: "aider",
                command: "aider",
                rules: &[("~/.aider/**", "rw-")],
                own_secrets: &[],
            },
            Profile::GeminiCli => &Content {
                name: "gemini-cli",
                command: "gemini",
                rules: &[("~/.gemini/**", "rw-")],
                own_secrets: &["~/.gemini"],
            },
            Profile::Opencode => &Content {
                name: "opencode",
                command: "opencode",
                rules: &[
                    ("~/.config/opencode/**", "r--"),
                    ("~/.opencode/**", "r-x"),
                    ("~/.local/share/opencode/**", "rw-"),
                    ("~/.local/share/opencode/bin/**", "r-x"),
                    ("~/.local/state/opencode/**", "rw-"),
                ],
                own_secrets: &[],
            },
        }
    }

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        self.content().name
    }

    /// Returns the profile with a name.
    pub fn from_name(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.as_str() == name)
    }

    /// Returns the profile of the agent whose command has this name.
    pub fn of_command(name: &[u8]) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| profile.content().command.as_bytes() == name)
    }

    /// Returns the patterns of what the agent keeps for itself.
    pub fn own_paths(self) -> impl Iterator<Item = &'static str> {
        self.content().rules.iter().map(|(pattern, _)| *pattern)
    }

    /// Returns whether a path lies where programs are installed: by the system, by a toolchain, or by the agent itself.
    pub fn has_program_at(self, path: &[u8], home: &[u8]) -> bool {
        let own =
            self.rules().filter(|(_, permission)| permission.0.x == Grant::Yes).map(|(pattern, _)| pattern);
        let covers = |pattern: &str| expand(pattern, home).glob(true).matches(path);
        PROGRAMS.into_iter().chain(TOOLCHAINS).chain(own).any(covers)
    }

    /// Returns whether a policy already grants everything that the profile does.
    pub fn is_granted_by(self, policy: &Policy) -> bool {
        self.rules().all(|(pattern, permission)| {
            let Expanded { literal, pattern } = expand(pattern, policy.home.as_slice());
            // A path that the pattern covers: the named file itself, or something below the named directory.
            let path = [&literal, pattern.replace("**", "x").replace('*', "").as_bytes()].concat();
            permission.0.within(policy.map.find(&path).rights)
        })
    }

    /// Returns whether a secret of the built-in policy is the agent's own.
    pub(super) fn owns(self, secret: &str) -> bool {
        self.content().own_secrets.contains(&secret)
    }

    /// Returns the profile's rules. A test checks the lists.
    pub(super) fn rules(self) -> impl Iterator<Item = (&'static str, Permission)> {
        self.content().rules.iter().filter_map(|(pattern, bits)| Some((*pattern, Permission::parse(bits)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::builtin::templates;
    use crate::paths::expansion;

    #[test]
    fn the_lists_are_well_formed() {
        for profile in Profile::ALL {
            let content = profile.content();
            assert_eq!(profile.rules().count(), content.rules.len(), "{}", content.name);
            for (pattern, _) in content.rules {
                assert_eq!(expansion::problem(pattern), None, "{pattern}");
            }
            for secret in content.own_secrets {
                assert!(templates::secrets().any(|known| known == *secret), "{secret}");
            }
            assert_eq!(Profile::from_name(content.name), Some(profile));
            assert_eq!(Profile::of_command(content.command.as_bytes()), Some(profile));
        }
    }
}
