//! Removes `.` and `..` from paths by their text alone.

use std::borrow::Cow;

/// Normalizes a path like Node's `path.posix.normalize`: without `.`, doubled slashes, and each `..` that
/// follows a name, together with that name. A trailing slash stays.
pub fn posix(path: &[u8]) -> Vec<u8> {
    let is_absolute = path.starts_with(b"/");
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|b| *b == b'/') {
        match name {
            b"" | b"." => {}
            b".." if names.last().is_some_and(|last| *last != b"..") => drop(names.pop()),
            b".." if is_absolute => {}
            name => names.push(name),
        }
    }
    let mut normal = names.join(&b'/');
    if normal.is_empty() && !is_absolute {
        normal.push(b'.');
    }
    if path.ends_with(b"/") && !normal.is_empty() {
        normal.push(b'/');
    }
    if is_absolute {
        normal.insert(0, b'/');
    }
    normal
}

/// Returns the path unchanged if no component is `.` or `..`, else normalized.
pub(crate) fn without_dots(path: &[u8]) -> Cow<'_, [u8]> {
    if path.split(|b| *b == b'/').any(|name| matches!(name, b"." | b"..")) {
        Cow::Owned(posix(path))
    } else {
        Cow::Borrowed(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_match_as_in_node() {
        let cases = [
            ("", "."),
            (".", "."),
            ("./", "./"),
            ("/", "/"),
            ("//", "/"),
            ("/..", "/"),
            ("/../..", "/"),
            ("/a/", "/a/"),
            ("/a//b/./c/..", "/a/b"),
            ("/a/../", "/"),
            ("a/..", "."),
            ("a/../", "./"),
            ("../a/../..", "../.."),
            ("/a/...", "/a/..."),
        ];
        for (path, expected) in cases {
            assert_eq!(String::from_utf8(posix(path.as_bytes())).unwrap(), expected, "{path}");
        }
        assert_eq!(*without_dots(b"/a/..b/.c//d"), *b"/a/..b/.c//d");
        assert_eq!(*without_dots(b"/a/../b//c"), *b"/b/c");
    }
}
