//! The templates: policies for kinds of work, to begin with (`openclaw-guard init`) or to extend (`"extends"`).
//!
//! A template is a guard.json that begins with a comment: its first line says what the template is for, and the next three
//! lines of text say what it allows.

mod fill;

use schemars::JsonSchema;
use serde::Serialize;

use fill::PROJECT_LINE;
pub use fill::TemplateValues;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// Build and test one project.
    Coding,
    /// Claude Code on one project.
    ClaudeCode,
    /// Codex on one project.
    Codex,
    /// aider on one project.
    Aider,
    /// OpenClaw's exec tool.
    Openclaw,
    /// Look at a project.
    ReadOnly,
    /// Work in temporary files.
    Scratch,
    /// The programs of the system.
    SystemBinaries,
}

impl Template {
    /// Every template.
    pub const ALL: [Template; 8] = [
        Template::Coding,
        Template::ClaudeCode,
        Template::Codex,
        Template::Aider,
        Template::Openclaw,
        Template::ReadOnly,
        Template::Scratch,
        Template::SystemBinaries,
    ];

    /// Every name, as written in `guard.json`.
    pub const NAMES: [&'static str; 8] =
        ["coding", "claude-code", "codex", "aider", "openclaw", "read-only", "scratch", "system-binaries"];

    /// The template's name.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The template of that name.
    pub fn from_name(name: &str) -> Option<Template> {
        Template::ALL.into_iter().find(|template| template.as_str() == name)
    }

    /// The guard.json for these values.
    pub fn filled(self, values: &TemplateValues) -> String {
        // A key cannot occur twice: the template's rules for a directory count there.
        let is_written = |pattern: &String| {
            let key = format!("\"{pattern}\"");
            self.text().contains(&key) || fill::PROJECT.contains(&key)
        };
        let programs: Vec<String> = values.programs.iter().filter(|one| !is_written(one)).cloned().collect();
        let temporary = values.temporary.iter().filter(|one| !is_written(one) && !programs.contains(one));
        let temporary = temporary.cloned().collect();
        fill::fill(self.text(), &TemplateValues { programs, temporary, ..values.clone() })
    }

    /// The guard.json for these values, as it reads where nobody is asked.
    pub fn filled_unasked(self, values: &TemplateValues) -> String {
        unasked(&self.filled(values))
    }

    /// A guard.json that extends it.
    pub fn extended(self) -> String {
        // Its title, and what it allows.
        let comment = self.text().lines().take(5);
        let comment: String = comment.map(|line| format!("{line}\n")).collect();
        let name = self.as_str();
        format!(
            "{comment}{{\n  \"version\": 1,\n  // `openclaw-guard policy show --effective` lists its rules. Yours come before \
             them.\n  \"extends\": \"{name}\"\n}}\n"
        )
    }

    /// What it is for.
    pub fn title(self) -> &'static str {
        self.head().next().and_then(|line| line.split_once(": ")).map_or("", |(_, title)| title)
    }

    /// What it allows.
    pub fn says(self) -> impl Iterator<Item = &'static str> {
        self.head().skip(1).take(3)
    }

    /// Whether it needs a workspace.
    pub fn is_for_a_workspace(self) -> bool {
        self.text().contains("${workspace}") || self.text().contains(PROJECT_LINE)
    }

    /// The text, with placeholders for the operator's values.
    fn text(self) -> &'static str {
        match self {
            Template::Coding => include_str!("../../data/templates/coding.jsonc"),
            Template::ClaudeCode => include_str!("../../data/templates/claude-code.jsonc"),
            Template::Codex => include_str!("../../data/templates/codex.jsonc"),
            Template::Aider => include_str!("../../data/templates/aider.jsonc"),
            Template::Openclaw => include_str!("../../data/templates/openclaw.jsonc"),
            Template::ReadOnly => include_str!("../../data/templates/read-only.jsonc"),
            Template::Scratch => include_str!("../../data/templates/scratch.jsonc"),
            Template::SystemBinaries => include_str!("../../data/templates/system-binaries.jsonc"),
        }
    }

    /// The text of its first comment.
    fn head(self) -> impl Iterator<Item = &'static str> {
        let comment = self.text().lines().map_while(|line| line.strip_prefix("//"));
        comment.map(str::trim).filter(|line| !line.is_empty())
    }
}

/// What a template says of questions, and what it says where nobody is asked.
const UNASKED: [(&str, &str); 4] = [
    ("\"on-miss\"", "\"off\""),
    ("\"???\"", "\"---\""),
    ("is asked for, wherever", "is denied, wherever"),
    ("  // asked for, as exec.ask says", ""),
];

/// A template's text for a policy that asks nobody. Only the examples of what is denied stay: what is allowed depends on
/// the machine.
fn unasked(text: &str) -> String {
    let is_kept = |line: &&str| {
        let line = line.trim_end_matches(',');
        let asks = line.ends_with("\"outcome\": \"ask\" }") || line.contains("\"persistence\": \"ask\"");
        !line.ends_with("\"outcome\": \"allow\" }") && !asks
    };
    let asked = "// asks   for everything else";
    let lines = text.lines().filter(is_kept).map(|line| match line.strip_prefix(asked) {
        Some(_) => "// asks   nobody: what is not allowed is denied\n".to_owned(),
        None => format!("{line}\n"),
    });
    UNASKED.iter().fold(lines.collect(), |text: String, (asked, unasked)| text.replace(asked, unasked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_speaks_of_questions_where_nobody_is_asked() {
        for template in Template::ALL {
            let text = unasked(template.text());
            let rest = text.replace("Nobody is asked", "").replace("nobody is asked", "");
            assert!(!rest.contains("asked for") && !rest.contains("on-miss"), "{text}");
            assert!(!rest.contains("\"outcome\": \"a") && rest.contains("\"outcome\": \"deny\""), "{text}");
            assert!(
                text.lines().any(|line| line == "// asks   nobody: what is not allowed is denied"),
                "{text}"
            );
        }
    }

    #[test]
    fn each_says_what_it_is_in_few_lines() {
        for template in Template::ALL {
            let name = template.as_str();
            assert_eq!(serde_json::to_value(template).unwrap(), name);
            let first = template.head().next().and_then(|line| line.split_once(": ")).unwrap();
            assert!(first.0 == name && !template.title().is_empty(), "{name}");
            let words: Vec<_> = template.says().map(|line| line.split_whitespace().next()).collect();
            assert_eq!(words, [Some("runs"), Some("writes"), Some("asks")], "{name}");
            assert!(template.text().lines().all(|line| line.len() <= 120), "{name}");
        }
    }
}
