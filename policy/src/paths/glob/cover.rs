//! Whether one pattern leaves nothing of another.

use super::{Below, Glob};

impl Glob {
    /// Whether nothing that the other pattern covers escapes this one. False where that cannot be proven.
    pub(crate) fn covers_all_of(&self, other: &Glob) -> bool {
        let literal = other.literal();
        if other.is_literal() {
            return self.covers(literal);
        }
        let end = literal.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        end > 0 && self.below(&literal[..end]) == Below::Everything
    }
}
