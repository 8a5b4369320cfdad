//! Edits one object or list of the syntax tree; the rest of the tree is printed as it was read. The tree's own `append`
//! and `remove` are not used, because they tidy up the blanks and comments around the change.

use std::iter::successors;

use jsonc_parser::cst::{CstContainerNode, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::layout::{New, Style};
use crate::config::reader::options;

/// Sets the value at a path of keys and creates missing objects on the way. `None` if the value is set already.
pub(super) fn put(text: &str, keys: &[&str], value: impl Into<Value>) -> Option<String> {
    let root = read(text)?;
    let value = value.into();
    match walk(&root, keys)? {
        KeyWalk::Found(old) if old.to_serde_value().as_ref() == Some(&value) => None,
        KeyWalk::Found(old) => Some(with(&old, value.to_string())),
        KeyWalk::Until(object, missing) => insert_below(&Style::detect(&root, text), object, missing, value),
    }
}

/// Adds a value to the list at a path of keys and creates a missing list. `None` if the list already holds the value.
pub(super) fn push(text: &str, keys: &[&str], value: &Value) -> Option<String> {
    let root = read(text)?;
    let style = Style::detect(&root, text);
    match walk(&root, keys)? {
        KeyWalk::Found(list) => {
            let list = list.as_array()?;
            let is_there =
                list.elements().iter().any(|element| element.to_serde_value().as_ref() == Some(value));
            (!is_there).then(|| insert(&style, &list.into(), &New::Element(value)))
        }
        KeyWalk::Until(object, missing) => insert_below(&style, object, missing, [value.clone()].into()),
    }
}

/// Removes every occurrence of a string from the list at a path of keys. `None` if there is no occurrence.
pub(super) fn remove(text: &str, keys: &[&str], value: &str) -> Option<String> {
    successors(remove_first(text, keys, value), |text| remove_first(text, keys, value)).last()
}

/// Removes the first occurrence and one comma. Also removes the line if it holds nothing else, otherwise the blanks
/// before the occurrence.
fn remove_first(text: &str, keys: &[&str], value: &str) -> Option<String> {
    let root = read(text)?;
    let KeyWalk::Found(list) = walk(&root, keys)? else { return None };
    let gone = list.as_array()?.elements().into_iter().find(|element| is(element, value))?;
    let children = list.children();
    let mut texts = texts(&children);
    let (start, mut end) = (gone.child_index(), gone.child_index());
    match gone.trailing_comma().map(|comma| comma.child_index()) {
        Some(comma) if children[start..comma].iter().any(CstNode::is_comment) => {
            texts[start].clear();
            texts[comma].clear();
            return Some(with(&list, texts.concat()));
        }
        Some(comma) => end = comma,
        // Keep the text between the comma and the element: it may be a comment, which may need its line end.
        None => {
            if let Some(comma) = children[..start].iter().rposition(CstNode::is_comma) {
                texts[comma].clear();
            }
        }
    }
    let from = start - usize::from(children[start - 1].is_whitespace());
    let to = end + usize::from(children[end + 1].is_whitespace());
    texts.drain(match (children[from - 1].is_newline(), children[to + 1].is_newline()) {
        (true, true) => from - 1..=to,
        // Something follows on the line: remove the blanks before that.
        (true, false) => start..=to,
        (false, false) if from == start => start..=to,
        (false, _) => from..=end,
    });
    Some(with(&list, texts.concat()))
}

fn insert_below(style: &Style, object: CstObject, missing: &[&str], value: Value) -> Option<String> {
    let (first, below) = missing.split_first()?;
    let wrap = |inner: Value, key: &&str| Value::Object([((*key).to_owned(), inner)].into_iter().collect());
    let value = below.iter().rev().fold(value, wrap);
    Some(insert(style, &object.into(), &New::Member(first, &value)))
}

/// Returns the whole text with a new item at the end of an object or a list.
fn insert(style: &Style, into: &CstContainerNode, new: &New<'_>) -> String {
    let texts = match into.children_exclude_trivia_and_tokens().last() {
        Some(last) => insert_after(style, &into.children(), last, new),
        None => insert_first(style, into, new),
    };
    with(&into.clone().into(), texts.concat())
}

fn insert_after(style: &Style, children: &[CstNode], last: &CstNode, new: &New<'_>) -> Vec<String> {
    let mut texts = texts(children);
    let (after, trailing) = match last.trailing_comma() {
        Some(comma) => (comma.child_index(), ","),
        None => {
            texts[last.child_index()].push(',');
            (last.child_index(), "")
        }
    };
    let before = line_before(last);
    let has_lines = children[..last.child_index()].iter().any(CstNode::is_newline);
    if !is_blank(&before) && !has_lines {
        texts[after] += &format!(" {}{trailing}", new.compact());
        return texts;
    }
    // Several items may share a line. A new one gets its own, so that many never make one long line.
    let before = &before[..before.len() - before.trim_start().len()];
    // Comments on this line belong to the item that was last.
    let on_line = |node: &&CstNode| node.is_whitespace() || node.is_comment();
    let end = after + 1 + children[after + 1..].iter().take_while(on_line).count();
    let comment = (after + 1..end).rfind(|i| children[*i].is_comment());
    let line = new.lines(style, before);
    texts[comment.unwrap_or(after)] += &format!("{}{before}{line}{trailing}", style.line_end);
    texts
}

fn insert_first(style: &Style, into: &CstContainerNode, new: &New<'_>) -> Vec<String> {
    let children = into.children();
    let mut texts = texts(&children);
    let close = texts.len() - 1;
    // The last comment, or the opening bracket.
    let after = children.iter().rposition(CstNode::is_comment).unwrap_or(0);
    let has_lines = texts[1..close].iter().any(|text| has_break(text));
    let begins_its_line = || into.parent().is_some_and(|member| is_blank(&line_before(&member.into())));
    if has_lines || new.wants_a_line() && begins_its_line() {
        let before = line_before(&into.clone().into());
        let own = &before[..before.len() - before.trim_start().len()];
        let indent = format!("{own}{}", style.step);
        let line = format!("{}{indent}{}", style.line_end, new.lines(style, &indent));
        if texts[after + 1..close].iter().any(|text| has_break(text)) {
            texts[after] += &line;
        } else {
            texts.splice(after + 1..close, [format!("{line}{}{own}", style.line_end)]);
        }
    } else {
        let end = if into.is_array() { "" } else { " " };
        let start = if after == 0 { end } else { " " };
        texts.splice(after + 1..close, [format!("{start}{}{end}", new.compact())]);
    }
    texts
}

/// Parses JSON with comments; `None` if that fails. Nodes are valid only as long as the returned root lives.
fn read(text: &str) -> Option<CstRootNode> {
    CstRootNode::parse(text, &options()).ok()
}

/// The result of following a path of keys.
enum KeyWalk<'k> {
    Found(CstNode),
    /// The last object that exists, and the missing keys.
    Until(CstObject, &'k [&'k str]),
}

