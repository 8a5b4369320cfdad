//! Paths of the host as OpenClaw spells them (src/agents/sandbox/host-paths.ts): POSIX, and drives of Windows.

use std::borrow::Cow;

/// Removes the prefix of a Windows namespace, `\\?\` or `//?/`.
fn without_namespace(path: &str) -> Cow<'_, str> {
    for (prefix, unc, plain) in [(r"\\?\", r"UNC\", r"\\"), ("//?/", "UNC/", "//")] {
        if let Some(rest) = path.strip_prefix(prefix) {
            return match rest.get(..unc.len()) {
                Some(start) if start.eq_ignore_ascii_case(unc) => [plain, &rest[unc.len()..]].concat().into(),
                _ => rest.into(),
            };
        }
    }
    path.into()
}

/// Returns whether the path begins with a drive's letter, `C:\` or `C:/`.
pub(crate) fn is_drive(path: &str) -> bool {
    matches!(without_namespace(path).as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Returns whether the path is absolute, on POSIX or on a drive.
pub(crate) fn is_absolute(path: &str) -> bool {
    without_namespace(path).starts_with('/') || is_drive(path)
}

/// Resolves `.`, `..` and repeated slashes without looking at the disk; a drive's letter becomes a capital one.
pub(crate) fn normalize(path: &str) -> String {
    let mut plain = without_namespace(path).into_owned();
    if is_drive(&plain) || path.starts_with(r"\\") || path.starts_with("//?/") {
        plain = plain.replace('\\', "/");
    }
    if is_drive(&plain) {
        plain[..1].make_ascii_uppercase();
    }
    let root = if plain.starts_with('/') || plain.is_empty() { "/" } else { "" };
    let mut names: Vec<&str> = Vec::new();
    for name in plain.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => drop(names.pop()),
            ".." if root == "/" => {}
            name => names.push(name),
        }
    }
    let path = format!("{root}{}", names.join("/"));
    match path.as_bytes() {
        [] => ".".to_owned(),
        [b'A'..=b'Z', b':'] => path + "/",
        _ => path,
    }
}

/// Returns whether a path is `outer` or below it; both are normalized. Paths on drives are compared without
/// regard to case, and every drive is below `/`.
pub(crate) fn is_within(outer: &str, path: &str) -> bool {
    if outer == "/" {
        return true;
    }
    if is_drive(outer) && is_drive(path) {
        return begins(&outer.to_lowercase(), &path.to_lowercase());
    }
    begins(outer, path)
}

fn begins(outer: &str, path: &str) -> bool {
    match path.strip_prefix(outer.strip_suffix('/').unwrap_or(outer)) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_absolute, is_drive, is_within, normalize};

    #[test]
    fn spellings() {
        // The normal forms are those of OpenClaw 2026.9.6 on Linux.
        for (path, normal) in [
            ("", "/"),
            ("/", "/"),
            ("//a/./b/../c//", "/a/c"),
            ("/../..", "/"),
            ("a/../..", ".."),
            ("a/..", "."),
            (r"/a\b", r"/a\b"),
            (r"c:\Users\me", "C:/Users/me"),
            (r"C:\", "C:/"),
            ("c:/..", "."),
            (r"\\?\c:\x\", "C:/x"),
            (r"\\?\UNC\server\share", "/server/share"),
            ("//?//etc", "/etc"),
            ("//?/UNC/server", "/server"),
        ] {
            assert_eq!(normalize(path), normal, "{path}");
        }
        assert!(is_drive("x:/") && is_drive(r"\\?\x:\") && !is_drive("xy:/") && !is_drive("x:"));
        assert!(
            is_absolute("/") && is_absolute("//?//x") && !is_absolute("//?/x") && !is_absolute(r"\\server\x")
        );
    }

    #[test]
    fn within() {
        assert!(is_within("/", "/a") && is_within("/a", "/a") && is_within("/a", "/a/c"));
        assert!(!is_within("/a", "/ab") && !is_within("/a/b", "/a"));
        assert!(is_within("/", "C:/"));
        assert!(is_within("C:/", "C:/X") && is_within("C:/X", "C:/x/y") && !is_within("C:/x", "D:/x"));
    }
}
