//! Properties of every edit of every text.

use std::ops::Range;

use guard_policy::{Change, Document, Draft, Permission, Scope};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The blanks and comments between the tokens of a text, in a random order.
struct Trivia {
    picks: Vec<u8>,
    next: usize,
    line_end: &'static str,
}

impl Trivia {
    fn between(&mut self) -> String {
        let (pick, n, end) = (self.picks[self.next % self.picks.len()], self.next, self.line_end);
        self.next += 1;
        match pick % 14 {
            0..=3 => String::new(),
            4 | 5 => " ".to_owned(),
            6 => format!("{end}  "),
            7 => format!("{end}{end}\t"),
            8 => format!(" // c{n} ] }} \"{end}"),
            9 => format!("{end}    // c{n},{end}    "),
            10 => format!("/* c{n} [ {{ */"),
            11 => format!(" /* c{n}{end} */ "),
            12 => format!("/* c{n} *//**/ // d{n}{end}"),
            _ => end.to_owned(),
        }
    }

    fn has_trailing_comma(&self) -> bool {
        self.picks[(self.next * 7) % self.picks.len()].is_multiple_of(3)
    }

    /// A string or a number; some strings have escapes that nobody needs.
    fn literal(&self, value: &Value) -> String {
        let has_escapes = self.picks[(self.next * 5) % self.picks.len()].is_multiple_of(4);
        if has_escapes { value.to_string().replace('/', "\\/") } else { value.to_string() }
    }

    fn print(&mut self, value: &Value) -> String {
        let (open, close, parts): (_, _, Vec<String>) = match value {
            Value::Object(members) => {
                let member = |(key, value): (&String, &Value)| {
                    let (before, after) = (self.between(), self.between());
                    format!("{}{before}:{after}{}", self.literal(&key.as_str().into()), self.print(value))
                };
                ("{", "}", members.iter().map(member).collect())
            }
            Value::Array(elements) => {
                ("[", "]", elements.iter().map(|element| self.print(element)).collect())
            }
            plain => return self.literal(plain),
        };
        let mut text = open.to_owned();
        let count = parts.len();
        for (i, part) in parts.into_iter().enumerate() {
            let (before, after) = (self.between(), self.between());
            text += &format!("{before}{part}{after}");
            if i + 1 < count || self.has_trailing_comma() {
                text.push(',');
            }
        }
        text + &self.between() + close
    }
}

fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        "[/]a/[ab]{1,2}",
        "~/[ab]/\\*\\*",
        "/a/[\"\\\\ü]b",
        Just("**/.env".to_owned()),
        Just("/a/b".to_owned())
    ]
}

fn permission() -> impl Strategy<Value = Permission> {
    "[r?-][w?-][x?-]".prop_map(|text| Permission::parse(&text).unwrap())
}

fn agent() -> impl Strategy<Value = String> {
    prop_oneof![Just("main".to_owned()), Just("*".to_owned()), Just("a b".to_owned()), Just("é".to_owned())]
}

fn filesystem() -> impl Strategy<Value = Value> {
    let rules = prop::option::of(prop::collection::btree_map(pattern(), permission(), 0..4));
    let deny = prop::option::of(prop::collection::vec(pattern(), 0..4));
    (rules, deny, any::<bool>()).prop_map(|(rules, deny, has_default)| {
        let mut filesystem = Map::new();
        filesystem.extend(deny.map(|deny| ("deny".to_owned(), json!(deny))));
        filesystem.extend(rules.map(|rules| ("rules".to_owned(), json!(rules))));
        filesystem.extend(has_default.then(|| ("default".to_owned(), "r--".into())));
        json!({ "filesystem": filesystem })
    })
}

fn section() -> impl Strategy<Value = Value> {
    let entries = prop::collection::vec((pattern(), prop::option::of("[a-b]{0,2}")), 0..3);
    (prop::option::of(entries), prop::option::of(filesystem())).prop_map(|(entries, permissions)| {
        let entry = |(pattern, arguments): (String, Option<String>)| match arguments {
            Some(arguments) => json!({ "pattern": pattern, "argPattern": arguments, "id": "1" }),
            None => json!({ "pattern": pattern }),
        };
        let mut section = Map::new();
        section.extend(permissions.map(|permissions| ("permissions".to_owned(), permissions)));
        section.extend(
            entries.map(|entries| ("allowlist".to_owned(), entries.into_iter().map(entry).collect())),
        );
        section.into()
    })
}

