//! Compares which node a name means with OpenClaw's own answers; see policy/tests/data/README.md.
#![allow(missing_docs)]

#[path = "../../policy/tests/common/mod.rs"]
mod common;

use guard_openclaw::node_match::{KnownNode, NodeMatchError, find};
use proptest::prelude::*;
use serde_json::{Value, json};

use common::data;

fn answer(nodes: &[KnownNode], query: &str) -> Value {
    match find(nodes, query) {
        Ok(id) => json!({ "nodeId": id }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

#[test]
fn queries() {
    let data = data("node-match.json");
    let nodes: Vec<KnownNode> = serde_json::from_value(data["nodes"].clone()).unwrap();
    let cases = data["cases"].as_array().unwrap();
    for case in cases {
        assert_eq!(answer(&nodes, case["query"].as_str().unwrap()), case["expect"], "{case}");
    }
    println!("node-match: {0} of {0}", cases.len());
}

/// What the recorded answers do not have: computed by the same function of OpenClaw 2026.9.6.
#[test]
fn clients_emoji_and_nothing() {
    let nodes = |nodes: Value| serde_json::from_value::<Vec<KnownNode>>(nodes).unwrap();
    let clients = |one: &str, other: &str| {
        nodes(json!([
            { "nodeId": "a", "displayName": "x", "clientId": one, "platform": "linux" },
            { "nodeId": "b", "displayName": "X", "clientId": other },
        ]))
    };
    assert_eq!(answer(&clients("openclaw-ios", "clawdbot-ios"), "x"), json!({ "nodeId": "a" }));
    assert_eq!(answer(&clients(" Moldbot-x", "OpenClaw-y"), "x"), json!({ "nodeId": "b" }));
    let ambiguous =
        "ambiguous node: x (matches: x [node=a, client=openclaw-1], X [node=b, client=openclaw-2])";
    assert_eq!(answer(&clients("openclaw-1", "openclaw-2"), "x"), json!({ "error": ambiguous }));
    let ambiguous = "ambiguous node: x (matches: x [node=a, client=openclaw-1], X [node=b])";
    assert_eq!(answer(&clients("openclaw-1", " "), "x"), json!({ "error": ambiguous }));
    assert_eq!(answer(&[], " "), json!({ "error": "node required" }));
    assert_eq!(answer(&[], "x"), json!({ "error": "unknown node: x" }));
    let emoji = nodes(json!([{ "nodeId": "id", "displayName": "1\u{fe0f}\u{20e3} Straße" }]));
    assert_eq!(answer(&emoji, "1 straße"), json!({ "nodeId": "id" }));
    let composed = nodes(json!([{ "nodeId": "id", "displayName": "Bu\u{308}ro" }]));
    assert_eq!(answer(&composed, "BÜRO"), json!({ "nodeId": "id" }));
    // An empty name is nobody's, however empty the query's letters are.
    let silent = nodes(json!([{ "nodeId": "id", "displayName": "!!" }]));
    assert_eq!(answer(&silent, "??"), json!({ "error": "unknown node: ?? (known: !!)" }));
}

fn node() -> impl Strategy<Value = KnownNode> {
    let name = "[abAB -]{0,3}";
    (name, proptest::option::of(name), proptest::option::of(name), proptest::option::of(any::<bool>()))
        .prop_map(|(node_id, display_name, remote_ip, connected)| KnownNode {
            node_id,
            display_name,
            remote_ip,
            connected,
            client_id: None,
        })
}

proptest! {
    /// A name that somebody chose never hides the node whose id is asked for.
    #[test]
    fn an_id_counts_before_every_name(
        mut nodes in proptest::collection::vec(node(), 0..5),
        id in "[ab]{1,3}",
        at in any::<prop::sample::Index>(),
    ) {
        nodes.retain(|node| node.node_id != id);
        let at = at.index(nodes.len() + 1);
        nodes.insert(at, KnownNode { node_id: id.clone(), ..KnownNode::default() });
        prop_assert_eq!(find(&nodes, &id), Ok(&id[..]));
    }

    #[test]
    fn the_order_of_the_nodes_does_not_matter(
        nodes in proptest::collection::vec(node(), 0..5),
        query in "[abAB -]{0,3}",
    ) {
        let reversed: Vec<_> = nodes.iter().rev().cloned().collect();
        match (find(&nodes, &query), find(&reversed, &query)) {
            (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
            (one, other) => prop_assert_eq!(one.is_ok(), other.is_ok()),
        }
        if let Err(NodeMatchError::Ambiguous { matches, .. }) = find(&nodes, &query) {
            prop_assert!(matches.len() > 1);
        }
    }
}
