//! Warnings that are given once.

use std::collections::VecDeque;

/// How many are remembered, as in OpenClaw.
const REMEMBERED: usize = 256;

/// The warnings that a process has given. Beyond 256 warnings the oldest are forgotten, and may be printed again.
#[derive(Clone, Debug, Default)]
pub struct SeenWarnings {
    given: VecDeque<String>,
}

impl SeenWarnings {
    /// Remembers a warning; false if it was given before.
    pub fn remember(&mut self, warning: &str) -> bool {
        if self.given.iter().any(|given| given == warning) {
            return false;
        }
        if self.given.len() >= REMEMBERED {
            self.given.pop_front();
        }
        self.given.push_back(warning.to_owned());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_given_once_until_256_others_were() {
        let mut seen = SeenWarnings::default();
        assert!(seen.remember("first"));
        assert!(!seen.remember("first"));
        for number in 0..REMEMBERED - 1 {
            assert!(seen.remember(&number.to_string()));
        }
        assert!(!seen.remember("first"));
        assert!(seen.remember("one more"));
        assert!(seen.remember("first"));
    }
}
