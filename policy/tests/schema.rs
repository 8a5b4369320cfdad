//! Tests that the reader accepts what the schema accepts, as far as a schema can express the rules.
use guard_policy::{Document, schema};
use proptest::prelude::*;
use regex::Regex;
use serde_json::{Map, Value, json};

/// A validator for the keywords that the schema has. Another keyword fails the test.
struct Schema(Value);

const ANNOTATIONS: [&str; 6] = ["$schema", "$defs", "title", "description", "format", "default"];

impl Schema {
    fn accepts(&self, value: &Value) -> bool {
        self.holds(&self.0, value)
    }

    fn target(&self, reference: &Value) -> &Value {
        let name = reference.as_str().and_then(|r| r.strip_prefix("#/$defs/")).expect("a local reference");
        &self.0["$defs"][name]
    }

    fn holds(&self, schema: &Value, value: &Value) -> bool {
        let keywords = match schema {
            Value::Bool(all) => return *all,
            other => other.as_object().expect("a schema"),
        };
        keywords.iter().all(|(keyword, says)| self.keyword(keywords, keyword, says, value))
    }

    fn keyword(&self, all: &Map<String, Value>, keyword: &str, says: &Value, value: &Value) -> bool {
        match keyword {
            name if ANNOTATIONS.contains(&name) => true,
            "$ref" => self.holds(self.target(says), value),
            "type" => match says.as_str().expect("one type") {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "number" => value.is_number(),
                "integer" => value.is_u64() || value.is_i64(),
                other => panic!("type {other}"),
            },
            "const" => value == says,
            "maximum" => value.as_f64().is_none_or(|n| n <= says.as_f64().expect("a number")),
            "minItems" => {
                value.as_array().is_none_or(|list| list.len() as u64 >= says.as_u64().expect("a number"))
            }
            "enum" => says.as_array().expect("a list").contains(value),
            "minimum" => value.as_f64().is_none_or(|n| n >= says.as_f64().expect("a number")),
            "pattern" => {
                let regex = Regex::new(says.as_str().expect("a pattern")).expect("a regular expression");
                value.as_str().is_none_or(|text| regex.is_match(text))
            }
            "oneOf" => says.as_array().expect("a list").iter().filter(|s| self.holds(s, value)).count() == 1,
            "items" => value.as_array().is_none_or(|list| list.iter().all(|item| self.holds(says, item))),
            "uniqueItems" => true,
            "required" => value.as_object().is_none_or(|object| {
                says.as_array()
                    .expect("a list")
                    .iter()
                    .all(|name| object.contains_key(name.as_str().unwrap()))
            }),
            "properties" => value.as_object().is_none_or(|object| {
                object.iter().all(|(name, value)| says.get(name).is_none_or(|s| self.holds(s, value)))
            }),
            "additionalProperties" => value.as_object().is_none_or(|object| {
                let others =
                    object.iter().filter(|(n, _)| all.get("properties").is_none_or(|p| p.get(n).is_none()));
                others.into_iter().all(|(_, value)| self.holds(says, value))
            }),
            "propertyNames" => value
                .as_object()
                .is_none_or(|object| object.keys().all(|name| self.holds(says, &name.as_str().into()))),
            other => panic!("the schema has a keyword that this test does not know: {other}"),
        }
    }

