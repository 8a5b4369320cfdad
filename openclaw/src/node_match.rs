//! Which node a name means: the rules of OpenClaw 2026.9.6 (src/shared/node-match.ts).
//!
//! Anybody who can pair a node chooses its display name, so an exact id counts before an address, and an address before
//! a name.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

use crate::ecmascript::{folded, trim};

/// The shortest beginning of an id that selects a node, in UTF-16 code units.
const SHORTEST_PREFIX: usize = 6;

/// A paired node, as `node.list` reports it; its other keys do not matter here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownNode {
    /// The id by which requests name the node.
    pub node_id: String,
    /// The name for humans.
    pub display_name: Option<String>,
    /// The address that it connected from.
    pub remote_ip: Option<String>,
    /// Whether it is connected now.
    pub connected: Option<bool>,
    /// The kind of its client. The ids of OpenClaw's own clients begin with `openclaw-`.
    pub client_id: Option<String>,
}

/// Why a query selects no node.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeMatchError {
    /// The query is empty.
    #[error("node required")]
    Empty,
    /// No node matches.
    #[error("unknown node: {query}{}", known(.labels))]
    Unknown {
        /// The query.
        query: String,
        /// All nodes, each by its best-known name.
        labels: Vec<String>,
    },
    /// Several nodes match equally well.
    #[error("ambiguous node: {query} (matches: {})", .matches.join(", "))]
    Ambiguous {
        /// The query.
        query: String,
        /// The nodes that match, each with its id.
        matches: Vec<String>,
    },
}

fn known(labels: &[String]) -> String {
    if labels.is_empty() { String::new() } else { format!(" (known: {})", labels.join(", ")) }
}

/// Returns the id of the node that `query` means: an id, an address, a name, or the beginning of an id.
///
/// # Errors
/// If no node matches, or several do.
pub fn find<'n>(nodes: &'n [KnownNode], query: &str) -> Result<&'n str, NodeMatchError> {
    let query = trim(query);
    if query.is_empty() {
        return Err(NodeMatchError::Empty);
    }
    let name = name_key(query);
    let is_prefix =
        |node: &KnownNode| query.encode_utf16().count() >= SHORTEST_PREFIX && node.node_id.starts_with(query);
    // The kinds of match, from the strongest to the weakest. An empty name matches nothing.
    let kinds: [&dyn Fn(&KnownNode) -> bool; 4] = [
        &|node| node.node_id == query,
        &|node| node.remote_ip.as_deref() == Some(query),
        &|node| !name.is_empty() && node.display_name.as_deref().map(name_key).as_ref() == Some(&name),
        &is_prefix,
    ];
    let strongest = kinds
        .iter()
        .map(|matches| nodes.iter().filter(|node| matches(node)).collect::<Vec<_>>())
        .find(|matching| !matching.is_empty());
    let Some(strongest) = strongest else {
        let labels =
            nodes.iter().map(|node| label(node).to_owned()).filter(|label| !label.is_empty()).collect();
        return Err(NodeMatchError::Unknown { query: query.to_owned(), labels });
    };
    let connected: Vec<_> = strongest.iter().copied().filter(|node| node.connected == Some(true)).collect();
    let matching = if connected.is_empty() { strongest } else { connected };
    match matching[..] {
        [node] => Ok(&node.node_id),
        _ => successor(&matching).map(|node| &node.node_id[..]).ok_or_else(|| NodeMatchError::Ambiguous {
            query: query.to_owned(),
            matches: matching.iter().map(|node| described(node)).collect(),
        }),
    }
}

/// Returns OpenClaw's node if all other nodes that match are nodes of its predecessors. They are then the same
/// machine, paired again after an upgrade.
fn successor<'n>(matching: &[&'n KnownNode]) -> Option<&'n KnownNode> {
    let kind = |node: &KnownNode| node.client_id.as_deref().map(folded).unwrap_or_default();
    let (current, rest): (Vec<_>, Vec<_>) =
        matching.iter().copied().partition(|node| kind(node).starts_with("openclaw-"));
    let is_predecessor = |node: &&KnownNode| {
        let kind = kind(node);
        kind.starts_with("clawdbot-") || kind.starts_with("moldbot-")
    };
    match current[..] {
        [node] if !rest.is_empty() && rest.iter().all(is_predecessor) => Some(node),
        _ => None,
    }
}

/// Returns the best-known name of a node.
fn label(node: &KnownNode) -> &str {
    let names = [node.display_name.as_deref(), node.remote_ip.as_deref()];
    names.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or(&node.node_id)
}

fn described(node: &KnownNode) -> String {
    let client = node.client_id.as_deref().map(trim).filter(|client| !client.is_empty());
    let client = client.map(|client| format!(", client={client}")).unwrap_or_default();
    format!("{} [node={}{client}]", label(node), node.node_id)
}

/// Returns the form of a name that is compared: composed, in lower case, with its letters, marks and digits,
/// and `-` for anything between them.
fn name_key(name: &str) -> String {
    static LONE_MARKS: LazyLock<Regex> = LazyLock::new(|| expression(r"(^|[^\p{L}\p{M}\p{N}])\p{M}+"));
    static BETWEEN: LazyLock<Regex> = LazyLock::new(|| expression(r"[^\p{L}\p{M}\p{N}]+"));
    let composed: String = name.nfc().collect();
    // The keycap and the selector of an emoji's picture are marks, but belong to no letter.
    let plain = folded(&composed).replace(['\u{20e3}', '\u{fe0f}'], "");
    let plain = LONE_MARKS.replace_all(&plain, "$1");
    BETWEEN.replace_all(&plain, "-").trim_matches('-').to_owned()
}

/// Compiles a constant.
fn expression(text: &str) -> Regex {
    Regex::new(text).expect("the expressions are constants, and a test uses both")
}

#[cfg(test)]
mod tests {
    use super::name_key;

    #[test]
    fn names_are_compared_by_letters_marks_and_digits() {
        for (name, key) in [
            (" Build  Box! ", "build-box"),
            ("--a--", "a"),
            ("Mac Mini (Bu\u{308}ro)", "mac-mini-büro"),
            // A mark without a letter, a keycap, and a mark that composes with no letter.
            ("\u{301}a -\u{301}b", "a-b"),
            ("1\u{fe0f}\u{20e3}", "1"),
            ("x\u{20d7}y", "x\u{20d7}y"),
            ("हिन्दी", "हिन्दी"),
            ("!?", ""),
        ] {
            assert_eq!(name_key(name), key, "{name:?}");
        }
    }
}
