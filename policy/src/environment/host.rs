//! OpenClaw's rule for commands on the host.

use std::sync::LazyLock;

use foldhash::HashSet;
use serde::Deserialize;

use super::builtin;
use crate::Reason;

/// The unchanged data of OpenClaw 2026.9.6 (MIT). Names are in capitals.
static HOST: LazyLock<Host<'static>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/host-env-2026.9.6.json"))
        .expect("the data is part of the guard")
});

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Host<'d> {
    #[serde(borrow)]
    blocked_everywhere_keys: HashSet<&'d str>,
    #[serde(borrow)]
    blocked_override_only_keys: HashSet<&'d str>,
    #[serde(borrow)]
    allowed_inherited_override_only_keys: HashSet<&'d str>,
    #[serde(borrow)]
    blocked_override_prefixes: Vec<&'d str>,
    #[serde(borrow)]
    blocked_prefixes: Vec<&'d str>,
}

/// Every login sets this variable, so dropping it needs no notice. Programs can read the shell from the password entry.
const EVERYWHERE: &str = "SHELL";

const CODE: &str = "it makes programs load, run or trust something else; OpenClaw never passes it on";
const SETTING: &str =
    "it holds a secret, or selects programs or files for others; OpenClaw does not pass it on";

/// The reason not to inherit a variable, if there is one. `name` is in capitals.
pub(super) fn inherited_reason(name: &[u8]) -> Option<Reason<'static>> {
    // All names and prefixes in the data are ASCII. A name that is not UTF-8 equals none, but may begin with a prefix.
    let name = &*String::from_utf8_lossy(name);
    if is_narrowed(name) {
        return None;
    }
    if name == EVERYWHERE {
        return Some(Reason::unmentioned(CODE));
    }
    anywhere(name).or_else(|| {
        let is_inherited = HOST.allowed_inherited_override_only_keys.contains(name);
        let key = HOST.blocked_override_only_keys.get(name).filter(|_| !is_inherited)?;
        Some(builtin(*key, SETTING))
    })
}

/// The reason why a single command may not set a variable, if there is one. `name` is in capitals.
pub(super) fn override_reason(name: &str) -> Option<Reason<'static>> {
    anywhere(name).or_else(|| {
        let key = HOST.blocked_override_only_keys.get(name).copied();
        let prefix =
            || HOST.blocked_override_prefixes.iter().find(|prefix| name.starts_with(**prefix)).copied();
        let cargo = || starts_a_program_of_cargo(name).then_some("CARGO_TARGET_*_LINKER, _RUNNER");
        Some(builtin(key.or_else(prefix).or_else(cargo)?, SETTING))
    })
}

fn anywhere(name: &str) -> Option<Reason<'static>> {
    let key = HOST.blocked_everywhere_keys.get(name).copied();
    let prefix = || HOST.blocked_prefixes.iter().find(|prefix| name.starts_with(**prefix)).copied();
    Some(builtin(key.or_else(prefix)?, CODE))
}

/// Matches `CARGO_TARGET_TRIPLE_LINKER` and `CARGO_TARGET_TRIPLE_RUNNER`.
fn starts_a_program_of_cargo(name: &str) -> bool {
    let triple = name
        .strip_prefix("CARGO_TARGET_")
        .and_then(|rest| rest.strip_suffix("_LINKER").or_else(|| rest.strip_suffix("_RUNNER")));
    triple.is_some_and(|triple| {
        !triple.is_empty()
            && triple.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

/// Variables that restrict git's protocols. Dropping them would allow git more, so only the safe part of the value is
/// passed on.
fn is_narrowed(name: &str) -> bool {
    matches!(name, "GIT_ALLOW_PROTOCOL" | "GIT_PROTOCOL_FROM_USER")
}

/// The value to pass on.
pub(super) fn narrowed(name: &[u8], value: Vec<u8>) -> Vec<u8> {
    match name {
        b"GIT_ALLOW_PROTOCOL" => {
            let safe: [&[u8]; 4] = [b"git", b"http", b"https", b"ssh"];
            let words = value.trim_ascii().split(|byte| *byte == b':').filter(|word| safe.contains(word));
            words.collect::<Vec<_>>().join(&b':')
        }
        // Git treats any value but a plain no as a yes, or prints an error with the value.
        b"GIT_PROTOCOL_FROM_USER" => b"0".to_vec(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_whole() {
        let sizes = [
            HOST.blocked_everywhere_keys.len(),
            HOST.blocked_override_only_keys.len(),
            HOST.allowed_inherited_override_only_keys.len(),
            HOST.blocked_override_prefixes.len(),
            HOST.blocked_prefixes.len(),
        ];
        assert_eq!(sizes, [110, 156, 42, 4, 3]);
        let names = HOST.blocked_everywhere_keys.iter().chain(&HOST.blocked_override_only_keys);
        assert!(names.into_iter().all(|name| *name == name.to_ascii_uppercase()));
        assert!(HOST.allowed_inherited_override_only_keys.is_subset(&HOST.blocked_override_only_keys));
    }

    #[test]
    fn variables_that_name_a_linker_for_cargo_are_dropped() {
        assert!(override_reason("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER").is_some());
        assert!(override_reason("CARGO_TARGET_A_RUNNER").is_some());
        assert!(override_reason("CARGO_TARGET__RUNNER").is_none());
        assert!(override_reason("CARGO_TARGET_DIR").is_none());
        assert!(override_reason("CARGO_TARGET_A-B_RUNNER").is_none());
        assert!(inherited_reason(b"CARGO_TARGET_A_RUNNER").is_none());
    }

    #[test]
    fn a_variable_prefix_counts_whatever_follows_it() {
        assert!(inherited_reason(b"LD_\xff").is_some());
        assert!(inherited_reason(b"BASH_FUNC_x%%").is_some());
        assert!(inherited_reason(b"\xffLD_X").is_none());
    }

    #[test]
    fn narrowed_variables_let_git_do_no_more() {
        let of = |name: &[u8], value: &[u8]| String::from_utf8(narrowed(name, value.to_vec())).unwrap();
        assert_eq!(of(b"GIT_ALLOW_PROTOCOL", b" https:ext:file:ssh "), "https:ssh");
        assert_eq!(of(b"GIT_ALLOW_PROTOCOL", b"ext"), "");
        assert_eq!(of(b"GIT_PROTOCOL_FROM_USER", b"1"), "0");
        assert_eq!(of(b"GIT_X", b"1"), "1");
    }
}
