//! Names of tools with `*`, the only wildcard (`src/agents/glob-pattern.ts`).

/// One name of a list, already in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolPattern {
    /// `*`
    Any,
    /// A name without a star.
    Name(String),
    /// What stands before, between and after the stars; at least two parts.
    Parts(Vec<String>),
}

impl ToolPattern {
    pub(super) fn parse(name: &str) -> ToolPattern {
        match name {
            "*" => ToolPattern::Any,
            name if name.contains('*') => ToolPattern::Parts(name.split('*').map(str::to_owned).collect()),
            name => ToolPattern::Name(name.to_owned()),
        }
    }

    pub(super) fn matches(&self, tool: &str) -> bool {
        match self {
            ToolPattern::Any => true,
            ToolPattern::Name(name) => name == tool,
            ToolPattern::Parts(parts) => fits(parts, tool),
        }
    }
}

/// Each part may match at its first position, because a star matches whatever is left.
fn fits(parts: &[String], tool: &str) -> bool {
    let [first, middle @ .., last] = parts else { return false };
    let Some(mut rest) = tool.strip_prefix(first.as_str()) else { return false };
    for part in middle {
        let Some(at) = rest.find(part.as_str()) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_star_is_special() {
        let matches = |pattern: &str, tool: &str| ToolPattern::parse(pattern).matches(tool);
        assert!(matches("sessions_*", "sessions_"));
        assert!(matches("*_search", "web_search"));
        assert!(matches("a*a", "aa"));
        assert!(!matches("a*a", "a"));
        assert!(matches("a*b*b", "abb"));
        assert!(!matches("a*b*b", "ab"));
        assert!(!matches("rea?", "read"));
        assert!(!matches("r.ad", "read"));
        assert!(!matches("[r]ead", "read"));
        assert!(matches("**", "read"));
    }

    proptest! {
        #[test]
        fn agrees_with_a_regular_expression(pattern in "[ab*]{0,6}", tool in "[ab]{0,6}") {
            let expression = regex::Regex::new(&format!("^{}$", pattern.replace('*', ".*"))).unwrap();
            prop_assert_eq!(ToolPattern::parse(&pattern).matches(&tool), expression.is_match(&tool));
        }
    }
}
