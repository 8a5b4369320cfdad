//! The head: a file beside the log that records where the chain ends, so that a truncated log is detected.
//!
//! Why: docs/decisions.md, "The audit log is a chain, and a file beside it records its end"

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use super::chain::{ChainLink, Hash};

/// The size of every head in bytes, so that it can be overwritten in place.
const LENGTH: usize = 256;

/// The content of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The number of the last line.
    n: u64,
    /// The hash of the last line.
    hash: Hash,
    /// The length of the log in bytes, with that line.
    pub length: u64,
    /// The `prev` of the first line that is kept. The lines before it were removed under `audit.keep`.
    pub root: Hash,
}

impl Head {
    /// Creates the head for a log that ends with this line.
    pub fn new(link: ChainLink, length: u64, root: Hash) -> Head {
        Head { n: link.n, hash: link.hash, length, root }
    }

    /// Returns the position after the last line.
    pub fn link(&self) -> ChainLink {
        ChainLink { n: self.n, hash: self.hash }
    }

    /// Reads a head. Returns None if the file is empty.
    ///
    /// # Errors
    /// The kernel's; InvalidData if the content is not a valid head.
    pub fn read(file: &File) -> io::Result<Option<Head>> {
        let mut bytes = [0; LENGTH + 1];
        let mut length = 0;
        while length < bytes.len() {
            match file.read_at(&mut bytes[length..], length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        match &bytes[..length] {
            [] => Ok(None),
            bytes => Head::decode(bytes).map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into()),
        }
    }

    /// Writes the head.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write(&self, file: &File) -> io::Result<()> {
        file.write_all_at(&self.encode(), 0)
    }

    fn encode(&self) -> Vec<u8> {
        // A head has only numbers and hex digits, so serializing it cannot fail.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.resize(LENGTH - 1, b' ');
        bytes.push(b'\n');
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Head> {
        let head: Head = serde_json::from_slice(bytes).ok()?;
        // A head with any changed byte is invalid, even if JSON ignores the byte.
        (head.encode() == bytes).then_some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_of_it_can_be_changed_unseen() {
        let hash = Hash::digest(b"x");
        let head = Head::new(ChainLink { n: u64::MAX, hash }, u64::MAX, hash);
        let bytes = head.encode();
        assert_eq!((bytes.len(), Head::decode(&bytes)), (LENGTH, Some(head)));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert_ne!(Head::decode(&changed), Some(head), "byte {at}");
            }
        }
        assert_eq!(Head::decode(&bytes[..LENGTH - 1]), None);
    }

    #[test]
    fn an_empty_file_has_none_yet() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Head::read(&file).unwrap(), None);
        let head = Head::new(ChainLink { n: 3, hash: Hash::digest(b"x") }, 7, Hash::NONE);
        head.write(&file).unwrap();
        assert_eq!(Head::read(&file).unwrap(), Some(head));
        file.write_all_at(b"x", 256).unwrap();
        assert_eq!(Head::read(&file).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
