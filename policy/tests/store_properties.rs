//! Properties of every store.

use crate::common::ids;
use guard_policy::store::{Added, NewEntry, Store};
use guard_policy::{Ask, Security};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e300..1e300f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// A value that is right more often than not.
fn or_anything(right: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![5 => right, 1 => anything()].boxed()
}

fn words(words: &'static [&'static str]) -> BoxedStrategy<Value> {
    or_anything(prop::sample::select(words).prop_map(Value::from))
}

const AGENTS: [&str; 6] = ["main", "default", "*", "a", "my agent", ""];
const PATTERNS: [&str; 8] =
    ["/usr/bin/rg", " /usr/bin/rg ", "/usr/bin/RG", "rg", "*", "=command:0123", "~/bin/**", " "];
const ARGUMENTS: [&str; 5] = ["", "^x$", "^-n( |$)", "sha256:cwd-argv:v1:00", "sha256:argv:00"];

/// Keys that the guard does not know, with anything in them.
fn unknown() -> impl Strategy<Value = Vec<(String, Value)>> {
    prop::collection::vec(("x-[a-c]{1,2}", anything()), 0..3)
}

fn object(known: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let known: Vec<_> = known
        .into_iter()
        .map(|(key, value)| prop::option::of(value).prop_map(move |value| Some((key.to_owned(), value?))))
        .collect();
    (known, unknown())
        .prop_map(|(known, unknown)| Value::Object(known.into_iter().flatten().chain(unknown).collect()))
}

fn scalars() -> Vec<(&'static str, BoxedStrategy<Value>)> {
    vec![
        ("security", words(&Security::NAMES)),
        ("ask", words(&Ask::NAMES)),
        ("askFallback", words(&Security::NAMES)),
        ("autoAllowSkills", or_anything(any::<bool>().prop_map(Value::from))),
    ]
}

fn entry() -> BoxedStrategy<Value> {
    let whole = object(vec![
        ("pattern", words(&PATTERNS)),
        ("argPattern", words(&ARGUMENTS)),
        ("source", words(&["allow-always"])),
        ("id", words(&["one", "two", ""])),
        ("commandText", anything().boxed()),
        ("lastUsedAt", or_anything(any::<u32>().prop_map(Value::from))),
        ("lastUsedCommand", anything().boxed()),
    ]);
    prop_oneof![4 => whole, 1 => words(&PATTERNS)].boxed()
}

fn list() -> BoxedStrategy<Value> {
    or_anything(prop::collection::vec(entry(), 0..5).prop_map(Value::from))
}

fn document() -> impl Strategy<Value = Value> {
    let agent = object([scalars(), vec![("allowlist", list()), ("mcpTools", list())]].concat());
    let agents = prop::collection::vec((prop::sample::select(&AGENTS), agent), 0..4).prop_map(|agents| {
        agents.into_iter().map(|(name, agent)| (name.to_owned(), agent)).collect::<Map<_, _>>()
    });
    let socket = object(vec![("path", anything().boxed()), ("token", anything().boxed())]);
    object(vec![
        ("socket", or_anything(socket)),
        ("defaults", object(scalars()).boxed()),
        ("agents", agents.prop_map(Value::Object).boxed()),
    ])
    .prop_map(|mut document| {
        document["version"] = json!(1);
        document
    })
}

/// An entry to add.
#[derive(Clone, Debug)]
struct Step {
    agent: &'static str,
    pattern: &'static str,
    arguments: &'static str,
    always: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let agent = prop::sample::select(&AGENTS);
    let pattern = prop::sample::select(&PATTERNS);
    let arguments = prop::sample::select(&ARGUMENTS);
    (agent, pattern, arguments, any::<bool>()).prop_map(|(agent, pattern, arguments, always)| Step {
        agent,
        pattern,
        arguments,
        always,
    })
}

fn apply(store: &mut Store, step: &Step, id: &mut dyn FnMut() -> String) -> Option<Added> {
    let entry = NewEntry::new(step.pattern)?.with_arg_pattern(step.arguments);
    let entry = if step.always { entry.from_allow_always() } else { entry };
    Some(store.add(step.agent, entry, 1_770_000_000_000, id))
}

fn parse(document: &Value) -> Store {
    Store::parse("f", &document.to_string(), &mut ids()).unwrap_or_else(|problem| panic!("{problem}")).store
}

/// Reading a written store gives the same store, needs no new id, and leaves nothing out.
fn survives(store: &Store) -> Result<(), TestCaseError> {
    let text = store.to_text();
    let again = Store::parse("f", &text, &mut || panic!("an id was missing")).expect("a store");
    prop_assert_eq!(&again.store, store);
    prop_assert_eq!(again.notes, Vec::<String>::new());
    prop_assert_eq!(again.store.to_text(), text);
    Ok(())
}

/// How many entries there are.
fn entries(store: &Store) -> usize {
    let written: Value = serde_json::from_str(&store.to_text()).expect("JSON");
    let lists =
        written["agents"].as_object().into_iter().flatten().map(|(_, agent)| agent["allowlist"].as_array());
    lists.flatten().map(Vec::len).sum()
}

/// The first value of its kind where OpenClaw looks: the agent, `*`, the defaults.
fn naive<'d>(document: &'d Value, agent: &str, key: &str, names: &[&str]) -> Option<&'d str> {
    [&document["agents"][agent], &document["agents"]["*"], &document["defaults"]]
        .into_iter()
        .find_map(|section| section[key].as_str().filter(|name| names.contains(name)))
}

