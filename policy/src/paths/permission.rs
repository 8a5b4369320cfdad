//! The three-character permission (`rw-`, `r-x`, `???`) and what it grants.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::request::Access;

/// What one bit grants. `No < Ask < Yes`, so the stricter of two is the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grant {
    /// Withheld.
    No,
    /// A human decides.
    Ask,
    /// Granted.
    Yes,
}

/// What a path grants, bit by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rights {
    /// Read, and list a directory.
    pub r: Grant,
    /// Write, create, remove, rename and change attributes.
    pub w: Grant,
    /// Start as a program, map as code.
    pub x: Grant,
}

impl Rights {
    /// Nothing.
    pub const NONE: Rights = Rights::all(Grant::No);
    /// Everything.
    pub const ALL: Rights = Rights::all(Grant::Yes);

    /// Returns rights with the same grant for every bit.
    pub const fn all(grant: Grant) -> Rights {
        Rights { r: grant, w: grant, x: grant }
    }

    /// Returns the stricter of two grants, bit by bit.
    pub fn meet(self, other: Rights) -> Rights {
        Rights { r: self.r.min(other.r), w: self.w.min(other.w), x: self.x.min(other.x) }
    }

    /// Returns the wider of two grants, bit by bit.
    pub fn join(self, other: Rights) -> Rights {
        Rights { r: self.r.max(other.r), w: self.w.max(other.w), x: self.x.max(other.x) }
    }

    /// Returns true when some bit has this grant.
    pub(crate) fn any(self, grant: Grant) -> bool {
        self.r == grant || self.w == grant || self.x == grant
    }

    /// Returns true when every bit that `access` needs is granted without asking.
    pub(crate) fn grants(self, access: Access) -> bool {
        let bits = [(Access::READ, self.r), (Access::WRITE, self.w), (Access::MAP, self.x)];
        bits.into_iter().all(|(bit, grant)| !access.contains(bit) || grant == Grant::Yes)
    }

    /// Returns true when no bit grants more than in `other`.
    pub fn within(self, other: Rights) -> bool {
        self.r <= other.r && self.w <= other.w && self.x <= other.x
    }
}

/// A permission as written: `r`, `-` or `?`, then `w`, `-` or `?`, then `x`, `-` or `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permission(pub Rights);

impl Permission {
    /// Reads exactly three characters; anything else is `None`.
    pub fn parse(text: &str) -> Option<Permission> {
        let bit = |found: u8, letter: u8| match found {
            b'-' => Some(Grant::No),
            b'?' => Some(Grant::Ask),
            _ if found == letter => Some(Grant::Yes),
            _ => None,
        };
        let &[r, w, x] = text.as_bytes() else { return None };
        Some(Permission(Rights { r: bit(r, b'r')?, w: bit(w, b'w')?, x: bit(x, b'x')? }))
    }

    /// Describes it for a sentence: `grants read, and asks for write and execute`.
    pub(crate) fn in_words(self) -> String {
        let Rights { r, w, x } = self.0;
        let list = |grant: Grant| {
            let bits = [("read", r), ("write", w), ("execute", x)];
            let names: Vec<_> =
                bits.into_iter().filter(|(_, of)| *of == grant).map(|(name, _)| name).collect();
            match names.as_slice() {
                [] => None,
                [one] => Some((*one).to_owned()),
                [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
            }
        };
        match (list(Grant::Yes), list(Grant::Ask)) {
            (Some(granted), Some(asked)) => format!("grants {granted}, and asks about {asked}"),
            (Some(granted), None) => format!("grants {granted}"),
            (None, Some(asked)) => format!("asks for {asked}"),
            (None, None) => "grants nothing".to_owned(),
        }
    }
}

/// A set of bits: `r`, `w` and `x`, as a saved answer names them. Never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits {
    r: bool,
    w: bool,
    x: bool,
}

impl Bits {
    /// `r`.
    pub const R: Bits = Bits { r: true, w: false, x: false };
    /// `w`.
    pub const W: Bits = Bits { r: false, w: true, x: false };
    /// `x`.
    pub const X: Bits = Bits { r: false, w: false, x: true };

    /// Reads one to three of the letters, each once and in this order; anything else is `None`.
    pub fn parse(text: &str) -> Option<Bits> {
        let bits = Bits { r: text.contains('r'), w: text.contains('w'), x: text.contains('x') };
        (!text.is_empty() && bits.to_string() == text).then_some(bits)
    }

