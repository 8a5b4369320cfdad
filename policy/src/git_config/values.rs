//! The values of keys that run nothing.

use super::parse::Entry;
use super::url;

/// What the meaning of a key's value depends on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around<'a> {
    /// [`super::module_depth`], if the work tree may be set.
    pub(crate) depth: Option<usize>,
    /// The names and addresses of this machine, in lower case.
    pub(crate) this_host: &'a [Vec<u8>],
}

/// The maximum length of an accepted value.
const MAX_VALUE: usize = 4096;

/// What a key may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Text without control characters, which git only prints or stores.
    Text,
    /// True or false, also as 1 and 0, or one of these words.
    Bool(&'static [&'static str]),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Digits, with a unit.
    Number,
    /// A name such as a branch's: letters, digits and `. _ / # + = @ -`, and no dash at the start.
    Name,
    /// A remote's name as git writes it, if the remote has a URL; or `.`, the repository itself.
    Remote,
    /// A ref from `refs/`.
    Ref,
    /// What is fetched to where.
    Refspec,
    /// The URL of another host.
    Url,
    /// The work tree of a submodule below the one around it.
    Worktree,
}

impl Values {
    /// Why this value is refused; `None` if it is accepted.
    pub(super) fn objection(self, entry: &Entry, around: Around<'_>) -> Option<&'static str> {
        let Some(value) = entry.value.as_deref() else {
            // A key without a value means true.
            return (!matches!(self, Values::Bool(_))).then_some("it has no value");
        };
        let is_text = value.len() <= MAX_VALUE && !value.iter().any(u8::is_ascii_control);
        let is_good = match self {
            _ if !is_text => return Some("its value is too long, or has control characters"),
            Values::Text => true,
            Values::Bool(words) => {
                is_word(value, &["true", "false", "yes", "no", "on", "off", "1", "0"])
                    || is_word(value, words)
            }
            Values::OneOf(words) => is_word(value, words),
            Values::Number => is_number(value),
            Values::Name | Values::Remote => value == b"." && self == Values::Remote || is_name(value),
            Values::Ref => value.starts_with(b"refs/") && is_name(value),
            Values::Refspec => is_refspec(value),
            Values::Url => return url::objection(value, around.this_host),
            Values::Worktree => around.depth.is_some_and(|depth| is_below(value, depth)),
        };
        (!is_good).then_some(match self {
            Values::Worktree => "git would work on another directory",
            _ => "this value is not known to run nothing",
        })
    }
}

/// Whether a value is one of these words, in any case.
pub(super) fn is_word(value: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

fn is_number(value: &[u8]) -> bool {
    let digits = value.strip_suffix(b"k").or(value.strip_suffix(b"m")).or(value.strip_suffix(b"g"));
    let digits = digits.unwrap_or(value);
    !digits.is_empty() && digits.len() <= 12 && digits.iter().all(u8::is_ascii_digit)
}

pub(super) fn is_name(value: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"._/#+=@-".contains(byte);
    !value.is_empty()
        && value.iter().all(is_plain)
        && !value.starts_with(b"-")
        && value.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}

fn is_refspec(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"+").or(value.strip_prefix(b"^")).unwrap_or(value);
    let mut sides = value.split(|byte| *byte == b':');
    let is_side = |side: &[u8]| {
        let is_plain =
            |byte: &u8| *byte == b'*' || is_name(std::slice::from_ref(byte)) || b"./-".contains(byte);
        side == b"HEAD" || side.starts_with(b"refs/") && side.iter().all(is_plain)
    };
    let from = sides.next().is_some_and(is_side);
    let to = sides.next().is_none_or(is_side);
    from && to && sides.next().is_none()
}

/// Whether a path leads up by this many directories, and from there down by ordinary names: no `..`, and no name like
/// `.git`.
fn is_below(value: &[u8], depth: usize) -> bool {
    let names: Vec<&[u8]> = value.split(|byte| *byte == b'/').collect();
    let Some((up, down)) = names.split_at_checked(depth) else { return false };
    let is_repository = |name: &[u8]| {
        let name = name.to_ascii_lowercase();
        name.starts_with(b".git") || name.starts_with(b"git~")
    };
    up.iter().all(|name| *name == b"..")
        && !down.is_empty()
        && down.iter().all(|name| is_name(name) && !name.contains(&b'/') && !is_repository(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(values: Values, value: &str) -> bool {
        let entry = Entry { name: b"a.b".to_vec(), value: Some(value.as_bytes().to_vec()) };
        values.objection(&entry, Around { depth: Some(3), this_host: &[] }).is_none()
    }

    #[test]
    fn values_are_what_git_means_by_the_key() {
        for (values, good, bad) in [
            (Values::Text, "A. U. Thor", "a\nb"),
            (Values::Bool(&["input"]), "input", "output"),
            (Values::Bool(&[]), "FALSE", "maybe"),
            (Values::Number, "500m", "5x"),
            (Values::Number, "1", ""),
            (Values::Name, "fix#1/a-b", "-x"),
            (Values::Name, "main", "a/../b"),
            (Values::Remote, ".", "ext::evil"),
            (Values::Remote, "origin", "../evil"),
            (Values::Remote, "origin", "https://host/r"),
            (Values::Name, "a", "."),
            (Values::Ref, "refs/heads/main", "main"),
            (Values::Refspec, "+refs/heads/*:refs/remotes/origin/*", "--upload-pack=evil"),
            (Values::Refspec, "refs/heads/a", "refs/a:refs/b:refs/c"),
            (Values::Refspec, "+HEAD:refs/remotes/x/HEAD", "a b"),
            (Values::Worktree, "../../../sub", "../../../.git"),
            (Values::Worktree, "../../../a/b", "../../../../b"),
            (Values::Worktree, "../../../a", "../../a"),
            (Values::Worktree, "../../../a", "/a"),
            (Values::Worktree, "../../../a", "../../.."),
            (Values::Worktree, "../../../a", "../../../a/../b"),
        ] {
            assert!(passes(values, good), "{values:?} {good}");
            assert!(!passes(values, bad), "{values:?} {bad}");
        }
        let bare = Entry { name: b"a.b".to_vec(), value: None };
        assert_eq!(Values::Bool(&[]).objection(&bare, Around::default()), None);
        assert!(Values::Text.objection(&bare, Around::default()).is_some());
        assert!(!passes(Values::Text, &"a".repeat(MAX_VALUE + 1)));
    }
}
