//! An argv as one line.

use super::{shells, wrappers};

/// The line by which OpenClaw binds an approval to an argv (its system-run command contract): double quotes around what
/// has white space or quotes, a backslash before each quote. For comparing and showing: no shell reads it back.
pub fn display<A: AsRef<str>>(argv: &[A]) -> String {
    joined(argv, |argument| match argument {
        "" => "\"\"".to_owned(),
        plain if !plain.contains(|character: char| is_space(character) || character == '"') => {
            plain.to_owned()
        }
        other => format!("\"{}\"", other.replace('"', "\\\"")),
    })
}

/// The line that a shell reads back as this argv, as it is: single quotes around what a shell would change.
pub fn quoted<A: AsRef<str>>(argv: &[A]) -> String {
    joined(argv, |argument| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+,".contains(&byte);
        if !argument.is_empty() && argument.bytes().all(is_plain) {
            argument.to_owned()
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    })
}

/// Whether a line stands for an argv, by the same contract: it is [`display`]'s, or the code of a shell that is given
/// nothing else, behind wrappers that change nothing.
pub fn is_line_of(line: &str, argv: &[String]) -> bool {
    let line = line.trim();
    let unwrapped = wrappers::unwrap(argv);
    let is_code = || {
        let code = shells::code(unwrapped.argv).filter(|code| code.at + 1 == unwrapped.argv.len());
        unwrapped.blocked.is_none() && code.is_some_and(|code| code.text == line)
    };
    line == display(argv) || is_code()
}

/// White space as JavaScript's `\s` has it.
fn is_space(character: char) -> bool {
    character.is_whitespace() && character != '\u{85}' || character == '\u{feff}'
}

fn joined<A: AsRef<str>>(argv: &[A], quote: impl Fn(&str) -> String) -> String {
    argv.iter().map(|argument| quote(argument.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_quoted() {
        assert_eq!(display(&["echo", "", "a b", r#"$0 "$1""#, "a;b"]), r#"echo "" "a b" "$0 \"$1\"" a;b"#);
        assert_eq!(
            quoted(&["echo", "", "a b", "it's", "a;b", "/x-y"]),
            r"echo '' 'a b' 'it'\''s' 'a;b' /x-y"
        );
    }
}
