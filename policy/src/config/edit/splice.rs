//! One change of a text: bytes go in or out at one or two places, and all others stay.

use jsonc_parser::ast;
use jsonc_parser::common::{Range, Ranged};
use serde_json::Value;

use super::layout::Style;
use super::place::{Tree, Walk, has_break, indent, line_start, property};
use crate::config::reader::plain;

/// Sets what the keys lead to; objects on the way that are not there are made.
pub(super) fn put(text: &str, keys: &[&str], value: &Value) -> String {
    let Some(tree) = Tree::read(text) else { return text.to_owned() };
    match tree.walk(keys) {
        Walk::Found(old) if plain(old) == *value => text.to_owned(),
        Walk::Found(old) => replaced(text, old.range(), &Style::compact(value)),
        Walk::Until { object, missing } => insert_below(&tree, object, missing, value.clone()),
        Walk::Blocked => text.to_owned(),
    }
}

/// Adds to the list to which the keys lead what is not in it, and makes the list where it is not there.
pub(super) fn push(text: &str, keys: &[&str], value: &Value) -> String {
    let Some(tree) = Tree::read(text) else { return text.to_owned() };
    match tree.walk(keys) {
        Walk::Found(ast::Value::Array(list)) => {
            if list.elements.iter().any(|element| plain(element) == *value) {
                return text.to_owned();
            }
            let last = list.elements.last().map(Ranged::range);
            insert(&tree, &Container { range: list.range, last }, &New::Element(value))
        }
        Walk::Until { object, missing } => insert_below(&tree, object, missing, [value.clone()].into()),
        Walk::Found(_) | Walk::Blocked => text.to_owned(),
    }
}

/// Takes a value out of a list.
pub(super) fn remove_element(text: &str, keys: &[&str], value: &Value) -> String {
    remove_elements(text, keys, &|element| element == value)
}

/// Takes what is such out of a list.
pub(super) fn remove_elements(text: &str, keys: &[&str], is_such: &dyn Fn(&Value) -> bool) -> String {
    let mut text = text.to_owned();
    // Each removal moves what follows.
    while let Some(shorter) = remove_first(&text, keys, is_such) {
        text = shorter;
    }
    text
}

fn remove_first(text: &str, keys: &[&str], is_such: &dyn Fn(&Value) -> bool) -> Option<String> {
    let tree = Tree::read(text)?;
    let Walk::Found(ast::Value::Array(list)) = tree.walk(keys) else { return None };
    let element = list.elements.iter().find(|element| is_such(&plain(element)))?;
    Some(without(&tree, element.range()))
}

/// Takes a member out of an object.
pub(super) fn remove_key(text: &str, keys: &[&str], key: &str) -> String {
    let removed = || {
        let tree = Tree::read(text)?;
        let Walk::Found(ast::Value::Object(object)) = tree.walk(keys) else { return None };
        Some(without(&tree, property(object, key)?.range()))
    };
    removed().unwrap_or_else(|| text.to_owned())
}

/// An object or a list into which something goes.
struct Container {
    /// With its brackets.
    range: Range,
    /// What stands last in it.
    last: Option<Range>,
}

/// What goes in.
enum New<'v> {
    Element(&'v Value),
    Member(&'v str, &'v Value),
}

impl New<'_> {
    fn compact(&self) -> String {
        match self {
            New::Element(value) => Style::compact(value),
            New::Member(key, value) => Style::member(key, &Style::compact(value)),
        }
    }

    fn lines(&self, style: &Style, indent: &str) -> String {
        match self {
            New::Element(value) => Style::compact(value),
            New::Member(key, value) => Style::member(key, &style.lines(value, indent)),
        }
    }

    /// Whether it gets a line of its own where nothing says otherwise.
    fn wants_a_line(&self) -> bool {
        match self {
            New::Element(value) => value.is_object(),
            New::Member(..) => true,
        }
    }
}

fn insert_below(tree: &Tree<'_>, object: &ast::Object<'_>, missing: &[&str], value: Value) -> String {
    let Some((first, below)) = missing.split_first() else { return tree.text.to_owned() };
    let wrap = |inner: Value, key: &&str| Value::Object([((*key).to_owned(), inner)].into_iter().collect());
    let value = below.iter().rev().fold(value, wrap);
    let last = object.properties.last().map(Ranged::range);
    insert(tree, &Container { range: object.range, last }, &New::Member(first, &value))
}

