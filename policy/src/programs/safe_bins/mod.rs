//! Safe bins: programs that run without an allowlist entry when their arguments keep them to standard input.

mod argv;
mod configured;
mod interpreters;
mod profile;

pub(crate) use configured::SafeBins;
pub use interpreters::runs_its_input;
pub use profile::Profile;

use crate::programs::name::basename;

/// The safe bins if none are configured.
pub const DEFAULT: [&str; 6] = ["cut", "uniq", "head", "tail", "tr", "wc"];

/// The directories of safe bins if none are configured.
pub const TRUSTED_DIRS: [&str; 2] = ["/bin", "/usr/bin"];

/// Languages whose programs are arguments: never safe, whatever a profile allows.
const INTERPRETERS: [&[u8]; 6] = [b"awk", b"gawk", b"mawk", b"nawk", b"sed", b"gsed"];

/// Returns whether a program of this name and profile may have these arguments (without its own name).
pub fn is_safe(path: &[u8], profile: &Profile, arguments: &[Vec<u8>]) -> bool {
    let name = basename(path).to_ascii_lowercase();
    if is_interpreter(&name) {
        return false;
    }
    if name == b"jq" && arguments.iter().any(|argument| reaches_out(argument)) {
        return false;
    }
    let pairs = if name == b"jq" { &JQ_PAIRS[..] } else { &[] };
    argv::keeps_to_input(profile, pairs, arguments)
}

/// The options of jq that take a name and a value (jq(1)).
const JQ_PAIRS: [&str; 3] = ["--arg", "--argjson", "--argstr"];

/// Returns whether a program of this name, in lower case, takes a program as an argument.
fn is_interpreter(name: &[u8]) -> bool {
    INTERPRETERS.contains(&name)
}

/// Returns whether an argument lets jq reach beyond standard input. An empty argument and `-` count: jq takes
/// them for a filter, and the next argument for a file. The words are searched for in options and strings
/// too, which refuses more.
fn reaches_out(argument: &[u8]) -> bool {
    let names_environment = || ENVIRONMENT.iter().any(|word| has_word(argument, word));
    matches!(argument, b"" | b"-") || names_environment() || names_modules(argument)
}

/// Returns whether an argument of jq's may name modules, which are files.
pub(super) fn names_modules(argument: &[u8]) -> bool {
    MODULES.iter().any(|word| has_word(argument, word))
}

/// Words for the environment (exec-safe-bin-semantics of OpenClaw 2026.4). `$ ENV` means `$ENV`.
const ENVIRONMENT: [&[u8]; 2] = [b"env", b"ENV"];
/// Words for modules.
const MODULES: [&[u8]; 3] = [b"import", b"include", b"modulemeta"];

/// Returns whether a filter contains this word, other than in a longer word, as a field (`.env`) or as a variable
/// (`$env`; but `$ENV` counts).
fn has_word(filter: &[u8], word: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    filter.windows(word.len()).enumerate().filter(|(_, part)| *part == word).any(|(at, _)| {
        let before = at.checked_sub(1).map(|at| filter[at]);
        let is_other = |byte: u8| is_word(&byte) || byte == b'.' || byte == b'$' && word != b"ENV";
        !before.is_some_and(is_other) && !filter.get(at + word.len()).is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jq(filter: &str) -> bool {
        is_safe(b"/usr/bin/jq", &Profile::builtin(b"jq").unwrap(), &[filter.as_bytes().to_vec()])
    }

    #[test]
    fn jq_does_not_read_the_environment() {
        assert!(jq(".foo") && jq(".env") && jq(".a.env.b") && jq("envelope"));
        for filter in ["env", "env.FOO", ".foo | env", "$ENV", "($ENV).OPENAI_API_KEY", "[env]", "{a:env}"] {
            assert!(!jq(filter), "{filter}");
            assert!(reaches_out(filter.as_bytes()), "{filter}");
        }
        // Most of these are also refused since a shell would expand them.
        for filter in ["$ENVIRON", "x$env", "x_env", "env_x", "aenv", ".a | $ENVS"] {
            assert!(!reaches_out(filter.as_bytes()), "{filter}");
        }
        assert!(reaches_out(b".aaaa | $ENV.X"));
        for filter in ["$ ENV.X", "$\nENV", "$ #\nENV|keys"] {
            assert!(!jq(filter), "{filter}");
        }
        assert!(jq(".ENV") && jq("ENVS"));
    }

    #[test]
    fn jq_reads_no_file() {
        let words = |line: &[&str]| line.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let safe = |line: &[&str]| is_safe(b"/usr/bin/jq", &Profile::builtin(b"jq").unwrap(), &words(line));
        for filter in [
            r#"include "m" {search: "."}; f"#,
            r#"import "m" as q {search:"."}; q::f"#,
            r#"1|import "m" as q;."#,
            r#""m"|modulemeta"#,
        ] {
            assert!(!safe(&[filter]), "{filter}");
        }
        assert!(!safe(&["", "secret"]) && !safe(&["-", "secret"]), "an empty filter is one");
        assert!(safe(&[".include, .important"]) && safe(&["--arg", "x", "y"]) && safe(&[]));
        // A name and a value, and then the filter; another word would be a file.
        assert!(safe(&["--arg", "x", "y", ".a"]) && safe(&["--argjson", "x", "1", "--arg", "y", "2", ".a"]));
        assert!(!safe(&["--arg", "x"]) && !safe(&["--arg", "x", "y", ".a", "file"]));
        assert!(!safe(&["--arg", "x", "/etc/passwd", ".a"]) && !safe(&["--arg", "x", ".", "/etc/passwd"]));
    }

    #[test]
    fn interpreters_are_never_safe() {
        let any = Profile::default();
        for path in ["/usr/bin/awk", "/opt/homebrew/bin/gawk", "/bin/sed", "/usr/local/bin/GSED"] {
            assert!(!is_safe(path.as_bytes(), &any, &[]), "{path}");
        }
        assert!(is_safe(b"/bin/cat", &any, &[]));
    }
}
