//! `limits`: how much a session may take.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// The least that `limits.memory` may be, in bytes: a shell needs as much.
const MIN_MEMORY: u64 = 1 << 20;
/// The units of a size.
const UNITS: [(char, u32); 3] = [('K', 10), ('M', 20), ('G', 30)];
/// A size, in the schema.
const SIZE: &str = "^[1-9][0-9]*[KMG]?$";

/// `limits`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct LimitsSection {
    /// The memory of all processes of a session together: bytes, or K, M or G of 1024 each. More ends the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SIZE))]
    pub(crate) memory: Option<String>,
    /// The processes and threads of a session. More end the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) pids: Option<u64>,
    /// The descriptors that one process may have open. More fail with EMFILE.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) open_files: Option<u64>,
    /// How long a session may last, in seconds. Then it is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) seconds: Option<u64>,
}

/// How much a session may take. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The memory of all its processes together, in bytes.
    pub memory: Option<u64>,
    /// The number of its processes and threads.
    pub pids: Option<u64>,
    /// The number of descriptors that one of its processes may have open.
    pub open_files: Option<u64>,
    /// How long it may last, in seconds.
    pub seconds: Option<u64>,
}

/// Why a limit of the command line cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// It has no `=`.
    #[error("must be NAME=VALUE, such as memory=2G")]
    Form,
    /// There is no limit of that name.
    #[error("\"{0}\" is not a limit: use memory, pids, openFiles or seconds")]
    Name(String),
    /// The value is wrong; holds what it must be.
    #[error("{0}")]
    Value(&'static str),
}

/// What a memory limit must be.
pub(crate) const SIZE_IS: &str = "must be a size of 1M or more: bytes, or K, M or G (\"512M\")";
/// What the other limits must be.
pub(crate) const NUMBER_IS: &str = "must be a whole number above 0";

/// Reads a size: `512M`.
pub(crate) fn size(text: &str) -> Option<u64> {
    let unit = UNITS.iter().find(|(letter, _)| text.ends_with(*letter));
    let (digits, shift) = unit.map_or((text, 0), |(letter, shift)| (text.trim_end_matches(*letter), *shift));
    let is_plain = digits.len() + usize::from(unit.is_some()) == text.len();
    let is_number = is_plain && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes >= MIN_MEMORY)
}

fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number > 0)
}

impl Limits {
    pub(crate) fn from_document(section: &LimitsSection) -> Limits {
        let LimitsSection { memory, pids, open_files, seconds } = section;
        let memory = memory.as_deref().and_then(size);
        Limits { memory, pids: *pids, open_files: *open_files, seconds: *seconds }
    }

    /// Reads one limit as the command line has it: `memory=2G`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_one(text: &str) -> Result<Limits, LimitError> {
        let (name, value) = text.split_once('=').ok_or(LimitError::Form)?;
        let count = || number(value).map(Some).ok_or(LimitError::Value(NUMBER_IS));
        let none = Limits::default();
        Ok(match name {
            "memory" => Limits { memory: Some(size(value).ok_or(LimitError::Value(SIZE_IS))?), ..none },
            "pids" => Limits { pids: count()?, ..none },
            "openFiles" => Limits { open_files: count()?, ..none },
            "seconds" => Limits { seconds: count()?, ..none },
            _ => return Err(LimitError::Name(name.to_owned())),
        })
    }

    /// Returns, for each limit, the lower one of the two.
    #[must_use]
    pub fn tightened(self, other: Limits) -> Limits {
        let lower = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Limits {
            memory: lower(self.memory, other.memory),
            pids: lower(self.pids, other.pids),
            open_files: lower(self.open_files, other.open_files),
            seconds: lower(self.seconds, other.seconds),
        }
    }

    /// Whether there is no limit.
    pub fn is_empty(&self) -> bool {
        *self == Limits::default()
    }

    /// `limits.memory` as it may be written; empty without a limit.
    pub(crate) fn memory_text(&self) -> String {
        let Some(bytes) = self.memory else { return String::new() };
        let unit = UNITS.iter().rev().find(|(_, shift)| bytes.trailing_zeros() >= *shift);
        unit.map_or_else(|| bytes.to_string(), |(letter, shift)| format!("{}{letter}", bytes >> shift))
    }
}

/// `memory 2G, seconds 60`
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |name: &str, value: Option<u64>| value.map(|value| format!("{name} {value}"));
        let all = [
            self.memory.map(|_| format!("memory {}", self.memory_text())),
            number("pids", self.pids),
            number("openFiles", self.open_files),
            number("seconds", self.seconds),
        ];
        f.write_str(&all.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024_and_nothing_else() {
        for (text, bytes) in [("1048576", 1 << 20), ("1024K", 1 << 20), ("3M", 3 << 20), ("2G", 2 << 30)] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in
            ["", "M", "0", "1023K", "2GG", "2g", "+2G", "-2G", "1.5G", " 2G", "2G ", "99999999999G", "２G"]
        {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn a_limit_of_the_command_line_tightens_and_never_loosens() {
        let policy = Limits { memory: Some(2 << 30), pids: Some(10), ..Limits::default() };
        let flags = ["memory=1G", "pids=20", "openFiles=7", "seconds=60", "seconds=9"];
        let flags = flags.iter().map(|flag| Limits::parse_one(flag).unwrap());
        let limits = flags.fold(policy, Limits::tightened);
        assert_eq!(limits.to_string(), "memory 1G, pids 10, openFiles 7, seconds 9");
    }

    #[test]
    fn what_is_no_limit_is_refused() {
        for text in
            ["memory", "memory=", "memory=0", "cpus=1", "=1", "pids=0", "pids=+1", "pids=1M", "seconds=1.5"]
        {
            assert!(Limits::parse_one(text).is_err(), "{text}");
        }
    }
}
