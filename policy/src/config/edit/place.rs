//! Where things are in a text: its values, and the tokens between them.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, parse_to_ast};

use crate::config::reader::options;

/// A text, read.
pub(super) struct Tree<'t> {
    pub(super) text: &'t str,
    pub(super) root: Value<'t>,
    /// With the comments.
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> Tree<'t> {
    /// `None` where it is no JSON with comments.
    pub(super) fn read(text: &'t str) -> Option<Tree<'t>> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let read = parse_to_ast(text, &collect, &options()).ok()?;
        Some(Tree { text, root: read.value?, tokens: read.tokens? })
    }

    /// How far the keys lead.
    pub(super) fn walk<'k>(&self, keys: &'k [&'k str]) -> Walk<'_, 't, 'k> {
        let mut value = &self.root;
        for (depth, key) in keys.iter().enumerate() {
            let Value::Object(object) = value else { return Walk::Blocked };
            match property(object, key) {
                Some(property) => value = &property.value,
                None => return Walk::Until { object, missing: &keys[depth..] },
            }
        }
        Walk::Found(value)
    }

    /// The comma that follows what ends here, comments aside.
    pub(super) fn comma_after(&self, end: usize) -> Option<Range> {
        let next = self.after(end).find(|token| !is_comment(token))?;
        (next.token == Token::Comma).then_some(next.range)
    }

    /// The comma that stands before what starts here, comments aside.
    pub(super) fn comma_before(&self, start: usize) -> Option<Range> {
        let before = &self.tokens[..self.tokens.partition_point(|token| token.end() <= start)];
        let previous = before.iter().rev().find(|token| !is_comment(token))?;
        (previous.token == Token::Comma).then_some(previous.range)
    }

    /// Where the comments end that begin on the line on which `end` is.
    pub(super) fn after_comments(&self, end: usize) -> usize {
        let mut at = end;
        for token in self.after(end).take_while(|token| is_comment(token)) {
            if has_break(&self.text[at..token.start()]) {
                break;
            }
            at = token.end();
        }
        at
    }

    /// The end of the last comment between two places.
    pub(super) fn last_comment(&self, start: usize, end: usize) -> Option<usize> {
        let inside = self.after(start).take_while(|token| token.end() <= end);
        inside.filter(|token| is_comment(token)).last().map(Ranged::end)
    }

    /// Whether something opens on the line before this place.
    pub(super) fn is_inside_its_line(&self, at: usize) -> bool {
        let start = line_start(self.text, at);
        let on_line = self.after(start).take_while(|token| token.start() < at);
        on_line.into_iter().any(|token| matches!(token.token, Token::OpenBrace | Token::OpenBracket))
    }

    fn after(&self, end: usize) -> impl Iterator<Item = &TokenAndRange<'t>> {
        self.tokens[self.tokens.partition_point(|token| token.start() < end)..].iter()
    }
}

/// Where keys lead.
pub(super) enum Walk<'v, 't, 'k> {
    Found(&'v Value<'t>),
    /// The last object on the way, and the keys that are not there.
    Until {
        object: &'v Object<'t>,
        missing: &'k [&'k str],
    },
    /// There is something on the way that has no keys.
    Blocked,
}

pub(super) fn property<'v, 't>(object: &'v Object<'t>, key: &str) -> Option<&'v ObjectProp<'t>> {
    object.properties.iter().find(|property| property.name.as_str() == key)
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Whether a line ends in there.
pub(super) fn has_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// Where the line begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1)
}

/// The blanks before a place, if there is nothing else on its line.
pub(super) fn indent(text: &str, at: usize) -> Option<&str> {
    let before = &text[line_start(text, at)..at];
    before.chars().all(char::is_whitespace).then_some(before)
}
