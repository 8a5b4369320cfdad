//! The settings of agents and editors, and how each is read. The table has every place that the lists of persistence
//! protect as an agent's: `listed_places.rs` of guard-policy says where each agent's manual describes the place. It
//! also has the settings of editors that name programs.

/// How to find in settings what they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsReader {
    /// By the keys around a command, or by the forms in which Markdown has commands.
    Keys,
    /// As [`SettingsReader::Keys`], but a task counts only if it starts when the folder is opened.
    Tasks,
    /// As [`SettingsReader::Tasks`], for the value at the key `tasks`.
    CodeWorkspace,
    /// Only what starts on this host (`initializeCommand`). The rest runs in the container.
    Devcontainer,
    /// A text of shell.
    Shell,
    /// By `!{…}` in a prompt.
    Prompt,
    /// The settings name nothing that starts outside them. They are the program itself, text for a model, or state, or
    /// they name files beside them, which the place protects as well.
    Nothing,
}

/// The paths of settings, below `~`, `WORK` or the root. A star stands for any text in one name, and two stars for
/// directories of any depth.
const TABLE: &[(SettingsReader, &str)] = &[
    (
        SettingsReader::Keys,
        "~/.claude/settings.json ~/.claude/settings.local.json ~/.claude/managed-settings.json \
         ~/.claude/remote-settings.json ~/.claude/.mcp.json ~/.claude/agents/**/*.md ~/.claude/commands/**/*.md \
         ~/.claude/skills/*/SKILL.md ~/.codex/config.toml ~/.codex/*.config.toml ~/.codex/environments.toml \
         ~/.codex/managed_config.toml ~/.codex/requirements.toml ~/.codex/hooks.json ~/.codex/agents/*.toml \
         ~/.cursor/mcp.json ~/.cursor/hooks.json ~/.gemini/settings.json ~/.gemini/antigravity/mcp_config.json \
         ~/.gemini/config/hooks.json ~/.gemini/config/mcp_config.json ~/.gemini/antigravity-cli/settings.json \
         ~/.gemini/antigravity-cli/hooks.json ~/.gemini/antigravity-cli/mcp_config.json ~/.qwen/settings.json \
         ~/.config/opencode/opencode.json ~/.config/opencode/opencode.jsonc ~/.config/opencode/config.json \
         ~/.config/opencode/command/**/*.md ~/.config/opencode/commands/**/*.md ~/.config/goose/config.yaml \
         ~/.config/amp/settings.json ~/.config/amp/settings.jsonc ~/.config/crush/crush.json ~/.config/mcp/*.json \
         ~/.config/Claude/claude_desktop_config.json ~/.continue/config.yaml ~/.continue/config.json \
         ~/.continue/mcpServers/* ~/.aider.conf.yml ~/.codeium/windsurf/mcp_config.json ~/.copilot/config.json \
         ~/.copilot/mcp-config.json ~/.config/github-copilot/*.json ~/.config/github-copilot/intellij/mcp.json \
         ~/.kiro/settings/mcp.json ~/.kiro/agents/*.json ~/.roo/mcp.json ~/.factory/settings.json \
         ~/.factory/settings.local.json ~/.factory/hooks.json ~/.factory/mcp.json ~/.agents/hooks.json \
         ~/.agents/mcp_config.json ~/.mcp.json ~/.windsurf/hooks.json ~/.windsurf/mcp_config.json \
         ~/.pi/agent/settings.json ~/.aws/amazonq/mcp.json ~/.aws/amazonq/cli-agents/*.json \
         ~/.config/Code/User/mcp.json ~/.config/Code/User/settings.json ~/.config/Cursor/User/mcp.json \
         ~/.config/Cursor/User/settings.json ~/.config/VSCodium/User/mcp.json ~/.config/VSCodium/User/settings.json \
         ~/.config/Windsurf/User/settings.json ~/.config/zed/settings.json /etc/claude-code/managed-settings.json \
         /etc/claude-code/managed-mcp.json /etc/codex/config.toml /etc/codex/managed_config.toml \
         /etc/codex/requirements.toml /etc/gemini-cli/settings.json ~/.copilot/settings.json ~/.copilot/hooks/*.json \
         ~/.config/devin/config.json",
    ),
    (
        SettingsReader::Keys,
        "WORK/.claude/settings.json WORK/.claude/settings.local.json WORK/.claude/agents/**/*.md \
         WORK/.claude/commands/**/*.md WORK/.claude/skills/*/SKILL.md WORK/.claude/launch.json WORK/.mcp.json \
         WORK/.mcphub/servers.json WORK/.cursor/mcp.json WORK/.cursor/hooks.json WORK/.cursor/worktrees.json WORK/.cursor/environment.json \
         WORK/.gemini/settings.json WORK/.qwen/settings.json WORK/.codex/config.toml WORK/.codex/hooks.json \
         WORK/.codex/agents/*.toml WORK/.roo/mcp.json WORK/.kiro/settings/mcp.json WORK/.kiro/agents/*.json \
         WORK/.kiro/hooks/* WORK/opencode.json WORK/opencode.jsonc WORK/.opencode.json WORK/.opencode/opencode.json \
         WORK/.opencode/opencode.jsonc WORK/.opencode/command/**/*.md WORK/.opencode/commands/**/*.md WORK/kilo.json \
         WORK/kilo.jsonc WORK/.kilo/kilo.json WORK/.kilo/kilo.jsonc WORK/.kilo/command/**/*.md \
         WORK/.kilocode/mcp.json WORK/.crush.json WORK/crush.json WORK/.amp/settings.json WORK/.amp/settings.jsonc \
         WORK/.github/hooks/*.json WORK/.github/mcp.json WORK/.github/lsp.json WORK/.gitlab/duo/mcp.json \
         WORK/.windsurf/hooks.json WORK/.factory/settings.json WORK/.factory/settings.local.json \
         WORK/.factory/hooks.json WORK/.factory/mcp.json WORK/.iflow/settings.json WORK/.iflow/settings.local.json \
         WORK/.codebuddy/settings.json WORK/.codebuddy/settings.local.json WORK/.qoder/settings.json \
         WORK/.qoder/settings.local.json WORK/.trae/mcp.json WORK/.junie/mcp/mcp.json WORK/.amazonq/mcp.json \
         WORK/.amazonq/cli-agents/*.json WORK/.continue/mcpServers/* WORK/.continue/config.yaml \
         WORK/.continuerc.json WORK/.vibe/config.toml WORK/.vibe/hooks.toml WORK/.agents/hooks.json \
         WORK/.agents/mcp_config.json WORK/.agents/skills/*/SKILL.md WORK/.agent/hooks.json \
         WORK/.agent/mcp_config.json WORK/.aider.conf.yml WORK/.openhands/hooks.json WORK/.augment/settings.json \
         WORK/.augment/settings.local.json WORK/.grok/hooks/* WORK/.rovodev/config.yml WORK/.pi/settings.json \
         WORK/.tabnine/agent/settings.json WORK/gptme.toml WORK/.copilot/mcp-config.json WORK/.vscode/mcp.json \
         WORK/.vscode/settings.json WORK/.zed/settings.json WORK/.devin/config.json WORK/.devin/config.local.json \
         WORK/.devin/hooks.v1.json WORK/.codex/environments/*.toml WORK/.qwen/commands/**/*.md WORK/tui.json \
         WORK/tui.jsonc WORK/.github/copilot/settings.json WORK/.github/copilot/settings.local.json \
         WORK/.tabnine/mcp_servers.json WORK/.neovate/config.json WORK/.letta/settings.json \
         WORK/.letta/settings.local.json WORK/.grok/settings.json WORK/conductor.json WORK/.superset/config.json \
         WORK/.emdash.json",
    ),
    (SettingsReader::Tasks, "WORK/.vscode/tasks.json ~/.config/Code/User/tasks.json"),
    (SettingsReader::Shell, "WORK/.crushrc WORK/crushrc ~/.config/crush/crushrc"),
    (SettingsReader::CodeWorkspace, "WORK/*.code-workspace"),
    (
        SettingsReader::Devcontainer,
        "WORK/.devcontainer/devcontainer.json WORK/.devcontainer/*/devcontainer.json WORK/.devcontainer.json",
    ),
    (
        SettingsReader::Prompt,
        "~/.gemini/commands/**/*.toml WORK/.gemini/commands/**/*.toml ~/.qwen/commands/**/*.toml \
         WORK/.qwen/commands/**/*.toml",
    ),
    // Texts for a model.
    (
        SettingsReader::Nothing,
        "~/.claude/CLAUDE.md ~/.claude/rules/ ~/.claude/output-styles/ ~/.codex/AGENTS.md \
         ~/.codex/AGENTS.override.md ~/.codex/prompts/ ~/.codex/rules/ ~/.cursor/rules/ ~/.cursor/commands/ \
         ~/.gemini/GEMINI.md ~/.qwen/QWEN.md ~/.copilot/agents/ ~/.gemini/agents/ WORK/.gemini/agents/",
    ),
    // Prompts, which the agent gives to its model at their time.
    (
        SettingsReader::Nothing,
        "~/.claude/scheduled_tasks.json ~/.claude/routines/ WORK/.claude/scheduled_tasks.json WORK/.claude/routines/ \
         WORK/.claude/mailbox/ WORK/.claude/agent-registry.json",
    ),
    // Permissions, keys, and variables.
    (
        SettingsReader::Nothing,
        "~/.claude/keybindings.json ~/.codex/.env ~/.cursor/cli-config.json ~/.cursor/permissions.json \
         ~/.gemini/trustedFolders.json ~/.gemini/policies/ ~/.gemini/.env ~/.gemini/mcp-server-enablement.json \
         ~/.gemini/trusted_hooks.json ~/.aider/oauth-keys.env WORK/.cursor/cli.json WORK/.gemini/.env \
         WORK/.gemini/policies/",
    ),
    // Programs themselves, and plugins that name files in their own directories.
    (
        SettingsReader::Nothing,
        "~/.claude/hooks/ ~/.claude/plugins/ ~/.claude/local/ ~/.claude/statusline* ~/.claude/workflows/ \
         ~/.claude/chrome/ ~/.claude/scripts/ ~/.claude/bin/ ~/.codex/plugins/ ~/.codex/scripts/ ~/.codex/bin/ \
         ~/.codex/automations/ ~/.codex/hooks/ ~/.codex/skills/ ~/.cursor/hooks/ ~/.gemini/extensions/ \
         ~/.gemini/skills/ ~/.gemini/hooks/ ~/.gemini/scripts/ ~/.gemini/bin/ ~/.gemini/tmp/bin/ \
         ~/.gemini/antigravity/skills/ ~/.gemini/config/plugins/ ~/.gemini/config/skills/ \
         ~/.gemini/antigravity-cli/plugins/ ~/.gemini/antigravity-cli/skills/ ~/.gemini/antigravity-cli/bin/ \
         ~/.qwen/extensions/ ~/.opencode/ ~/.local/share/opencode/bin/ ~/.cache/opencode/ ~/.cache/kilo/ ~/.cache/claude/staging/ ~/.claude/downloads/ \
         ~/.cache/copilot/pkg/ \
         ~/.cache/github-copilot-sdk*/ ~/.cache/codex-runtimes/ ~/.cache/openclaw/ WORK/jiti/openclaw/ /etc/openclaw/ WORK/.claude/hooks/ \
         WORK/.claude/plugins/ WORK/.claude/workflows/ WORK/.cursor/hooks/ WORK/.gemini/extensions/ \
         WORK/.gemini/hooks/ WORK/.gemini/skills/ WORK/.clinerules/hooks/ WORK/.github/extensions/ WORK/.roo/tools/ \
         WORK/.vibe/tools/ WORK/.vibe/agents/ WORK/.openhands/setup.sh WORK/.openhands/pre-commit.sh WORK/.mux/init \
         WORK/.kilocode/setup-script WORK/.openclaw/ WORK/.cline/ WORK/.omp/",
    ),
];

