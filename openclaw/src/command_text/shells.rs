//! Shells as programs: finds the code or the script in their arguments.

use guard_policy::programs::name::program_name;
use guard_policy::programs::starters::{is_dispatch, is_shell};

use super::wrappers;

/// The shells whose code is read with bash's grammar.
const READ: [&str; 7] = ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// Returns whether the code of this shell can be read here.
pub(super) fn is_read(token: &str) -> bool {
    READ.contains(&program_name(token).as_str())
}

/// Code that is an argument of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code<'a> {
    /// The code itself.
    pub(super) text: &'a str,
    /// The index of the argument that is or contains the code.
    pub(super) at: usize,
    /// Whether the shell runs something else before this code.
    pub(super) start: Start,
}

/// What a shell runs before the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Nothing.
    Plain,
    /// The files of a login or interactive shell, or code from another option.
    Files,
}

/// Returns the code after `-c` if the program itself is a shell; [`behind_wrappers`] also finds a shell after
/// wrappers.
pub(super) fn code(argv: &[String]) -> Option<Code<'_>> {
    let name = argv.first().filter(|name| is_shell(name)).map(program_name)?;
    if matches!(name.as_str(), "csh" | "tcsh" | "osh" | "cmd" | "powershell" | "pwsh") {
        return None;
    }
    let mut start = Start::Plain;
    let mut at = 1;
    while let Some(token) = argv.get(at) {
        let is_short = token.starts_with('-') && token.len() > 1 && !token[1..].contains('-');
        let has = |letter: char| is_short && token.contains(letter);
        if token == "--" || !token.starts_with(['-', '+']) {
            return None;
        }
        let is_fish_start =
            name == "fish" && (token.starts_with("-C") || token.starts_with("--init-command"));
        if has('l') || has('i') || token == "--login" || token == "--interactive" || is_fish_start {
            start = Start::Files;
        }
        // Each -o and -O takes an argument, anywhere in a cluster.
        let values = if is_short || token.starts_with('+') { token.matches(['o', 'O']).count() } else { 0 };
        if token == "--command" || has('c') {
            let attached = token.split_once('c').map_or("", |(_, rest)| rest);
            if is_short && !attached.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                let start = if name == "fish" { Start::Files } else { start };
                return Some(Code { text: attached.trim(), at, start });
            }
            let at = at + 1 + values;
            let text = argv.get(at)?.trim();
            return (!text.is_empty()).then_some(Code { text, at, start });
        }
        at += match token.as_str() {
            "--init-file" | "--rcfile" => 2,
            _ => 1 + values,
        };
    }
    None
}

/// Returns the shell and its code after wrappers that only dispatch.
pub(super) fn behind_wrappers(argv: &[String]) -> Option<(&[String], Code<'_>)> {
    let mut current = argv;
    // At most four wrappers, the limit that also holds elsewhere, and then the shell.
    for _ in 0..5 {
        if let Some(code) = code(current) {
            return Some((current, code));
        }
        current = match (wrappers::dispatch(current), program_name(current.first()?).as_str()) {
            (_, "env") => wrappers::env_command(current)?,
            (_, "busybox" | "toybox") => current.get(1..)?,
            (wrappers::Wrapper::Starts(inner), _) => inner,
            _ => return None,
        };
    }
    None
}

/// Returns whether code only runs its own arguments: `$0 "$@"`.
pub(super) fn is_carrier(code: &str) -> bool {
    let mut words = code.trim().split([' ', '\t']).filter(|word| !word.is_empty()).peekable();
    if words.next_if_eq(&"exec").is_some() {
        words.next_if_eq(&"--");
    }
    words.next().and_then(parameter) == Some('0')
        && words.all(|word| parameter(word).is_some_and(|name| matches!(name, '1'..='9' | '@' | '*')))
}

/// Returns the name of a one-letter parameter: `$1`, `${1}`, `"$1"`, `"${1}"`.
fn parameter(word: &str) -> Option<char> {
    let word = word.strip_prefix('"').map_or(Some(word), |rest| rest.strip_suffix('"'))?;
    let name = word.strip_prefix('$')?;
    let name = name.strip_prefix('{').map_or(Some(name), |rest| rest.strip_suffix('}'))?;
    let mut letters = name.chars();
    letters.next().filter(|_| letters.next().is_none())
}

