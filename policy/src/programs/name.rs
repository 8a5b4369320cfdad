//! The name by which tables know a program.

/// Returns what follows the last slash.
pub(crate) fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

/// Returns the last component in lower case, without a Windows extension: `/usr/bin/Python3` is `python3`.
pub fn program_name(token: impl AsRef<[u8]>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_from_paths() {
        assert_eq!(program_name("/usr/bin/Python3"), "python3");
        assert_eq!(program_name(r"C:\Tools\awk.EXE"), "awk");
        assert_eq!(program_name(""), "");
    }
}
