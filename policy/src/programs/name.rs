//! The name by which the tables of this room know a program.

/// What follows the last slash.
pub(crate) fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

/// The last component in lower case, without a Windows extension: `/usr/bin/Python3` is `python3`.
pub(crate) fn program_name(token: impl AsRef<[u8]>) -> String {
    let token = token.as_ref().trim_ascii();
    let last = token.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or(token);
    let mut name = String::from_utf8_lossy(last).to_ascii_lowercase();
    for extension in [".exe", ".cmd", ".bat", ".com"] {
        if let Some(stem) = name.strip_suffix(extension) {
            name.truncate(stem.len());
            break;
        }
    }
    name
}

/// Whether a name leads to a file by itself, without a search along PATH.
pub(crate) fn is_path(token: &str) -> bool {
    token.contains(['/', '\\'])
}

/// `NAME=value`.
pub(crate) fn is_assignment(token: &str) -> bool {
    token.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_from_paths() {
        assert_eq!(program_name("/usr/bin/Python3"), "python3");
        assert_eq!(program_name(r"C:\Tools\awk.EXE"), "awk");
        assert_eq!(program_name(""), "");
        assert!(is_assignment("A_1=") && is_assignment("_=x"));
        assert!(
            !is_assignment("1A=x") && !is_assignment("=x") && !is_assignment("a-b=c") && !is_assignment("a")
        );
    }
}
