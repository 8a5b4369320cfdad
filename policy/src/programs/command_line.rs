//! Writes an argv as a line for a shell.

/// Returns the line that a shell parses to exactly this argv: single quotes enclose what a shell would
/// change.
pub fn quoted<A: AsRef<str>>(argv: &[A]) -> String {
    let word = |argument: &A| {
        let argument = argument.as_ref();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+,".contains(&byte);
        if !argument.is_empty() && argument.bytes().all(is_plain) {
            argument.to_owned()
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_the_line_back() {
        assert_eq!(
            quoted(&["echo", "", "a b", "it's", "a;b", "/x-y"]),
            r"echo '' 'a b' 'it'\''s' 'a;b' /x-y"
        );
    }
}