/// A place of the table, and how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsRow {
    /// The names of its path below the start. Each may have a star.
    pub names: &'static str,
    pub reader: SettingsReader,
}

/// Returns the rows of a project that are read.
pub fn of_projects() -> impl Iterator<Item = SettingsRow> {
    below("WORK/")
}

/// Returns the rows of a home that are read.
pub fn of_homes() -> impl Iterator<Item = SettingsRow> {
    below("~/")
}

/// Returns the rows of the system that are read.
pub fn of_system() -> impl Iterator<Item = SettingsRow> {
    below("/")
}

fn below(start: &'static str) -> impl Iterator<Item = SettingsRow> {
    let read = TABLE.iter().filter(|(reader, _)| *reader != SettingsReader::Nothing);
    read.flat_map(move |(reader, list)| {
        let names = list.split_ascii_whitespace().filter_map(move |place| place.strip_prefix(start));
        names.map(|names| SettingsRow { names, reader: *reader })
    })
}

#[cfg(test)]
mod tests {
    use guard_policy::PersistenceSites;

    use super::*;

    #[test]
    fn each_place_of_the_agents_has_its_reader_or_starts_nothing() {
        let rows: Vec<&str> = TABLE.iter().flat_map(|(_, list)| list.split_ascii_whitespace()).collect();
        let has_row = |place: &str| {
            rows.iter().any(|row| *row == place || place.ends_with('/') && row.starts_with(place))
        };
        let missing: Vec<_> = PersistenceSites::places_of_agents().filter(|place| !has_row(place)).collect();
        assert_eq!(missing, [""; 0]);
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), rows.len(), "a place is there twice");
    }
}