/// A valid document, with comments and blanks everywhere.
fn text() -> impl Strategy<Value = String> {
    let document = (prop::option::of(filesystem()), prop::collection::btree_map(agent(), section(), 0..3));
    let trivia = (prop::collection::vec(any::<u8>(), 1..60), any::<bool>());
    (document, trivia).prop_map(|((permissions, agents), (picks, is_dos))| {
        let mut top = Map::new();
        top.extend(permissions.map(|permissions| ("permissions".to_owned(), permissions)));
        top.insert("version".to_owned(), 1.into());
        top.insert("exec".to_owned(), json!({ "roots": ["/usr"], "timeoutMs": 5 }));
        if !agents.is_empty() {
            top.insert("agents".to_owned(), json!(agents));
        }
        let line_end = if is_dos { "\r\n" } else { "\n" };
        let mut trivia = Trivia { picks, next: 0, line_end };
        let (before, after) = (trivia.between(), trivia.between());
        before + &trivia.print(&Value::Object(top)) + &after
    })
}

#[derive(Clone, Debug)]
enum Edit {
    Rule(Scope, String, Permission),
    Deny(Scope, String),
    NoDeny(Scope, String),
    Entry(String, String, Option<String>),
}

fn edit() -> impl Strategy<Value = Edit> {
    let scope = || prop_oneof![Just(Scope::Everyone), agent().prop_map(Scope::Agent)];
    let arguments = || prop::option::of("[a-b\"]{0,2}");
    prop_oneof![
        (scope(), pattern(), permission()).prop_map(|(at, pattern, to)| Edit::Rule(at, pattern, to)),
        (scope(), pattern()).prop_map(|(at, pattern)| Edit::Deny(at, pattern)),
        (scope(), pattern()).prop_map(|(at, pattern)| Edit::NoDeny(at, pattern)),
        (agent(), pattern(), arguments()).prop_map(|(agent, p, with)| Edit::Entry(agent, p, with)),
    ]
}

impl Edit {
    fn apply(&self, draft: &mut Draft) -> Change {
        match self {
            Edit::Rule(at, pattern, to) => draft.set_rule(at, pattern, *to).unwrap(),
            Edit::Deny(at, pattern) => draft.add_deny(at, pattern).unwrap(),
            Edit::NoDeny(at, pattern) => draft.remove_deny(at, pattern),
            Edit::Entry(agent, pattern, with) => draft.add_entry(agent, pattern, with.as_deref()),
        }
    }

    /// The document that the edit must produce.
    fn model(&self, document: &mut Value) {
        match self {
            Edit::Rule(at, pattern, to) => {
                filesystem_of(document, at)["rules"][pattern] = to.to_string().into();
            }
            Edit::Deny(at, pattern) => {
                let deny = &mut filesystem_of(document, at)["deny"];
                let mut list = deny.as_array().cloned().unwrap_or_default();
                if !list.contains(&pattern.clone().into()) {
                    list.push(pattern.clone().into());
                }
                *deny = list.into();
            }
            Edit::NoDeny(at, pattern) => {
                if let Some(Value::Array(list)) = filesystem_of(document, at).get_mut("deny") {
                    list.retain(|element| element != pattern);
                }
            }
            Edit::Entry(agent, pattern, with) => {
                let mut entry = json!({ "pattern": pattern });
                if let Some(with) = with {
                    entry["argPattern"] = with.clone().into();
                }
                let list = &mut document["agents"][agent]["allowlist"];
                let mut entries = list.as_array().cloned().unwrap_or_default();
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
                *list = entries.into();
            }
        }
    }
}

fn filesystem_of<'d>(document: &'d mut Value, at: &Scope) -> &'d mut Value {
    let section = match at {
        Scope::Everyone => document,
        Scope::Agent(name) => &mut document["agents"][name],
    };
    &mut section["permissions"]["filesystem"]
}

/// Without what says nothing, and with that `null` for nothing which the model's look leaves behind.
fn significant(value: Value) -> Option<Value> {
    match value {
        Value::Object(members) => {
            let members: Map<_, _> =
                members.into_iter().filter_map(|(key, value)| Some((key, significant(value)?))).collect();
            (!members.is_empty()).then_some(members.into())
        }
        Value::Array(list) => (!list.is_empty()).then_some(list.into()),
        Value::Null => None,
        plain => Some(plain),
    }
}

fn document(text: &str) -> Value {
    serde_json::from_str(&Document::parse("guard.json", text).unwrap().to_json()).unwrap()
}

/// The tokens of a text with their places, and whether each is a comment.
fn tokens(text: &str) -> Vec<(Range<usize>, bool)> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    let tokens = parse_to_ast(text, &collect, &ParseOptions::default()).unwrap().tokens.unwrap();
    let is_comment = |token: &Token<'_>| matches!(token, Token::CommentLine(_) | Token::CommentBlock(_));
    tokens.iter().map(|token| (token.start()..token.end(), is_comment(&token.token))).collect()
}

fn comments(text: &str) -> Vec<String> {
    let comments = tokens(text).into_iter().filter(|(_, is_comment)| *is_comment);
    comments.map(|(range, _)| text[range].to_owned()).collect()
}

