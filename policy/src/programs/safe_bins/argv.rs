//! Checks whether arguments limit a safe bin to standard input (OpenClaw 2026.9.6,
//! exec-safe-bin-policy-validator).
//!
//! An unknown option is refused, whatever it would do.

use super::Profile;
use crate::paths::expansion::trim;

/// Returns whether a program with this profile may have these arguments (without its own name). `pairs` are the flags whose
/// value takes two words.
pub fn keeps_to_input(profile: &Profile, pairs: &[&str], arguments: &[Vec<u8>]) -> bool {
    let mut rest = arguments.iter().map(Vec::as_slice);
    let mut positional = 0;
    let mut options = true;
    while let Some(argument) = rest.next() {
        let is_allowed = match argument {
            b"" | b"-" => true,
            b"--" if options => {
                options = false;
                true
            }
            [b'-', b'-', ..] if options => long(profile, pairs, argument, &mut rest),
            [b'-', letters @ ..] if options => cluster(profile, letters, &mut rest),
            literal => {
                positional += 1;
                is_literal(literal)
            }
        };
        if !is_allowed {
            return false;
        }
    }
    positional >= profile.min_positional && profile.max_positional.is_none_or(|most| positional <= most)
}

/// Checks `--name`, `--name=value` and `--name value`. A name may be abbreviated if that is unambiguous
/// (GNU).
fn long<'a>(
    profile: &Profile,
    pairs: &[&str],
    option: &[u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
) -> bool {
    let (name, value) = match option.iter().position(|&byte| byte == b'=') {
        Some(at) => (&option[..at], Some(&option[at + 1..])),
        None => (option, None),
    };
    let Some(name) = whole_name(profile, name) else { return false };
    if profile.denied_flags.contains(name) {
        return false;
    }
    match (profile.value_flags.contains(name), value) {
        (true, Some(value)) => is_literal(value),
        (true, None) => takes_next(rest) && (!pairs.contains(&name) || takes_next(rest)),
        (false, value) => value.is_none(),
    }
}

fn whole_name<'p>(profile: &'p Profile, name: &[u8]) -> Option<&'p str> {
    let known = || profile.flags().filter(|flag| flag.starts_with("--"));
    if let Some(exact) = known().find(|flag| flag.as_bytes() == name) {
        return Some(exact);
    }
    let mut longer = known().filter(|flag| name.len() > 2 && flag.as_bytes().starts_with(name));
    match (longer.next(), longer.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Checks `-abc`: flags without a value, then at most one flag whose value is the rest of the argument or the next argument.
fn cluster<'a>(profile: &Profile, letters: &[u8], rest: &mut impl Iterator<Item = &'a [u8]>) -> bool {
    for (at, letter) in letters.iter().enumerate() {
        let flag = format!("-{}", char::from(*letter));
        if profile.denied_flags.contains(&flag) {
            return false;
        }
        if profile.value_flags.contains(&flag) {
            return match &letters[at + 1..] {
                b"" => takes_next(rest),
                value => is_literal(value),
            };
        }
        if !profile.boolean_flags.contains(&flag) {
            return false;
        }
    }
    true
}

fn takes_next<'a>(rest: &mut impl Iterator<Item = &'a [u8]>) -> bool {
    rest.next().is_some_and(|value| !value.is_empty() && is_literal(value))
}

/// Returns whether an argument is only text: no file, and nothing that a shell would expand.
fn is_literal(argument: &[u8]) -> bool {
    if matches!(argument, b"" | b"-") {
        return true;
    }
    let is_glob = argument.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b']'));
    !is_glob && !is_expanded(argument) && !is_path(trim(&String::from_utf8_lossy(argument)).as_bytes())
}

/// Returns whether `$` precedes something that a shell would expand.
fn is_expanded(argument: &[u8]) -> bool {
    argument
        .windows(2)
        .any(|pair| pair[0] == b'$' && (pair[1].is_ascii_alphanumeric() || b"_@*?!$#-{([".contains(&pair[1])))
}

fn is_path(argument: &[u8]) -> bool {
    let has_drive = matches!(argument, [drive, b':', slash, ..] if drive.is_ascii_alphabetic() && matches!(slash, b'/' | b'\\'));
    has_drive || [&b"./"[..], b"../", b"~", b"/"].iter().any(|start| argument.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(bin: &str, line: &[&str]) -> bool {
        let arguments: Vec<_> = line.iter().map(|word| word.as_bytes().to_vec()).collect();
        keeps_to_input(&Profile::builtin(bin.as_bytes()).unwrap(), &[], &arguments)
    }

    #[test]
    fn names_may_be_cut_short_where_they_stay_the_only_one() {
        assert!(keeps("sort", &["--ke=1,1"]));
        assert!(!keeps("sort", &["--f=1"]), "--field-separator or --files0-from");
        assert!(!keeps("sort", &["--compress-prog=sh"]));
    }

    #[test]
    fn an_option_abbreviated_to_nothing_is_refused() {
        let flags = std::collections::BTreeSet::from(["--only".to_owned()]);
        let profile = Profile { value_flags: flags, max_positional: Some(0), ..Profile::default() };
        assert!(keeps_to_input(&profile, &[], &[b"--o=1".to_vec()]));
        assert!(!keeps_to_input(&profile, &[], &[b"--=1".to_vec()]));
    }

    #[test]
    fn an_options_value_is_never_taken_for_a_file() {
        for value in [
            "./f",
            "../f",
            "~",
            "/f",
            "C:\\f",
            " /f",
            "\u{b}/f",
            "\u{a0}~",
            "\u{feff}/f",
            "a*",
            "[a]",
            "$HOME",
            "${x}",
            "$(x)",
        ] {
            assert!(!keeps("grep", &["-e", value]), "{value}");
            assert!(!keeps("grep", &[&format!("--regexp={value}")]), "{value}");
        }
        assert!(keeps("grep", &["-e", "a/b.c$"]));
    }

    #[test]
    fn options_end_and_do_not_begin_again() {
        assert!(keeps("tr", &["--", "-a", "-b"]));
        assert!(keeps("tr", &["--", "--zzz"]));
        assert!(keeps("grep", &["-e", "x", "--"]));
        assert!(!keeps("grep", &["-e", "x", "--", "--"]), "the second is a file's name");
        assert!(!keeps("tr", &["a", "b", "c"]));
        assert!(!keeps("cut", &["-f"]));
    }
}