/// Returns the program that a shell's code runs from its arguments: `rg` of `sh -c '$0 "$@"' rg x`.
pub(super) fn carried<'a>(argv: &'a [String], code: &Code<'_>) -> Option<&'a str> {
    if !argv.first().is_some_and(|name| is_read(name)) || !is_carrier(code.text) {
        return None;
    }
    let name = argv.get(code.at + 1..)?.iter().map(|token| token.trim()).find(|token| !token.is_empty())?;
    let starts_others = is_dispatch(name)
        || is_shell(name)
        || matches!(program_name(name).as_str(), "find" | "xargs" | "busybox" | "toybox");
    (!starts_others).then_some(name)
}

/// Returns the script that a shell runs, and its index; `None` if anything else may run as well.
pub(super) fn script(argv: &[String]) -> Option<(usize, &str)> {
    argv.first().filter(|name| is_shell(name))?;
    let mut at = 1;
    while let Some(token) = argv.get(at) {
        let is_short = token.starts_with('-') && token.len() > 1 && !token[1..].contains('-');
        let option = token.split_once('=').map_or(token.as_str(), |(option, _)| option);
        match option {
            "" => at += 1,
            "--" => {
                at += 1;
                break;
            }
            "--command" | "--rcfile" | "--init-file" | "--startup-file" => return None,
            _ if is_short && token.contains(['c', 'C', 's', 'S']) => return None,
            "-o" | "-O" | "+O" => at += 2,
            option if option.starts_with(['-', '+']) => at += 1,
            _ => break,
        }
    }
    argv.get(at).map(|token| token.trim()).filter(|token| !token.is_empty()).map(|token| (at, token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn code_is_found_behind_its_option() {
        let plain: &[&[&str]] = &[
            &["bash", "-c", "ls"],
            &["bash", "-ec", "ls"],
            &["sh", "-x", "-c", "ls", "name"],
            &["bash", "-o", "pipefail", "-c", "ls"],
            &["bash", "-oc", "pipefail", "ls"],
            &["bash", "--norc", "--command", "ls"],
            &["bash", "+x", "-c", "ls"],
        ];
        for words in plain {
            let argv = argv(words);
            let code = code(&argv).unwrap_or_else(|| panic!("{words:?}"));
            assert_eq!((code.text, code.start), ("ls", Start::Plain), "{words:?}");
        }
        for words in [&["sh", "-lc", "ls"][..], &["bash", "-ic", "ls"], &["bash", "--login", "-c", "ls"]] {
            assert_eq!(code(&argv(words)).unwrap().start, Start::Files, "{words:?}");
        }
        let none: &[&[&str]] = &[
            &["bash", "x.sh", "-c", "ls"],
            &["bash", "--", "-c", "ls"],
            &["bash", "-c"],
            &["ls", "-c", "x"],
            &["tcsh", "-c", "ls"],
        ];
        for words in none {
            assert_eq!(code(&argv(words)), None, "{words:?}");
        }
    }

    #[test]
    fn carriers_run_their_arguments_and_nothing_else() {
        for code in ["$0", "$0 \"$@\"", "exec -- \"${0}\" $1 \"${2}\"", " \"$0\"\t\"$*\" "] {
            assert!(is_carrier(code), "{code}");
        }
        for code in ["", "$1", "$0;ls", "$0 x", "$0\n$1", "$0 $0", "exec", "\"$0", "${0", "$10"] {
            assert!(!is_carrier(code), "{code}");
        }
    }

    #[test]
    fn scripts_are_found_where_nothing_else_runs() {
        assert_eq!(script(&argv(&["bash", "-x", "a.sh", "b"])), Some((2, "a.sh")));
        assert_eq!(script(&argv(&["bash", "-o", "errexit", "--", "a.sh"])), Some((4, "a.sh")));
        for words in [
            &["bash", "-s", "a.sh"][..],
            &["bash", "--rcfile", "x", "a.sh"],
            &["bash", "-lc", "x"],
            &["bash"],
            &["ls", "a"],
        ] {
            assert_eq!(script(&argv(words)), None, "{words:?}");
        }
    }
}