/// Follows a path of keys. `None` if a value on the way is not an object.
fn walk<'k>(root: &CstRootNode, keys: &'k [&'k str]) -> Option<KeyWalk<'k>> {
    let mut value = root.value()?;
    for (depth, key) in keys.iter().enumerate() {
        let object = value.as_object()?;
        match object.get(key) {
            Some(member) => value = member.value()?,
            None => return Some(KeyWalk::Until(object, &keys[depth..])),
        }
    }
    Some(KeyWalk::Found(value))
}

fn is(node: &CstNode, value: &str) -> bool {
    node.as_string_lit().and_then(|literal| literal.decoded_value().ok()).as_deref() == Some(value)
}

/// Returns the whole text with one node replaced.
fn with(node: &CstNode, mut text: String) -> String {
    let mut node = node.clone();
    while let Some(parent) = node.parent() {
        let mut texts = texts(&parent.children());
        texts[node.child_index()] = text;
        text = texts.concat();
        node = parent.into();
    }
    text
}

/// The text before a node on its line.
fn line_before(node: &CstNode) -> String {
    let mut before = String::new();
    for node in [node.clone()].into_iter().chain(node.ancestors().map(CstNode::from)) {
        for sibling in node.previous_siblings() {
            before.insert_str(0, &sibling.to_string());
            if let Some(end) = before.rfind(['\n', '\r']) {
                return before.split_off(end + 1);
            }
        }
    }
    before
}

fn texts(nodes: &[CstNode]) -> Vec<String> {
    nodes.iter().map(CstNode::to_string).collect()
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Whether the text contains a line break.
fn has_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
