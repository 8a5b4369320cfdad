//! Errors in a `guard.json`, with their position.

/// One error with its position. `Display` prints the line that the operator reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {}{message}{}", fmt_key(.key), fmt_nearest(.nearest))]
pub struct Problem {
    /// The file as the caller named it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The full key, such as `exec.securty`; empty if the text cannot be parsed.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// For an unknown key or value: the most similar valid one.
    pub nearest: Option<String>,
}

fn fmt_key(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}

fn fmt_nearest(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|n| format!("; did you mean \"{n}\"?")).unwrap_or_default()
}

/// Converts a byte offset to a line and a column, both from 1. The column counts characters.
pub(crate) fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// The candidate with the smallest edit distance, if it is close enough to be a typo.
pub(crate) fn nearest(found: &str, candidates: &[&str]) -> Option<String> {
    let limit = found.chars().count().max(3) / 2 + 1;
    candidates
        .iter()
        .map(|c| (distance(&found.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| (*c).to_owned())
}

/// The Levenshtein distance, computed with one row.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_typing_mistakes_only() {
        let keys = ["security", "ask", "askFallback"];
        assert_eq!(nearest("securty", &keys).as_deref(), Some("security"));
        assert_eq!(nearest("askfallback", &keys).as_deref(), Some("askFallback"));
        assert_eq!(nearest("asks", &keys).as_deref(), Some("ask"));
        assert_eq!(nearest("zzzzzzzzz", &keys), None);
    }

    #[test]
    fn distance_is_symmetric() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("sitting", "kitten"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
