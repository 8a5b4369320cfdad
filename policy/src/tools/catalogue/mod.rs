//! The tools, profiles, groups and lists of each release of OpenClaw, as data.

mod channels;
mod release;
mod v2026_4;
mod v2026_7;
mod v2026_9;

pub(super) use channels::channel_id;
pub use release::Release;

/// The channel of OpenClaw's own page.
const WEB_CHAT: &str = "webchat";

/// What a release ships. Profiles and groups follow from the tools (`src/agents/tool-catalog.ts`).
#[derive(Debug)]
pub struct Catalogue {
    /// In the order of the release.
    pub tools: &'static [CoreTool],
    /// Aliases of tools, which are valid everywhere (`tool-policy-shared.ts`).
    aliases: &'static [(&'static str, &'static str)],
    /// Former names, which are valid in lists only (`tool-policy.ts`).
    renames: &'static [(&'static str, &'static str)],
    /// A name in a list, and a second tool that it also stands for.
    families: &'static [(&'static str, &'static str)],
    /// Tools that only the owner may use (`src/security/dangerous-tools.ts`).
    pub owner_only: &'static [&'static str],
    /// Tools that `POST /tools/invoke` refuses unless `gateway.tools.allow` names them (same file).
    pub http_deny: &'static [&'static str],
    /// Tools that no sub-agent has (`agent-tools.policy.ts`).
    pub subagent_deny: &'static [&'static str],
    /// Tools that a sub-agent has only if it may start others.
    pub leaf_deny: &'static [&'static str],
    /// The lists of a sandbox that configures none (`src/agents/sandbox/constants.ts`).
    pub(super) sandbox_allow: &'static [&'static str],
    /// The deny list lacks the channels: see `channels`.
    pub(super) sandbox_deny: &'static [&'static str],
    /// Channels, whose plugins' tools a sandbox lacks.
    pub(super) channels: &'static [&'static str],
    /// The tool that looks at images, which every sandbox with an allow list has.
    pub(super) image: &'static str,
    /// `agents.defaults.subagents.maxSpawnDepth` where it is not set.
    pub spawn_depth: u32,
    /// What the release's sentences call the section of an agent.
    pub agent_path: &'static str,
    traits: &'static [Trait],
}

/// A tool of OpenClaw itself.
#[derive(Debug)]
pub struct CoreTool {
    /// As policies write it.
    pub name: &'static str,
    /// The section, which is also a group: `fs` is `group:fs`.
    pub section: &'static str,
    /// The profiles that allow it.
    pub profiles: &'static [&'static str],
    /// What it is made for.
    pub made_for: Toolset,
}

/// What OpenClaw makes a tool for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolset {
    /// For every client of the gateway, also over HTTP; these are `group:openclaw`.
    Gateway,
    /// For an agent's session only.
    Session,
}

/// How a release differs from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trait {
    /// If `write` is denied, so is `apply_patch`.
    WriteDeniesApplyPatch,
    /// A section `tools.exec` or `tools.fs` adds its tools to the profile (until OpenClaw's issue 47487).
    SectionsGrant,
    /// A sub-agent may have a tool that sub-agents otherwise lack, if `tools.subagents.tools` allows the tool by name.
    SubagentAllowLifts,
    /// A sender that is not known to be the owner does not count as the owner.
    UnknownSenderIsNotOwner,
    /// The profile `full` is the list `["*"]`, not the absence of a list.
    FullIsAList,
    /// `tools.toolsBySender` is a step.
    SenderStep,
    /// The profiles `coding` and `messaging` name `bundle-mcp`.
    BundleMcp,
}

impl Catalogue {
    pub(super) fn has(&self, this: Trait) -> bool {
        self.traits.contains(&this)
    }

    /// The name that policies use: lower case, without blanks around it, and no alias.
    pub fn name(&self, written: &str) -> String {
        let name = folded(written);
        self.aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, tool)| (*tool).to_owned())
    }

    /// The id of a channel of this name, if the release knows one.
    pub fn channel(&self, name: &str) -> Option<String> {
        let id = channel_id(name);
        (id == WEB_CHAT || self.channels.contains(&id.as_str())).then_some(id)
    }

    /// Whether the release ships a tool of this name.
    pub fn is_core(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// The names that an entry of a list stands for, before groups.
    pub(super) fn listed(&self, entry: &str) -> Vec<String> {
        let name = self.name(entry);
        let more = self.families.iter().filter(|(family, _)| *family == name);
        let more: Vec<_> = more.map(|(_, tool)| (*tool).to_owned()).collect();
        let renamed = self.renames.iter().find(|(old, _)| *old == name);
        let name = renamed.map_or(name, |(_, new)| (*new).to_owned());
        std::iter::once(name).chain(more).collect()
    }

    /// The tools of a group.
    pub fn group(&self, name: &str) -> Option<Vec<&'static str>> {
        let section = name.strip_prefix("group:")?;
        let in_group = |tool: &&CoreTool| match section {
            "openclaw" => tool.made_for == Toolset::Gateway,
            section => tool.section == section,
        };
        let tools: Vec<_> = self.tools.iter().filter(in_group).map(|tool| tool.name).collect();
        (!tools.is_empty()).then_some(tools)
    }

    /// The names of all groups.
    pub fn groups(&self) -> Vec<String> {
        let mut names = vec!["group:openclaw".to_owned()];
        for tool in self.tools {
            let name = format!("group:{}", tool.section);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The allow list of a profile; none where the profile restricts nothing or is unknown.
    pub fn profile(&self, name: &str) -> Option<Vec<&'static str>> {
        if name == "full" {
            return self.has(Trait::FullIsAList).then(|| vec!["*"]);
        }
        if !PROFILES.contains(&name) {
            return None;
        }
        let allowed = self.tools.iter().filter(|tool| tool.profiles.contains(&name)).map(|tool| tool.name);
        let mcp = (name != "minimal" && self.has(Trait::BundleMcp)).then_some("bundle-mcp");
        Some(allowed.chain(mcp).collect())
    }
}

/// The profiles of all releases.
pub const PROFILES: [&str; 4] = ["minimal", "coding", "messaging", "full"];

/// Lower case, without blanks around it, as OpenClaw compares names.
pub(super) fn folded(text: &str) -> String {
    trimmed(text).to_lowercase()
}

/// The text without what JavaScript's `trim` removes, which includes the byte-order mark.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}')
}
