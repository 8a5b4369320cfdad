//! A number that only somebody who sees the card can type.
//!
//! A terminal that does not answer queries does not say when it has drawn the card: it may not know the query, or be slow
//! because much output is still on its way. A word alone may then be meant for a question of the program.
//!
//! Why: docs/decisions.md, "On a terminal that does not answer, a yes needs a number from the card"

/// How many numbers there are.
const NUMBERS: u32 = 10_000;

/// The number, in decimal.
#[derive(Debug)]
pub struct Proof(String);

impl Proof {
    /// Chooses a number at random.
    pub fn new() -> Proof {
        let mut bytes = [0; 4];
        let chosen = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        let is_random = chosen.is_ok_and(|count| count == bytes.len());
        // Without randomness the program could know the number, so no line contains it.
        Proof(if is_random { format!("{:04}", u32::from_ne_bytes(bytes) % NUMBERS) } else { String::new() })
    }

    /// Returns the number.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a line is a yes with the number.
    pub fn is_in(&self, line: &str) -> bool {
        !self.0.is_empty() && line.strip_prefix("yes ").is_some_and(|given| given.trim() == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_needs_the_number() {
        let proof = Proof::new();
        let number = proof.as_str().to_owned();
        assert_eq!(number.len(), 4);
        assert!(proof.is_in(&format!("yes {number}")) && proof.is_in(&format!("yes  {number} ")));
        for line in ["yes", "yes ", "y", number.as_str(), &format!("no {number}"), &format!("yes {number}1")]
        {
            assert!(!proof.is_in(line), "{line:?}");
        }
        assert!(!Proof(String::new()).is_in("yes "));
    }
}