    /// Every place that a document can have, as the keys that lead there.
    fn step_lists(&self, schema: &Value, at: &[Step], all: &mut Vec<Vec<Step>>) {
        all.push(at.to_vec());
        let mut go = |schema: &Value, step: Step| self.step_lists(schema, &[at, &[step]].concat(), all);
        if let Some(reference) = schema.get("$ref") {
            all.pop();
            return self.step_lists(self.target(reference), at, all);
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            go(property, Step::Key(name.clone()));
        }
        if let Some(others) = schema.get("additionalProperties") {
            for name in ["x", "/usr/**", "~/a", "a/b", "**", "main"] {
                go(others, Step::Key(name.to_owned()));
            }
        }
        if let Some(items) = schema.get("items") {
            go(items, Step::Item);
        }
        for choice in schema["oneOf"].as_array().into_iter().flatten() {
            self.step_lists(choice, at, all);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Item,
}

/// Puts a value at a place of a document.
fn put(document: &mut Value, steps: &[Step], value: Value) {
    match steps {
        [] => *document = value,
        [Step::Key(name), rest @ ..] => {
            if !document.is_object() {
                *document = json!({});
            }
            put(&mut document[name.as_str()], rest, value);
        }
        [Step::Item, rest @ ..] => {
            if !document.is_array() {
                *document = json!([]);
            }
            let list = document.as_array_mut().expect("a list");
            list.push(Value::Null);
            put(list.last_mut().expect("an item"), rest, value);
        }
    }
}

fn step_lists() -> (Schema, Vec<Vec<Step>>) {
    let schema = Schema(schema());
    let mut step_lists = Vec::new();
    schema.step_lists(&schema.0, &[], &mut step_lists);
    (schema, step_lists)
}

/// Values of every kind, each valid in some places and invalid in others.
fn values() -> Vec<Value> {
    let words = [
        "",
        " ",
        "x",
        "a/b",
        "/",
        "/usr",
        "/usr/**",
        "~",
        "~/a",
        "~u",
        "**",
        "*",
        "r--",
        "rwx",
        "??x",
        "rw",
        "deny",
        "full",
        "allowlist",
        "ask",
        "auto",
        "off",
        "on-miss",
        "always",
        "host",
        "strict",
        "-n",
        "--long",
        "--a=b",
        "-",
        "--",
        "read",
        "write",
        "exec",
        "allow",
        "cli",
        "gateway",
        "targets",
        "ws://127.0.0.1:18789",
        "wss://[fd00::1]:1/x",
        "ws://u@h",
        "@npm",
        "@github",
        "@nope",
    ];
    let scalars = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(1025),
        json!(-1),
        json!(1.5),
        json!([]),
        json!({}),
    ];
    let lists = words.map(|word| json!([word]));
    let objects = [
        json!({"pattern": "/usr/bin/git"}),
        json!({"pattern": 1}),
        json!({"name": "x", "resolvedPath": "/x"}),
        json!({"name": "x"}),
        json!([{"pattern": "/x"}]),
        json!([{"name": "x", "resolvedPath": "/x"}]),
        json!({"other": 1}),
        json!({"channel": "slack", "to": "U1", "threadId": 1.5}),
        json!({"channel": "slack", "to": ""}),
        json!([{"channel": "slack", "to": "U1"}]),
        json!([{"channel": "slack"}]),
        json!({"url": "wss://h", "fingerprint": "00".repeat(32)}),
        json!({"shell": false, "git": true}),
        json!({"shell": 0}),
        json!({"shel": false}),
    ];
    scalars.into_iter().chain(words.map(Value::from)).chain(lists).chain(objects).collect()
}

fn agree(schema: &Schema, document: &Value) -> Result<bool, String> {
    let text = document.to_string();
    let (by_schema, by_reader) = (schema.accepts(document), Document::parse("guard.json", &text));
    if by_schema == by_reader.is_ok() {
        Ok(by_schema)
    } else {
        Err(format!("{text}\nthe schema accepts it: {by_schema}; the reader: {by_reader:?}"))
    }
}

#[test]
fn reader_and_schema_agree_on_every_value_at_every_key() {
    let (schema, step_lists) = step_lists();
    let (mut good, mut all) = (0, 0);
    for steps in &step_lists {
        for value in values() {
            let mut document = json!({"version": 1});
            put(&mut document, steps, value);
            good +=
                usize::from(agree(&schema, &document).unwrap_or_else(|difference| panic!("{difference}")));
            all += 1;
        }
    }
    assert!(good > 300 && all - good > 3000, "{good} of {all} are accepted");
}

proptest! {
    #[test]
    fn reader_and_schema_agree_on_whole_documents(
        parts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..6)
    ) {
        let ((schema, step_lists), values) = (step_lists(), values());
        let mut document = json!({"version": 1});
        for (steps, value) in parts {
            put(&mut document, steps.get(&step_lists).as_slice(), value.get(&values).clone());
        }
        prop_assert!(agree(&schema, &document).is_ok(), "{}", agree(&schema, &document).unwrap_err());
    }
}

#[test]
fn some_mistakes_are_found_by_the_reader_alone() {
    let schema = Schema(schema());
    for text in [
        r#"{"version": 1, "version": 1}"#,
        r#"{"version": 1, "permissions": {"filesystem": {"deny": ["/a/../b"]}}}"#,
        r#"{"version": 1, "permissions": {"filesystem": {"rules": {"/a//b": "r--"}}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"url": "ws://10.0.0.1"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"url": "wss://127.1"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"url": "wss://h:70000"}}}"#,
        r#"{"version": 1, "approvals": {"gateway": {"tokenFile": "/a/../b"}}}"#,
    ] {
        let document: Value = serde_json::from_str(text).unwrap();
        assert!(schema.accepts(&document) && Document::parse("guard.json", text).is_err(), "{text}");
    }
}
