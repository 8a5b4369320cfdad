//! Whether one pattern covers everything that another covers.

use super::{Below, Glob};

impl Glob {
    /// Returns whether this pattern covers everything that the other one covers. False where that cannot be
    /// proven.
    pub(crate) fn covers_all_of(&self, other: &Glob) -> bool {
        let literal = other.literal();
        if other.is_literal() {
            return self.covers(literal);
        }
        let end = literal.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        end > 0 && self.below(&literal[..end]) == Below::Everything
    }
}
