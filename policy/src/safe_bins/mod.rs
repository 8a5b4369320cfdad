//! Safe bins: programs that run without an allowlist entry when their arguments keep them to standard input.

mod argv;
mod configured;
mod profile;

pub(crate) use configured::SafeBins;
pub use profile::Profile;

use crate::programs::basename;

/// The programs that are safe bins where nothing is configured.
pub const DEFAULT: [&str; 6] = ["cut", "uniq", "head", "tail", "tr", "wc"];

/// Where safe bins may lie where nothing is configured.
pub const TRUSTED_DIRS: [&str; 2] = ["/bin", "/usr/bin"];

/// Languages in which a program is an argument: never safe, whatever a profile says.
const INTERPRETERS: [&[u8]; 6] = [b"awk", b"gawk", b"mawk", b"nawk", b"sed", b"gsed"];

/// Whether a program of this name, with this profile, may be given these arguments (its own name aside).
pub fn is_safe(path: &[u8], profile: &Profile, arguments: &[Vec<u8>]) -> bool {
    let name = basename(path).to_ascii_lowercase();
    if is_interpreter(&name) {
        return false;
    }
    if name == b"jq" && arguments.iter().any(|argument| reads_environment(argument)) {
        return false;
    }
    argv::keeps_to_input(profile, arguments)
}

/// Whether a program of this name, in lower case, takes a program as an argument.
fn is_interpreter(name: &[u8]) -> bool {
    INTERPRETERS.contains(&name)
}

/// Whether a jq filter may read the environment: `env` as a word of its own that is no field, or `$ENV`
/// (exec-safe-bin-semantics of OpenClaw 2026.4). Options are looked at too, which refuses more.
fn reads_environment(filter: &[u8]) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let ends = |at: usize| filter.get(at).is_none_or(|&byte| !is_word(byte));
    (0..filter.len()).any(|at| {
        let rest = &filter[at..];
        let before = at.checked_sub(1).map(|at| filter[at]);
        let is_env = rest.starts_with(b"env") && ends(at + 3);
        let is_own_word = before.is_none_or(|byte| !is_word(byte) && byte != b'.' && byte != b'$');
        (is_env && is_own_word) || (rest.starts_with(b"$ENV") && ends(at + 4))
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
            assert!(reads_environment(filter.as_bytes()), "{filter}");
        }
        // Most of these are refused for what a shell would make of them, too.
        for filter in ["$ENVIRON", "x$env", "x_env", "env_x", "aenv", ".a | $ENVS"] {
            assert!(!reads_environment(filter.as_bytes()), "{filter}");
        }
        assert!(reads_environment(b".aaaa | $ENV.X"));
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
