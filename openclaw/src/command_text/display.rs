//! Renders an argv as one line.

use super::{shells, wrappers};

/// Returns the line by which OpenClaw binds an approval to an argv (its system-run command contract). The line has
/// double quotes around arguments with white space or quotes, and a backslash before each quote. It is for comparison
/// and display, not for a shell.
pub fn display<A: AsRef<str>>(argv: &[A]) -> String {
    let word = |argument: &A| match argument.as_ref() {
        "" => "\"\"".to_owned(),
        plain if !plain.contains(|character: char| is_space(character) || character == '"') => {
            plain.to_owned()
        }
        other => format!("\"{}\"", other.replace('"', "\\\"")),
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Returns whether a line represents an argv under the same contract: it is [`display`]'s line, or the code
/// of a shell without further arguments, possibly after wrappers that change nothing.
pub fn is_line_of(line: &str, argv: &[String]) -> bool {
    let line = line.trim();
    let unwrapped = wrappers::unwrap(argv);
    let is_code = || {
        let code = shells::code(unwrapped.argv).filter(|code| code.at + 1 == unwrapped.argv.len());
        unwrapped.blocked.is_none() && code.is_some_and(|code| code.text == line)
    };
    line == display(argv) || is_code()
}

/// Returns whether JavaScript's `\s` matches a character.
fn is_space(character: char) -> bool {
    character.is_whitespace() && character != '\u{85}' || character == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_quoted() {
        assert_eq!(display(&["echo", "", "a b", r#"$0 "$1""#, "a;b"]), r#"echo "" "a b" "$0 \"$1\"" a;b"#);
    }
}
