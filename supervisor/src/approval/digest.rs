//! SHA-256, and what of a call is known by it.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256. `Display` is lower-case hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Of parts, each with its length before it: `ab` `c` is not `a` `bc`.
    pub fn of_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Digest {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Digest(hash.finalize().into())
    }

    /// Of an environment: every string of it, in the order in which the program finds them.
    pub fn of_environment<'e>(strings: impl IntoIterator<Item = &'e [u8]>) -> Digest {
        Digest::of_parts(strings)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
