//! An argv as one line.

use super::{shells, wrappers};

/// The line by which OpenClaw binds an approval to an argv (its system-run command contract): double quotes around what
/// has white space or quotes, a backslash before each quote. For comparing and showing: no shell reads it back.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_quoted() {
        assert_eq!(display(&["echo", "", "a b", r#"$0 "$1""#, "a;b"]), r#"echo "" "a b" "$0 \"$1\"" a;b"#);
    }
}
