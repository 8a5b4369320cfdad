//! Overrides: variables that a single command sets on top of what it inherits.

use super::{MARK, Variable, builtin, host, judged_name, own};
use crate::Reason;

/// OpenClaw's message if a command tries to set `PATH`.
pub const PATH_REASON: &str =
    "Security Violation: Custom 'PATH' variable is forbidden during host execution.";

/// An environment with the permitted overrides applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overridden {
    /// The variables that the command gets.
    pub env: Vec<Variable>,
    /// The overrides that were rejected, sorted, each name once.
    pub blocked: Vec<Rejected>,
    /// Names that are not valid for a variable, sorted, each once.
    pub invalid: Vec<Vec<u8>>,
}

/// A variable that a command may not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The name, in capitals.
    pub name: String,
    /// Why.
    pub reason: Reason<'static>,
}

/// Applies the overrides of a command.
pub fn with_overrides(env: Vec<Variable>, overrides: impl IntoIterator<Item = Variable>) -> Overridden {
    let mut result = Overridden { env, ..Overridden::default() };
    for (name, value) in overrides {
        let Some(name) = portable(&name) else {
            let trimmed = name.trim_ascii();
            result.invalid.push(if trimmed.is_empty() { name } else { trimmed.to_vec() });
            continue;
        };
        match reason(name) {
            Some(reason) => result.blocked.push(Rejected { name: name.to_ascii_uppercase(), reason }),
            None => set(&mut result.env, name.as_bytes(), value),
        }
    }
    result.blocked.sort_by(|a, b| a.name.cmp(&b.name));
    result.blocked.dedup_by(|a, b| a.name == b.name);
    result.invalid.sort();
    result.invalid.dedup();
    result
}

fn reason(name: &str) -> Option<Reason<'static>> {
    let judged = judged_name(name.as_bytes());
    if judged == b"PATH" {
        return Some(builtin("PATH", PATH_REASON));
    }
    if judged == MARK.0 {
        return Some(builtin("OPENCLAW_CLI", "it is set for every command"));
    }
    own::reason(&judged).or_else(|| host::override_reason(std::str::from_utf8(&judged).ok()?))
}

fn set(env: &mut Vec<Variable>, name: &[u8], value: Vec<u8>) {
    match env.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => env.push((name.to_vec(), value)),
    }
}

/// The overrides that OpenClaw permits for a command run by a shell: only those for how text is shown.
pub fn for_shell(overrides: impl IntoIterator<Item = Variable>) -> Vec<Variable> {
    const ALLOWED: [&str; 5] = ["TERM", "LANG", "COLORTERM", "NO_COLOR", "FORCE_COLOR"];
    overrides
        .into_iter()
        .filter_map(|(name, value)| {
            let name = portable(&name).filter(|name| !name.contains(['(', ')']))?;
            let upper = name.to_ascii_uppercase();
            (ALLOWED.contains(&&upper[..]) || upper.starts_with("LC_"))
                .then(|| (name.as_bytes().to_vec(), value))
        })
        .collect()
}

/// The trimmed name, if it is portable: `[A-Za-z_][A-Za-z0-9_()]*`. Parentheses occur in Windows'
/// `ProgramFiles(x86)`.
pub fn portable(name: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(name).ok()?.trim();
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let goes_on = name.chars().all(|c| c.is_ascii_alphanumeric() || "_()".contains(c));
    (starts && goes_on).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(overrides: &[(&str, &str)]) -> Overridden {
        let bytes = |(name, value): &(&str, &str)| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        with_overrides(vec![(b"A".to_vec(), b"old".to_vec())], overrides.iter().map(bytes))
    }

    #[test]
    fn an_override_takes_the_place_of_what_was_inherited() {
        assert_eq!(
            evaluate(&[(" A ", "new"), ("a", "other")]).env,
            [(b"A".to_vec(), b"new".to_vec()), (b"a".to_vec(), b"other".to_vec())]
        );
    }

    #[test]
    fn rejections_are_sorted_and_named_once() {
        let result = evaluate(&[
            ("path", "x"),
            ("PATH", "y"),
            ("Ld_X", ""),
            ("é", ""),
            ("1", ""),
            ("a b", ""),
            (" ", ""),
        ]);
        let names: Vec<_> = result.blocked.iter().map(|rejected| &rejected.name[..]).collect();
        assert_eq!(names, ["LD_X", "PATH"]);
        assert_eq!(result.blocked[1].reason.text, PATH_REASON);
        assert_eq!(result.invalid, [" ".as_bytes(), b"1", b"a b", "é".as_bytes()]);
        assert_eq!(result.env.len(), 1);
    }

    #[test]
    fn nothing_of_openclaw_can_be_set() {
        for name in ["OPENCLAW_CLI", "openclaw_home", "OC_EXEC_ASK", "MY_GATEWAY_TOKEN"] {
            assert_eq!(evaluate(&[(name, "x")]).blocked.len(), 1, "{name}");
        }
    }

    #[test]
    fn windows_variable_names_are_recognised() {
        assert_eq!(evaluate(&[("ProgramFiles(x86)", "x")]).env.len(), 2);
        assert_eq!(evaluate(&[("(x)", "x")]).invalid.len(), 1);
    }

    #[test]
    fn a_shell_inherits_only_locale_and_terminal_variables() {
        let names = ["TERM", "lc_x", "LC_ALL", "LC_(", "PATH", "no_color", "FOO", "LANGUAGE"];
        let passed = for_shell(names.map(|name| (name.as_bytes().to_vec(), Vec::new())));
        let passed: Vec<_> = passed.iter().map(|(name, _)| std::str::from_utf8(name).unwrap()).collect();
        assert_eq!(passed, ["TERM", "lc_x", "LC_ALL", "no_color"]);
    }
}
