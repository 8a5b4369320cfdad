//! The hash chain of the log: each line carries its number and the hash of the line before it.

use std::fmt;

use guard_approvals::Digest;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The SHA-256 of a line without its line feed. It identifies the line, and the next line carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(Digest);

impl Hash {
    /// The `prev` of the first line, which has no line before it.
    pub const NONE: Hash = Hash(Digest([0; 32]));

    /// Returns the hash of a line.
    pub fn digest(line: &[u8]) -> Hash {
        Hash(Digest::of_bytes(line))
    }

    /// Parses 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Hash> {
        Digest::parse(text).map(Hash)
    }

    /// Returns the first 8 digits, the form shown to people.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }

    /// Returns whether the hash begins with these digits, in either case.
    pub fn begins_with(&self, prefix: &str) -> bool {
        let (whole, prefix) = (self.to_string(), prefix.as_bytes());
        prefix.len() <= whole.len() && whole.as_bytes()[..prefix.len()].eq_ignore_ascii_case(prefix)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = String::deserialize(deserializer)?;
        Hash::parse(&text).ok_or_else(|| D::Error::custom("not 64 hexadecimal digits"))
    }
}

/// A position in the chain: the one after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainLink {
    /// The line's number. The first line ever has the number 1.
    pub n: u64,
    /// The line's hash.
    pub hash: Hash,
}

impl ChainLink {
    /// The position before the first line.
    pub const START: ChainLink = ChainLink { n: 0, hash: Hash::NONE };

    /// Returns the line at this position with this body, a non-empty JSON object. Also returns the position after that
    /// line.
    pub fn next(self, body: &str) -> (String, ChainLink) {
        let n = self.n + 1;
        let rest = body.strip_prefix('{').unwrap_or(body);
        let line = format!("{{\"prev\":\"{}\",\"n\":{n},{rest}", self.hash);
        let hash = Hash::digest(line.as_bytes());
        (line, ChainLink { n, hash })
    }
}

/// The fields of a line that place it in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct ChainFields {
    /// The hash of the line before this one.
    pub prev: Hash,
    /// This line's number.
    pub n: u64,
}

impl ChainFields {
    /// Parses the fields of a line. Returns None if the line lacks them.
    pub fn parse(line: &[u8]) -> Option<ChainFields> {
        serde_json::from_slice(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_each_other() {
        let (first, link) = ChainLink::START.next(r#"{"a":1}"#);
        assert_eq!(first, format!(r#"{{"prev":"{}","n":1,"a":1}}"#, "0".repeat(64)));
        // The hash covers the line without its line feed.
        assert_eq!(link.hash.to_string(), Hash::digest(first.as_bytes()).to_string());
        let (second, after) = link.next(r#"{"a":2}"#);
        assert_eq!(ChainFields::parse(second.as_bytes()), Some(ChainFields { prev: link.hash, n: 2 }));
        assert_eq!(after.n, 2);
    }

    #[test]
    fn a_hash_is_what_sha256sum_says() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let hash = Hash::digest(b"");
        assert_eq!(hash.to_string(), empty);
        assert_eq!(Hash::parse(empty), Some(hash));
        assert_eq!(hash.short(), "e3b0c442");
        assert!(hash.begins_with("e3b0") && hash.begins_with("E3B0C") && !hash.begins_with("e3b1"));
        assert!(!hash.begins_with(&format!("{empty}0")));
        for wrong in ["", "e3", &empty[1..], &format!("{empty}00"), &empty.to_uppercase()] {
            assert_eq!(Hash::parse(wrong), None, "{wrong}");
        }
    }
}
