//! The `argPattern` of entries that "allow always" makes: these arguments, in this directory (OpenClaw 2026.9.6).

use sha2::{Digest, Sha256};

/// What such an `argPattern` begins with; the digest follows in lower-case hexadecimal.
const PREFIX: &str = "sha256:cwd-argv:v1:";

/// The `argPattern` of these arguments, the program's own name aside, in this current directory.
///
/// OpenClaw hashes text only. What is no UTF-8 is hashed as the bytes that it is.
pub fn cwd_argv_pattern(cwd: &[u8], arguments: &[Vec<u8>]) -> String {
    let mut hash = Sha256::new();
    sized(&mut hash, &normalized(cwd));
    hash.update(format!("{}\0", arguments.len()));
    for argument in arguments {
        sized(&mut hash, argument);
    }
    hash.finalize().iter().fold(PREFIX.to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// The length before each text keeps `["a b"]` and `["a", "b"]` apart.
fn sized(hash: &mut Sha256, bytes: &[u8]) {
    hash.update(format!("{}\0", bytes.len()));
    hash.update(bytes);
    hash.update(b"\0");
}

/// A path without `.`, `..` and doubled slashes, by its text alone, as Node's `path.posix.normalize` has it: a slash at
/// the end stays, and `..` that leads out of a relative path stays.
fn normalized(path: &[u8]) -> Vec<u8> {
    let is_absolute = path.first() == Some(&b'/');
    let mut names: Vec<&[u8]> = Vec::new();
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." if names.last().is_some_and(|last| *last != b"..") => drop(names.pop()),
            b".." if is_absolute => {}
            name => names.push(name),
        }
    }
    let mut clean = if is_absolute { vec![b'/'] } else { Vec::new() };
    clean.extend(names.join(&b'/'));
    if clean.is_empty() {
        clean.push(b'.');
    }
    if path.last() == Some(&b'/') && clean != b"/" {
        clean.push(b'/');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized_as_node_does() {
        let cases = [
            ("", "."),
            (".", "."),
            ("./", "./"),
            ("/", "/"),
            ("//", "/"),
            ("/..", "/"),
            ("/../a/", "/a/"),
            ("a/..", "."),
            ("a/../", "./"),
            ("a/../..", ".."),
            ("../../a", "../../a"),
            ("/a/./b//c/../d/", "/a/b/d/"),
        ];
        for (path, clean) in cases {
            assert_eq!(normalized(path.as_bytes()), clean.as_bytes(), "{path:?}");
        }
    }
}
