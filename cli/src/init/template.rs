//! The templates. A template is a guard.json that begins with a comment: its first line says what the template is for,
//! and the next three lines of text say what it allows.

use clap::ValueEnum;

use super::fill::PROJECT_LINE;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    Coding,
    ClaudeCode,
    Codex,
    Aider,
    Openclaw,
    ReadOnly,
    Scratch,
    SystemBinaries,
}

impl Template {
    /// The guard.json, with placeholders for the operator's values.
    pub fn text(self) -> &'static str {
        match self {
            Template::Coding => include_str!("templates/coding.jsonc"),
            Template::ClaudeCode => include_str!("templates/claude-code.jsonc"),
            Template::Codex => include_str!("templates/codex.jsonc"),
            Template::Aider => include_str!("templates/aider.jsonc"),
            Template::Openclaw => include_str!("templates/openclaw.jsonc"),
            Template::ReadOnly => include_str!("templates/read-only.jsonc"),
            Template::Scratch => include_str!("templates/scratch.jsonc"),
            Template::SystemBinaries => include_str!("templates/system-binaries.jsonc"),
        }
    }

    /// The template's name, and what it is for.
    pub fn title(self) -> (&'static str, &'static str) {
        self.head().next().and_then(|line| line.split_once(": ")).unwrap_or_default()
    }

    /// What it allows.
    pub fn says(self) -> impl Iterator<Item = &'static str> {
        self.head().skip(1).take(3)
    }

    /// Whether it needs a workspace.
    pub fn is_for_a_workspace(self) -> bool {
        self.text().contains("${workspace}") || self.text().contains(PROJECT_LINE)
    }

    /// The text of its first comment.
    fn head(self) -> impl Iterator<Item = &'static str> {
        let comment = self.text().lines().map_while(|line| line.strip_prefix("//"));
        comment.map(str::trim).filter(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_is_in_few_lines() {
        for template in Template::value_variants() {
            let name = template.to_possible_value().expect("a name");
            let name = name.get_name();
            assert!(template.title().0 == name && !template.title().1.is_empty(), "{name}");
            let words: Vec<_> = template.says().map(|line| line.split_whitespace().next()).collect();
            assert_eq!(words, [Some("runs"), Some("writes"), Some("asks")], "{name}");
            assert!(template.text().lines().all(|line| line.len() <= 120), "{name}");
        }
    }
}