/// The position where two texts begin to differ, and both texts without their common start and end.
fn difference<'t>(one: &'t str, other: &'t str) -> (usize, &'t str, &'t str) {
    let same = |(a, b): &(char, char)| a == b;
    let start: usize = one.chars().zip(other.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (one, other) = (&one[start..], &other[start..]);
    let end: usize =
        one.chars().rev().zip(other.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    (start, &one[..one.len() - end], &other[..other.len() - end])
}

/// Whether a part of a text is of blanks and comments only.
fn is_trivia(text: &str, start: usize, part: &str) -> bool {
    let is_inside = |range: &Range<usize>| range.start < start + part.len() && start < range.end;
    part.is_empty() || tokens(text).iter().all(|(range, is_comment)| *is_comment || !is_inside(range))
}

/// Whether a part of a text is the blanks between two brackets, or between the last comment there and the second.
fn is_blank_of_an_empty_one(text: &str, start: usize, part: &str) -> bool {
    let tokens = tokens(text);
    let mut tokens = tokens.iter().filter(|(_, is_comment)| !is_comment);
    let opens = tokens.by_ref().take_while(|(range, _)| range.end <= start).last();
    let closes = text[start + part.len()..].trim_start().starts_with([']', '}']);
    let opens = opens.is_some_and(|(range, _)| ["[", "{"].contains(&&text[range.clone()]));
    part.trim().is_empty() && opens && closes
}

/// Whether one list contains the other as a subsequence.
fn has_all_of(one: &str, other: &str) -> bool {
    let mut left = one.chars();
    other.chars().all(|c| left.any(|next| next == c))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn an_edit_is_complete_or_not_made(text in text(), edit in edit()) {
        let mut draft = Draft::parse("guard.json", &text).unwrap();
        let change = edit.apply(&mut draft);
        prop_assert_eq!(change == Change::Made, draft.text() != text);
        let mut expected = document(&text);
        edit.model(&mut expected);
        prop_assert_eq!(significant(document(draft.text())), significant(expected), "{}", draft.text());

        prop_assert_eq!(comments(&text), comments(draft.text()), "{}", draft.text());

        let once = draft.clone();
        prop_assert_eq!(edit.apply(&mut draft), Change::Needless);
        prop_assert_eq!(draft, once);
    }

    /// Line ends of a text without line ends in strings stay all of one kind.
    #[test]
    fn line_ends_stay_of_one_kind(text in text(), edits in prop::collection::vec(edit(), 1..4)) {
        let mut draft = Draft::parse("guard.json", &text).unwrap();
        edits.iter().for_each(|edit| { edit.apply(&mut draft); });
        if text.contains("\r\n") {
            prop_assert_eq!(draft.text().matches('\n').count(), draft.text().matches("\r\n").count());
        } else {
            prop_assert!(!draft.text().contains('\r'));
        }
    }

    /// An edit changes one place of the text, and keeps every byte around it.
    #[test]
    fn an_edit_leaves_the_rest_byte_for_byte(text in text(), edit in edit()) {
        let mut draft = Draft::parse("guard.json", &text).unwrap();
        edit.apply(&mut draft);
        let (start, old, new) = difference(&text, draft.text());
        let mut before = document(&text);
        match &edit {
            Edit::Rule(at, pattern, _) if filesystem_of(&mut before, at)["rules"][pattern].is_string() => {
                for permission in [old, new] {
                    prop_assert!(permission.len() <= 3, "{}", permission);
                    prop_assert!(permission.chars().all(|c| "rwx?-".contains(c)), "{}", permission);
                }
            }
            Edit::NoDeny(at, pattern) => {
                let deny = &filesystem_of(&mut before, at)["deny"];
                let mentions = deny.as_array().into_iter().flatten().filter(|other| *other == pattern);
                if mentions.count() == 1 {
                    prop_assert!(is_trivia(draft.text(), start, new), "{:?} is {:?}", old, new);
                    prop_assert!(has_all_of(old, new), "{:?} is {:?}", old, new);
                }
            }
            _ => {
                prop_assert!(is_trivia(&text, start, old), "{:?} is {:?}", old, new);
                let is_unchanged = has_all_of(new, old) || is_blank_of_an_empty_one(&text, start, old);
                prop_assert!(is_unchanged, "{:?} is {:?}", old, new);
            }
        }
    }

    /// An edit that only adds loses nothing of the text.
    #[test]
    fn additions_keep_every_byte(text in text(), edits in prop::collection::vec(edit(), 1..4)) {
        let adds = |edit: &&Edit| matches!(edit, Edit::Deny(..) | Edit::Entry(..));
        let mut draft = Draft::parse("guard.json", &text).unwrap();
        edits.iter().filter(adds).for_each(|edit| { edit.apply(&mut draft); });
        let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        prop_assert!(has_all_of(draft.text(), &dense), "{}", draft.text());
    }
}
