//! Fills in a template with the operator's values.
//!
//! `${workspace}` in a string is replaced by the workspace, or stays if the policy is for every project. A string that is
//! `${programs}`, `${temporary}`, `${above}`, `${quiet}` or `${secrets}`, with its value (`: "r-x"`), is repeated for each
//! pattern; `${secrets but ~/.a ~/.b}` omits some. The line `"${project}",` is replaced by the rules that all project
//! templates share. Comments stay as they are.

use crate::compile::builtin::system::{quiet, secrets};
use crate::text::shown_json;

/// The rules for work on a project, with comments.
pub(super) const PROJECT: &str = include_str!("../../data/templates/project.part");
/// The line that these rules replace.
pub(super) const PROJECT_LINE: &str = "\"${project}\",";
/// The maximum line width.
const WIDTH: usize = 120;

/// The values to fill in, all of them patterns of guard.json.
#[derive(Clone, Debug)]
pub struct TemplateValues {
    /// The workspace, without a trailing slash; or `${workspace}`.
    pub workspace: String,
    /// Directories with programs.
    pub programs: Vec<String>,
    /// Directories for temporary files.
    pub temporary: Vec<String>,
    /// The parent directories of the workspace, without their contents; or `${above}`.
    pub above: Vec<String>,
}

/// The text of a guard.json.
pub(super) fn fill(template: &str, values: &TemplateValues) -> String {
    let mut text = String::new();
    for line in template.lines() {
        let content = line.trim_start();
        let indent = &line[..line.len() - content.len()];
        if content == PROJECT_LINE {
            PROJECT.lines().for_each(|part| add(&mut text, indent, part, values));
        } else {
            add(&mut text, indent, content, values);
        }
    }
    text
}

/// Appends a line.
fn add(text: &mut String, indent: &str, content: &str, values: &TemplateValues) {
    if content.starts_with("//") {
        text.push_str(indent);
        text.push_str(content);
    } else if !content.is_empty() {
        wrap(text, indent, items(content).into_iter().flat_map(|item| filled(item, values)));
    }
    text.push('\n');
}

/// Splits at the commas between strings, so that each part is one item.
fn items(content: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut rest = content;
    while let Some(at) = rest.find("\", \"") {
        items.push(&rest[..at + 2]);
        rest = &rest[at + 3..];
    }
    items.push(rest);
    items
}

/// The item, or its copies for each pattern.
fn filled(item: &str, values: &TemplateValues) -> Vec<String> {
    let Some((name, rest)) = item.strip_prefix("\"${").and_then(|item| item.split_once("}\"")) else {
        return vec![item.replace("${workspace}", inner(&quoted(&values.workspace)))];
    };
    let (name, but) = name.split_once(" but ").unwrap_or((name, ""));
    let patterns: Vec<&str> = match name {
        "programs" => values.programs.iter().map(String::as_str).collect(),
        "temporary" => values.temporary.iter().map(String::as_str).collect(),
        "above" => values.above.iter().map(String::as_str).collect(),
        "secrets" => secrets().filter(|secret| !but.split(' ').any(|left| left == *secret)).collect(),
        "quiet" => quiet().collect(),
        // Unknown placeholders vanish here; the tests of the templates find them.
        _ => Vec::new(),
    };
    let (belongs, comma) = rest.strip_suffix(',').map_or((rest, ""), |belongs| (belongs, ","));
    let last = patterns.len().saturating_sub(1);
    let one = |(i, pattern): (usize, &&str)| {
        format!("{}{belongs}{}", quoted(pattern), if i < last { "," } else { comma })
    };
    patterns.iter().enumerate().map(one).collect()
}

/// A JSON string in which nothing acts on a terminal.
fn quoted(text: &str) -> String {
    shown_json(&serde_json::Value::from(text).to_string()).into_owned()
}

fn inner(quoted: &str) -> &str {
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(quoted)
}

/// Wraps items into lines.
fn wrap(text: &mut String, indent: &str, items: impl Iterator<Item = String>) {
    let mut width = 0;
    for item in items {
        let length = item.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            text.push('\n');
            width = 0;
        }
        if width == 0 {
            text.push_str(indent);
            width = indent.len();
        } else {
            text.push(' ');
            width += 1;
        }
        text.push_str(&item);
        width += length;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Document, Template};

    fn values(workspace: &str) -> TemplateValues {
        let some = |list: &[&str]| list.iter().map(|pattern| (*pattern).to_owned()).collect();
        TemplateValues {
            workspace: workspace.to_owned(),
            programs: some(&["/usr/**", "/opt/**"]),
            temporary: some(&["/tmp/**"]),
            above: some(&["~"]),
        }
    }

    #[test]
    fn a_list_is_repeated_with_what_belongs_to_it() {
        let template = "  // ${programs}\n  \"${programs}\": \"r-x\", \"${temporary}\": \"rw-\"\n  \"${workspace}/a\"  // here\n";
        let filled = fill(template, &values("~/a\"b"));
        let expected = "  // ${programs}\n  \"/usr/**\": \"r-x\", \"/opt/**\": \"r-x\", \"/tmp/**\": \"rw-\"\n  \"~/a\\\"b/a\"  // here\n";
        assert_eq!(filled, expected);
        let none = TemplateValues { above: Vec::new(), ..values("~/w") };
        assert_eq!(fill("\"${above}\": \"r--\",\n1\n", &none), "\n1\n");
    }

    #[test]
    fn only_known_secrets_can_be_left_out_of_a_template() {
        let all = fill("\"${secrets}\"", &values("~"));
        assert_eq!(all.matches('"').count(), 2 * secrets().count());
        let fewer = fill("\"${secrets but ~/.claude ~/.claude.json}\"", &values("~"));
        assert_eq!(fewer.matches('"').count() + 4, all.matches('"').count());
        for template in Template::ALL {
            let text = template.text();
            for (_, but) in
                text.match_indices("${secrets but ").map(|(at, found)| text[at..].split_at(found.len()))
            {
                let but = but.split_once('}').expect("an end").0;
                for name in but.split(' ') {
                    assert!(secrets().any(|secret| secret == name), "{name}");
                }
            }
        }
    }

    #[test]
    fn lines_stay_short() {
        for template in Template::ALL {
            let filled = fill(template.text(), &values("~/work"));
            assert!(!filled.contains("${"), "{template:?}");
            assert!(
                filled.lines().all(|line| line.chars().count() <= WIDTH && line.trim_end() == line),
                "{template:?}"
            );
        }
    }

    proptest! {
        /// Whatever the workspace's name, every template gives a policy that means the same for it.
        #[test]
        fn no_name_says_anything_else(name in "[^/*?\0]{1,40}") {
            prop_assume!(name != "." && name != "..");
            for template in Template::ALL {
                let workspace = format!("/w/{name}");
                let text = fill(template.text(), &values(&workspace));
                prop_assert!(shown_json(&text) == text.as_str());
                let document = Document::parse("guard.json", &text);
                prop_assert!(document.is_ok(), "{:?}: {:?}", template, document);
                let json: serde_json::Value = serde_json::from_str(&document.unwrap().to_json()).unwrap();
                let rules = json["permissions"]["filesystem"]["rules"].as_object().unwrap();
                if template.is_for_a_workspace() {
                    prop_assert!(rules.contains_key(&format!("{workspace}/**")), "{:?}: {:?}", template, rules);
                }
            }
        }
    }
}