    /// Returns the bits whose grant satisfies `is`; `None` if there are none.
    pub fn from_rights(rights: Rights, is: impl Fn(Grant) -> bool) -> Option<Bits> {
        let bits = Bits { r: is(rights.r), w: is(rights.w), x: is(rights.x) };
        (bits.r || bits.w || bits.x).then_some(bits)
    }

    /// Returns the bits that are in either set.
    #[must_use]
    pub fn union(self, other: Bits) -> Bits {
        Bits { r: self.r || other.r, w: self.w || other.w, x: self.x || other.x }
    }

    /// Returns the bits that are in both sets; `None` if there are none.
    pub fn intersection(self, other: Bits) -> Option<Bits> {
        let both = Bits { r: self.r && other.r, w: self.w && other.w, x: self.x && other.x };
        (both.r || both.w || both.x).then_some(both)
    }

    /// Returns true when every bit of `other` is in `self`.
    pub fn contains(self, other: Bits) -> bool {
        self.union(other) == self
    }

    /// Returns the rights with each bit of this set granted.
    #[must_use]
    pub fn grant(self, rights: Rights) -> Rights {
        self.set(rights, Grant::Yes)
    }

    /// Returns the rights with each bit of this set withheld.
    #[must_use]
    pub fn withhold(self, rights: Rights) -> Rights {
        self.set(rights, Grant::No)
    }

    fn set(self, rights: Rights, to: Grant) -> Rights {
        let bit = |is: bool, grant: Grant| if is { to } else { grant };
        Rights { r: bit(self.r, rights.r), w: bit(self.w, rights.w), x: bit(self.x, rights.x) }
    }

    /// Returns the rights with each bit of this set granted if it is asked for. A withheld bit stays
    /// withheld.
    #[must_use]
    pub fn answer(self, rights: Rights) -> Rights {
        let bit = |is: bool, grant: Grant| if is && grant == Grant::Ask { Grant::Yes } else { grant };
        Rights { r: bit(self.r, rights.r), w: bit(self.w, rights.w), x: bit(self.x, rights.x) }
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [(self.r, "r"), (self.w, "w"), (self.x, "x")];
        letters.into_iter().filter(|(is, _)| *is).try_for_each(|(_, letter)| f.write_str(letter))
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (grant, letter) in [(self.r, "r"), (self.w, "w"), (self.x, "x")] {
            f.write_str(match grant {
                Grant::No => "-",
                Grant::Ask => "?",
                Grant::Yes => letter,
            })?;
        }
        Ok(())
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl serde::Serialize for Permission {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl serde::Serialize for Rights {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Permission {
    fn schema_name() -> Cow<'static, str> {
        "Permission".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Three characters: `r`, then `w`, then `x`. Instead of each, `-` denies and `?` asks.",
            "type": "string",
            "pattern": "^[r?-][w?-][x?-]$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_three_characters_in_order() {
        for text in ["---", "r--", "rw-", "r-x", "rwx", "???", "rw?", "-?x"] {
            assert_eq!(Permission::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "r", "rw", "rwx ", "wr-", "RWX", "r-X", "--r", "7", "r–x", "rwxr"] {
            assert_eq!(Permission::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn bits_are_letters_in_order() {
        for text in ["r", "w", "x", "rw", "rx", "wx", "rwx"] {
            assert_eq!(Bits::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "-", "r--", "wr", "rr", "R", "?", "r w", "rwxr", "rwxé"] {
            assert_eq!(Bits::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_answer_grants_what_is_asked_and_nothing_else() {
        let rights = Permission::parse("?-?").unwrap().0;
        let answered = |bits: &str| Bits::parse(bits).unwrap().answer(rights).to_string();
        assert_eq!([answered("r"), answered("wx"), answered("rwx")], ["r-?", "?-x", "r-x"]);
    }

    #[test]
    fn meet_and_join_work_bit_by_bit() {
        let a = Permission::parse("r?-").unwrap().0;
        let b = Permission::parse("-wx").unwrap().0;
        assert_eq!(a.meet(b).to_string(), "-?-");
        assert_eq!(a.join(b).to_string(), "rwx");
        assert!(a.meet(b).within(a) && a.within(a.join(b)) && !b.within(a));
    }
}
