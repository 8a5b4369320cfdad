//! The settings of agents and editors in a project that have programs started by themselves. The lists of persistence
//! (`listed_places.rs` of guard-policy) protect each of them, and say where its agent's manual describes it.

use std::path::{Path, PathBuf};

use crate::config::realpath::Links;

/// A star stands for any text in one name.
const OF_PROJECTS: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/agents/*.md",
    ".claude/commands/*.md",
    ".claude/skills/*/SKILL.md",
    ".mcp.json",
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".cursor/worktrees.json",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".roo/mcp.json",
    ".kiro/settings/mcp.json",
    ".kiro/agents/*.json",
    ".kiro/hooks/*",
    "opencode.json",
    "opencode.jsonc",
    ".opencode.json",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
    ".crush.json",
    "crush.json",
    ".amp/settings.json",
    ".amp/settings.jsonc",
    ".github/hooks/*.json",
    ".github/mcp.json",
    ".github/lsp.json",
    ".gitlab/duo/mcp.json",
    ".windsurf/hooks.json",
    ".factory/settings.json",
    ".factory/settings.local.json",
    ".factory/mcp.json",
    ".iflow/settings.json",
    ".codebuddy/settings.json",
    ".qoder/settings.json",
    ".kilocode/mcp.json",
    ".trae/mcp.json",
    ".junie/mcp/mcp.json",
    ".amazonq/mcp.json",
    ".amazonq/cli-agents/*.json",
    ".continue/mcpServers/*",
    ".vibe/config.toml",
    ".agents/hooks.json",
    ".agent/hooks.json",
    ".aider.conf.yml",
    ".vscode/mcp.json",
    ".vscode/tasks.json",
    ".zed/settings.json",
];
/// How many names of a directory are looked at: more than anybody has.
const MAX_NAMES: usize = 1024;

/// Returns whether such settings may be a name in a project, or below it.
pub fn is_name_of_project(name: &[u8]) -> bool {
    OF_PROJECTS.iter().any(|settings| first_of(settings).as_bytes() == name)
}

/// Returns the names of a project that are, or hold, such settings.
pub fn names_of_projects() -> impl Iterator<Item = &'static str> {
    let first = |at: usize| first_of(OF_PROJECTS[at]);
    (0..OF_PROJECTS.len()).filter(move |at| (0..*at).all(|before| first(before) != first(*at))).map(first)
}

fn first_of(settings: &'static str) -> &'static str {
    settings.split('/').next().unwrap_or_default()
}

/// Returns the settings of a project that are, or lie in, what has this name there.
///
/// # Errors
/// A directory with too many names.
pub fn of_project(links: &Links, project: &Path, name: &str) -> Result<Vec<PathBuf>, PathBuf> {
    let mut found = Vec::new();
    for settings in OF_PROJECTS.iter().filter(|settings| first_of(settings) == name) {
        let parts: Vec<&str> = settings.split('/').collect();
        add(links, project.to_owned(), &parts, &mut found)?;
    }
    Ok(found)
}

fn add(links: &Links, at: PathBuf, parts: &[&str], found: &mut Vec<PathBuf>) -> Result<(), PathBuf> {
    let Some((part, rest)) = parts.split_first() else {
        found.push(at);
        return Ok(());
    };
    let Some((start, end)) = part.split_once('*') else { return add(links, at.join(part), rest, found) };
    let mut names = match std::fs::read_dir(&at) {
        Ok(names) => names.flatten(),
        Err(error) => {
            links.unreadable(&at, &error);
            return Ok(());
        }
    };
    for name in names.by_ref().take(MAX_NAMES) {
        let is_meant = |name: &str| name.strip_prefix(start).is_some_and(|name| name.ends_with(end));
        if name.file_name().to_str().is_some_and(is_meant) {
            add(links, name.path(), rest, found)?;
        }
    }
    if names.next().is_some() { Err(at) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_are_found_by_their_names() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path();
        for name in [".claude/skills/a", ".claude/skills/b", ".claude/agents", ".github/hooks"] {
            fs::create_dir_all(project.join(name)).unwrap();
        }
        for name in [".claude/agents/x.md", ".claude/agents/x.txt", ".github/hooks/a.json"] {
            fs::write(project.join(name), "").unwrap();
        }
        let of = |name: &str| {
            let found = of_project(&Links::default(), project, name).unwrap();
            let mut found: Vec<_> =
                found.iter().map(|path| path.strip_prefix(project).unwrap().display().to_string()).collect();
            found.sort();
            found
        };
        let expected = [
            ".claude/agents/x.md",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/skills/a/SKILL.md",
            ".claude/skills/b/SKILL.md",
        ];
        assert_eq!(of(".claude"), expected);
        assert_eq!(of(".github"), [".github/hooks/a.json", ".github/lsp.json", ".github/mcp.json"]);
        assert_eq!(of("src"), [""; 0]);
        assert!(is_name_of_project(b".mcp.json") && !is_name_of_project(b"src"));
        assert_eq!(names_of_projects().filter(|name| *name == ".claude").count(), 1);
        (0..=MAX_NAMES)
            .for_each(|at| fs::write(project.join(format!(".claude/agents/{at}.txt")), "").unwrap());
        let agents = project.join(".claude/agents");
        assert_eq!(of_project(&Links::default(), project, ".claude"), Err(agents));
    }
}
