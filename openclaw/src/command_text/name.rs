//! Classifies a word in the position of a command's name.

/// Returns whether a name is a path, which is not searched for along PATH.
pub(super) fn is_path(token: &str) -> bool {
    token.contains(['/', '\\'])
}

/// Returns whether a word has the form `NAME=value`.
pub(super) fn is_assignment(token: &str) -> bool {
    token.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::is_assignment;

    #[test]
    fn assignments_have_a_name() {
        assert!(is_assignment("A_1=") && is_assignment("_=x"));
        assert!(
            !is_assignment("1A=x") && !is_assignment("=x") && !is_assignment("a-b=c") && !is_assignment("a")
        );
    }
}
