//! What the text of a symbolic link says, by itself.

use guard_policy::normalize;

use super::anchored_path::{names, parent_of};

/// A path without `.`, doubled slashes, a slash at the end, and names that a `..` takes away.
pub fn absolute(path: &[u8]) -> Vec<u8> {
    let mut path = normalize::posix(path);
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    path
}

/// Where a text leads from a link's path, if no name on the way is a link.
pub fn as_written(link: &[u8], text: &[u8]) -> Vec<u8> {
    if text.starts_with(b"/") { absolute(text) } else { absolute(&[parent_of(link), b"/", text].concat()) }
}

/// What follows the last `..` of a text that has a name before it.
pub fn after_up(text: &[u8]) -> Option<&[u8]> {
    let (mut had_name, mut rest, mut at) = (false, None, 0);
    for name in text.split(|byte| *byte == b'/') {
        at += name.len() + 1;
        match name {
            b"" | b"." => {}
            b".." if had_name => rest = Some(text.get(at..).unwrap_or_default()),
            b".." => {}
            _ => had_name = true,
        }
    }
    rest
}

/// How many names of the target the text itself chooses: the names below the link's directory, or below a directory
/// around that. Later, the tree may make each of them but the last lead elsewhere. A text that begins with a slash
/// chooses all names.
pub fn names_chosen(text: &[u8]) -> usize {
    if text.starts_with(b"/") {
        return usize::MAX;
    }
    names(text).filter(|name| !matches!(*name, b"." | b"..")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_from_the_links_directory() {
        for (link, text, target) in [
            ("/a/b/l", "c", "/a/b/c"),
            ("/a/b/l", "../c/./d/", "/a/c/d"),
            ("/a/b/l", "/x//y", "/x/y"),
            ("/l", "../../c", "/c"),
            ("/a/l", "..", "/"),
        ] {
            assert_eq!(as_written(link.as_bytes(), text.as_bytes()), target.as_bytes(), "{link} {text}");
        }
    }

    #[test]
    fn names_before_two_dots_are_found() {
        for (text, rest) in [
            ("a/b", None),
            ("../../a", None),
            ("./../a", None),
            ("a/../b/c", Some("b/c")),
            ("/a/..", Some("")),
            ("../a/../b/../c", Some("c")),
        ] {
            assert_eq!(after_up(text.as_bytes()), rest.map(str::as_bytes), "{text}");
        }
    }
}