fn insert(tree: &Tree<'_>, into: &Container, new: &New<'_>) -> String {
    match into.last {
        Some(last) => insert_after(tree, last, new),
        None => insert_first(tree, into.range, new),
    }
}

fn insert_after(tree: &Tree<'_>, last: Range, new: &New<'_>) -> String {
    let (text, style) = (tree.text, Style::of(tree));
    let comma = tree.comma_after(last.end);
    let (between, trailing) = match comma {
        Some(_) => ("", ","),
        None => (",", ""),
    };
    let after = comma.map_or(last.end, |comma| comma.end);
    let Some(indent) = indent(text, last.start) else {
        let inserted = format!("{between} {}{trailing}", new.compact());
        return replaced(text, Range::from_byte_index(after), &inserted);
    };
    // Comments on the line are the old last one's, and the comma goes before them.
    let at = tree.after_comments(after);
    let line = format!("{}{indent}{}{trailing}", style.line_end, new.lines(&style, indent));
    [&text[..after], between, &text[after..at], &line, &text[at..]].concat()
}

fn insert_first(tree: &Tree<'_>, range: Range, new: &New<'_>) -> String {
    let (text, style) = (tree.text, Style::of(tree));
    let (open, close) = (range.start + 1, range.end - 1);
    let at = tree.last_comment(open, close).unwrap_or(open);
    let has_lines = has_break(&text[open..close]);
    let is_list = text[range.start..].starts_with('[');
    if !has_lines && (!new.wants_a_line() || tree.is_inside_its_line(range.start)) {
        let blank = if is_list && at == open { "" } else { " " };
        let end = if is_list { "" } else { " " };
        return replaced(text, Range::new(at, close), &format!("{blank}{}{end}", new.compact()));
    }
    let line = line_start(text, range.start);
    let blanks = text[line..].find(|c: char| !c.is_whitespace()).unwrap_or(0);
    let own = &text[line..line + blanks];
    let indent = format!("{own}{}", style.step);
    let inserted = format!("{}{indent}{}", style.line_end, new.lines(&style, &indent));
    let rest = &text[at..close];
    if has_break(rest) {
        return replaced(text, Range::from_byte_index(at), &inserted);
    }
    replaced(text, Range::new(at, close), &format!("{inserted}{}{own}", style.line_end))
}

/// The text without what stands there in a list or an object, and without one comma.
fn without(tree: &Tree<'_>, gone: Range) -> String {
    let text = tree.text;
    let (start, end) = match tree.comma_after(gone.end) {
        Some(comma) if text[gone.end..comma.start].chars().all(char::is_whitespace) => {
            (gone.start, comma.end)
        }
        // A comment stands between.
        Some(comma) => {
            return [&text[..gone.start], &text[gone.end..comma.start], &text[comma.end..]].concat();
        }
        None => match tree.comma_before(gone.start) {
            // What stands between the comma and what goes: perhaps a comment, which may need the end of its line.
            Some(comma) => {
                let (from, to) = blanks_around(text, gone.start, gone.end);
                let between = if from >= comma.end { &text[comma.end..from] } else { "" };
                return [&text[..comma.start], between, &text[to..]].concat();
            }
            None => (gone.start, gone.end),
        },
    };
    let (from, to) = blanks_around(text, start, end);
    [&text[..from], &text[to..]].concat()
}

/// The same range with its line, if nothing else stands on it; else with the blanks before it.
fn blanks_around(text: &str, start: usize, end: usize) -> (usize, usize) {
    let before = text[..start].trim_end_matches([' ', '\t']).len();
    let after = end + (text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len());
    let is_first = before == 0 || text[..before].ends_with(['\n', '\r']);
    let is_last = text[after..].starts_with(['\n', '\r']);
    match (is_first, is_last) {
        (true, true) => {
            let line = text[..before].strip_suffix('\n').unwrap_or(&text[..before]);
            let line = line.strip_suffix('\r').unwrap_or(line);
            (line.len(), after)
        }
        // Where something follows on the line, its blanks go.
        (true, false) => (start, after),
        (false, false) if before == start => (start, after),
        (false, _) => (before, end),
    }
}

fn replaced(text: &str, range: Range, by: &str) -> String {
    [&text[..range.start], by, &text[range.end..]].concat()
}
