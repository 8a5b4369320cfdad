//! Formats a proposal as a readable guard.json.

use std::fmt::Write as _;

use super::hosts::LearnedNetwork;
use super::zone::ZoneKind;

/// One line of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuleLine {
    pub(super) kind: ZoneKind,
    pub(super) pattern: String,
    pub(super) permission: String,
}

/// The contents of the text.
#[derive(Debug)]
pub(super) struct Parts<'p> {
    pub(super) agent: &'p str,
    pub(super) rules: &'p [RuleLine],
    pub(super) deny: &'p [String],
    /// The allowlist, each program with the kind of its zone.
    pub(super) programs: &'p [(ZoneKind, String)],
    /// `None` for the default carriers.
    pub(super) carriers: Option<&'p [String]>,
    /// `exec.roots`; empty if the rules determine them.
    pub(super) roots: &'p [String],
    /// `network`. What has no entries is left out.
    pub(super) network: &'p LearnedNetwork,
}

fn quoted(text: &str) -> String {
    // Serializing a string cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// Joins strings with commas and wraps them into readable lines.
fn filled(items: &[String], indent: &str) -> String {
    const WIDTH: usize = 100;
    let mut lines = vec![String::new()];
    for (i, item) in items.iter().enumerate() {
        let item = format!("{}{}", quoted(item), if i + 1 < items.len() { "," } else { "" });
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line = item,
            Some(line) if line.len() + item.len() < WIDTH => *line = format!("{line} {item}"),
            _ => lines.push(item),
        }
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// Writes the hosts that were seen. If there are names among them, only those names are allowed.
fn push_network(out: &mut String, network: &LearnedNetwork) {
    let lists = [
        ("    // other hosts that are not of the Internet\n", "connect", "allow", &network.addresses),
        ("", "web", "allowedDomains", &network.domains),
    ];
    let sections =
        lists.into_iter().filter(|(.., list)| !list.is_empty()).map(|(comment, section, key, list)| {
            let list = filled(list, "        ");
            format!("{comment}    \"{section}\": {{\n      \"{key}\": [\n{list}      ]\n    }}")
        });
    let sections: Vec<String> = sections.collect();
    if !sections.is_empty() {
        out.push_str(&format!(",\n  \"network\": {{\n{}\n  }}", sections.join(",\n")));
    }
}

/// The whole text.
pub(super) fn text(parts: &Parts<'_>) -> String {
    let mut out = String::from("{\n  \"version\": 1,\n  \"exec\": {\n    \"security\": \"allowlist\",\n");
    out.push_str("    // What no rule or entry covers is denied; \"on-miss\" would ask about it.\n    \"ask\": \"off\"");
    if let Some(carriers) = parts.carriers {
        out.push_str(",\n    // Shells and similar programs that were seen: the programs that they start are judged on their own.\n    \"carriers\": [");
        out.push_str(&carriers.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "));
        out.push_str("],\n    \"safeBins\": []");
    }
    if !parts.roots.is_empty() {
        out.push_str(",\n    // A rebuilt program is a new file, so the Landlock floor needs its directory.\n    \"roots\": [");
        out.push_str(&parts.roots.iter().map(|root| quoted(root)).collect::<Vec<_>>().join(", "));
        out.push(']');
    }
    out.push_str("\n  }");
    push_network(&mut out, parts.network);
    out.push_str(",\n  \"permissions\": {\n    \"filesystem\": {\n      \"rules\": {\n");
    let mut title = "";
    for (i, RuleLine { kind, pattern, permission }) in parts.rules.iter().enumerate() {
        if kind.title() != title {
            title = kind.title();
            let _ = writeln!(out, "        // {title}");
        }
        let comma = if i + 1 < parts.rules.len() { "," } else { "" };
        let _ = writeln!(out, "        {}: {}{comma}", quoted(pattern), quoted(permission));
    }
    out.push_str("      },\n      // secrets, before every rule\n      \"deny\": [\n");
    out.push_str(&filled(parts.deny, "        "));
    out.push_str("      ],\n      \"default\": \"---\"\n    }\n  },\n");
    let _ = writeln!(out, "  \"agents\": {{\n    {}: {{\n      \"allowlist\": [", quoted(parts.agent));
    let mut title = "";
    for (i, (kind, pattern)) in parts.programs.iter().enumerate() {
        if kind.title() != title {
            title = kind.title();
            let _ = writeln!(out, "        // {title}");
        }
        let comma = if i + 1 < parts.programs.len() { "," } else { "" };
        let _ = writeln!(out, "        {{ \"pattern\": {} }}{comma}", quoted(pattern));
    }
    out.push_str("      ]\n    }\n  }\n}\n");
    out
}
