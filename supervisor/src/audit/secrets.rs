//! Masks secrets in log lines: the values of the operator's secret environment variables.

use std::env;

use guard_policy::redact::{is_secret_name, redacted, redacted_text};

/// The minimum length of a secret: shorter values may be ordinary words.
const MIN_LEN: usize = 8;
/// The text that replaces a secret.
const MASK: &str = "***";

/// The values that are masked wherever they occur.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl Secrets {
    /// Finds the secrets in the environment of this process, which is the operator's.
    pub fn of_environment() -> Secrets {
        Secrets::new(
            env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    fn new(variables: impl Iterator<Item = (String, String)>) -> Secrets {
        let secret = variables.filter(|(name, value)| value.len() >= MIN_LEN && is_secret_name(name));
        let mut values: Vec<String> = secret.map(|(_, value)| value).collect();
        // Longest first, because one value may be the beginning of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Secrets(values)
    }

    /// Returns the arguments with all secrets masked.
    pub fn masked(&self, argv: &[String]) -> Vec<String> {
        redacted(argv).into_iter().map(|argument| self.without(argument)).collect()
    }

    /// Returns a text with all secrets masked.
    pub fn masked_text(&self, text: &str) -> String {
        self.without(redacted_text(text))
    }

    fn without(&self, mut text: String) -> String {
        for value in &self.0 {
            if text.contains(value) {
                text = text.replace(value, MASK);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_operators_secrets_are_logged_nowhere() {
        let variables = [
            ("GITHUB_TOKEN", "hunter22"),
            ("OTHER_TOKEN", "hunter22-long"),
            ("EDITOR", "vim-is-it"),
            ("A_KEY", "short"),
        ];
        let secrets =
            Secrets::new(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter());
        let argv = ["curl", "-H", "X: hunter22-long hunter22", "vim-is-it", "short"].map(str::to_owned);
        assert_eq!(secrets.masked(&argv), ["curl", "-H", "X: *** ***", "vim-is-it", "short"]);
        assert_eq!(secrets.masked_text("a hunter22 b"), "a *** b");
        assert_eq!(format!("{secrets:?}"), "2 secrets");
    }
}
