//! YAML as its readers understand it: escapes are decoded, and each alias is replaced by the value that it stands for.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

use super::read_budget::{Beyond, ReadBudget};

/// The parser's error for lists that nest deeper than it reads. The parser finds such lists before it hands any of them over.
const TOO_DEEP: &str = "recursion limit exceeded";

/// How many bytes of a copied text count as one more value.
const BYTES_PER_VALUE: usize = 64;

/// The values of a text.
#[derive(Debug, PartialEq)]
pub struct YamlText {
    /// The value of each document.
    pub documents: Vec<Value>,
    /// Whether the parser has read it to its end.
    pub is_whole: bool,
}

/// Returns the values of a text. Reading ends at an error, and values that are still open there count as far as they were read.
///
/// # Errors
/// Values nest deeper than `most`, or there are more than `budget` allows. A value counts each time that it is referred
/// to.
pub fn documents(text: &str, budget: &ReadBudget, most: usize) -> Result<YamlText, Beyond> {
    let mut is_whole = true;
    let mut builder =
        YamlBuilder { budget, most, open: Vec::new(), anchored: HashMap::new(), found: Vec::new() };
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, _)) => builder.event(event)?,
            Err(error) if error.info() == TOO_DEEP => return Err(Beyond::Deep),
            Err(_) => {
                is_whole = false;
                break;
            }
        }
    }
    while !builder.open.is_empty() {
        builder.close()?;
    }
    Ok(YamlText { documents: builder.found, is_whole })
}

/// A list or a table whose end has not come.
struct OpenValue {
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Value>),
    /// With the key whose value comes next.
    Table(Map<String, Value>, Option<String>),
}

/// A value that aliases refer to.
struct AnchoredValue {
    value: Value,
    /// How many values a copy of it counts as.
    count: usize,
    /// How deep values in it nest.
    depth: usize,
}

struct YamlBuilder<'b> {
    budget: &'b ReadBudget,
    most: usize,
    open: Vec<OpenValue>,
    anchored: HashMap<usize, AnchoredValue>,
    found: Vec<Value>,
}

impl YamlBuilder<'_> {
    fn event(&mut self, event: Event<'_>) -> Result<(), Beyond> {
        match event {
            Event::Scalar(text, _, anchor, _) => {
                self.budget.take_values(1)?;
                self.add(Value::String(text.into_owned()), anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, OpenKind::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.begin(anchor, OpenKind::Table(Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => {
                // A value that contains itself is not known yet.
                let Some(anchored) = self.anchored.get(&anchor) else { return self.add(Value::Null, 0) };
                self.budget.take_values(anchored.count)?;
                if self.open.len() + anchored.depth > self.most {
                    return Err(Beyond::Deep);
                }
                let value = anchored.value.clone();
                self.add(value, 0)
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, kind: OpenKind) -> Result<(), Beyond> {
        self.budget.take_values(1)?;
        if self.open.len() >= self.most {
            return Err(Beyond::Deep);
        }
        self.open.push(OpenValue { anchor, kind });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Beyond> {
        let Some(OpenValue { anchor, kind }) = self.open.pop() else { return Ok(()) };
        let value = match kind {
            OpenKind::List(values) => Value::Array(values),
            OpenKind::Table(entries, _) => Value::Object(entries),
        };
        self.add(value, anchor)
    }

    /// Adds a value to the value around it. `anchor` is 0 if the value has no anchor.
    fn add(&mut self, value: Value, anchor: usize) -> Result<(), Beyond> {
        if anchor != 0 {
            let (count, depth) = extent(&value);
            self.budget.take_values(count)?;
            self.anchored.insert(anchor, AnchoredValue { value: value.clone(), count, depth });
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.found.push(value),
            Some(OpenKind::List(values)) => values.push(value),
            Some(OpenKind::Table(entries, key)) => match key.take() {
                Some(key) => drop(entries.insert(key, value)),
                // The key of a command is always a text.
                None => *key = Some(value.as_str().unwrap_or_default().to_owned()),
            },
        }
        Ok(())
    }
}

/// How many values a copy of a value counts as, and how deep they nest.
fn extent(value: &Value) -> (usize, usize) {
    let length = |text: &str| text.len() / BYTES_PER_VALUE;
    let all = |values: &mut dyn Iterator<Item = &Value>| {
        let (count, depth) =
            values.map(extent).fold((0, 0), |(count, depth), (more, inner)| (count + more, depth.max(inner)));
        (count + 1, depth + 1)
    };
    match value {
        Value::Array(values) => all(&mut values.iter()),
        Value::Object(entries) => {
            let (count, depth) = all(&mut entries.values());
            (count + entries.keys().map(|key| length(key)).sum::<usize>(), depth)
        }
        Value::String(text) => (1 + length(text), 0),
        _ => (1, 0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Vec<Value>, Beyond> {
        documents(text, &ReadBudget::default(), 64).map(|text| text.documents)
    }

    #[test]
    fn yaml_is_read_as_its_readers_do() {
        for (text, expected) in [
            ("a: &x ./b\nc: *x", json!({"a": "./b", "c": "./b"})),
            ("a: &x {b: [c]}\nd:\n- *x", json!({"a": {"b": ["c"]}, "d": [{"b": ["c"]}]})),
            ("\"\\x63ommand\": \".\\x2fa\"", json!({"command": "./a"})),
            ("? a\n: b", json!({"a": "b"})),
            ("&k a: b\n!!str c: !x d", json!({"a": "b", "c": "d"})),
            ("a: \"./b\\\n  /c\"", json!({"a": "./b/c"})),
            ("? [a]\n: b", json!({"": "b"})),
            ("a: &x [*x]", json!({"a": [null]})),
            ("a: b\nc: [d", json!({"a": "b", "c": ["d"]})),
        ] {
            assert_eq!(read(text), Ok(vec![expected]), "{text}");
        }
        assert_eq!(read("a: b\n---\nc"), Ok(vec![json!({"a": "b"}), json!("c")]));
        assert_eq!(read(""), Ok(vec![]));
    }

    /// Reads on a stack of a worker's size.
    #[test]
    fn yaml_of_any_size_is_read_or_not() {
        let read_all = || {
            for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", "")] {
                let text = format!("{}{}", open.repeat(100_000), close.repeat(100_000));
                assert_eq!(read(&text), Err(Beyond::Deep), "{open}");
            }
            let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
            for i in 1..60 {
                let before = i - 1;
                laughs += &format!("a{i}: &a{i} [{}]\n", vec![format!("*a{before}"); 8].join(", "));
            }
            assert_eq!(read(&laughs), Err(Beyond::Many));
            let long = "x".repeat(500_000);
            let texts = format!("- &a {long}\n{}", "- *a\n".repeat(50_000));
            assert_eq!(read(&texts), Err(Beyond::Many), "copies of one text");
            let keys = format!("- &a {{? {long} : x}}\n{}", "- *a\n".repeat(50_000));
            assert_eq!(read(&keys), Err(Beyond::Many), "copies of one key");
            let mut deep = "a0: &a0 x\n".to_owned();
            for i in 1..100 {
                deep += &format!("a{i}: &a{i} [*a{}]\n", i - 1);
            }
            assert_eq!(read(&deep), Err(Beyond::Deep));
        };
        std::thread::Builder::new().stack_size(256 << 10).spawn(read_all).unwrap().join().unwrap();
    }
}