/// The unknown keys of a section.
fn strangers(section: &Value) -> Vec<(&String, &Value)> {
    section.as_object().into_iter().flatten().filter(|(key, _)| key.starts_with("x-")).collect()
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,60}|[{}\\[\\]\",:a-z0-9 \n]{0,40}", cut in 0usize..4000, document in document()) {
        let _ = Store::parse("f", &text, &mut ids());
        let whole = document.to_string();
        let end = (0..=cut.min(whole.len())).rev().find(|i| whole.is_char_boundary(*i)).unwrap_or(0);
        let problem = Store::parse("f", &whole[..end], &mut ids());
        if end < whole.len() {
            let problem = problem.expect_err("half a document is none");
            prop_assert!(problem.line >= 1 && problem.column >= 1);
        }
    }

    #[test]
    fn any_json_is_a_store_or_reported(value in anything(), version in anything()) {
        let _ = Store::parse("f", &value.to_string(), &mut ids());
        let _ = Store::parse("f", &json!({"version": version, "agents": value}).to_string(), &mut ids());
        let _ = Store::parse("f", &json!({"version": 1, "agents": {"main": value}, "socket": version}).to_string(), &mut ids());
    }

    #[test]
    fn a_written_store_is_read_back(document in document(), steps in prop::collection::vec(step(), 0..6)) {
        let mut store = parse(&document);
        survives(&store)?;
        let mut id = ids();
        for step in &steps {
            apply(&mut store, step, &mut id);
            survives(&store)?;
        }
    }

    #[test]
    fn unknown_keys_survive(document in document(), steps in prop::collection::vec(step(), 0..4)) {
        let mut store = parse(&document);
        for step in &steps {
            apply(&mut store, step, &mut ids());
        }
        let written: Value = serde_json::from_str(&store.to_text()).expect("JSON");
        prop_assert_eq!(strangers(&written), strangers(&document));
        prop_assert_eq!(strangers(&written["defaults"]), strangers(&document["defaults"]));
        if document["socket"].is_object() {
            prop_assert_eq!(strangers(&written["socket"]), strangers(&document["socket"]));
        }
        let no_agents = Map::new();
        let agents = document["agents"].as_object().unwrap_or(&no_agents);
        for (name, agent) in agents {
            let is_folded = ["main", "default"].contains(&name.as_str()) && agents.contains_key("default");
            let section = &written["agents"][if name == "default" { "main" } else { name }];
            for (key, value) in strangers(agent) {
                let expected = if name == "default" { agents.get("main").and_then(|main| main.get(key)).unwrap_or(value) } else { value };
                prop_assert_eq!(&section[key], expected);
            }
            if !is_folded && agent["mcpTools"] != Value::Null {
                prop_assert_eq!(&section["mcpTools"], &agent["mcpTools"]);
            }
            let entries = agent["allowlist"].as_array().into_iter().flatten();
            let with_pattern = entries.filter(|e| e["pattern"].as_str().is_some_and(|p| !p.trim().is_empty()));
            for entry in with_pattern.filter(|_| !is_folded) {
                let found = section["allowlist"].as_array().expect("a list").iter().any(|written| {
                    written["pattern"] == entry["pattern"] && strangers(written) == strangers(entry)
                        && written.get("commandText").is_none()
                });
                prop_assert!(found, "{entry} in {section}");
            }
        }
    }

    #[test]
    fn fields_are_found_where_openclaw_finds_them(mut document in document()) {
        if let Some(agents) = document["agents"].as_object_mut() {
            agents.shift_remove("default");
            agents.shift_remove("");
        }
        let store = parse(&document);
        for agent in ["main", "a", "*", "unknown"] {
            let security = store.security(agent).map(|s| s.value.as_str());
            prop_assert_eq!(security, naive(&document, agent, "security", &Security::NAMES));
            let ask = store.ask(agent).map(|s| s.value.as_str());
            prop_assert_eq!(ask, naive(&document, agent, "ask", &Ask::NAMES));
            let fallback = store.ask_fallback(agent).map(|s| s.value.as_str());
            prop_assert_eq!(fallback, naive(&document, agent, "askFallback", &Security::NAMES));
        }
    }

    #[test]
    fn adding_loses_nothing_and_adds_one(document in document(), steps in prop::collection::vec(step(), 1..5)) {
        let mut store = parse(&document);
        let mut id = ids();
        for step in &steps {
            let before = store.clone();
            let added = apply(&mut store, step, &mut id);
            let grown = entries(&store) - entries(&before);
            match added {
                Some(Added::New) => {
                    prop_assert_eq!(grown, 1);
                    let once = store.clone();
                    prop_assert_ne!(apply(&mut store, step, &mut id), Some(Added::New));
                    prop_assert_eq!(&store, &once);
                }
                Some(Added::Known) => prop_assert_eq!(&store, &before),
                Some(Added::Marked) | None => prop_assert_eq!(grown, 0),
            }
        }
    }

    #[test]
    fn the_token_is_shown_nowhere(mut document in document(), token in "[A-Za-z0-9_-]{32}") {
        document["socket"] = json!({"path": "/s", "token": token});
        let store = parse(&document);
        prop_assert!(store.to_text().contains(&token));
        let debug = format!("{store:?}");
        prop_assert!(!store.redacted().contains(&token));
        prop_assert!(!debug.contains(&token));
    }
}
