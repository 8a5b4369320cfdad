//! A decision, as it is reported.

use guard_openclaw::peer::proc::Tid;
use guard_policy::{Outcome, Reason};

/// What a caller wanted to do, in the policy's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Read a file or list a directory.
    Read,
    /// Change a file, or an entry of a directory.
    Write,
    /// Start a program.
    Exec,
    /// Map a file as code.
    Map,
    /// Connect a socket.
    Connect,
    /// Give a socket an address, to listen there.
    Bind,
    /// Act on another process.
    Signal,
    /// Trace a process (ptrace).
    Trace,
    /// Send a request to a device or file (ioctl).
    Ioctl,
    /// Call one of OpenClaw's tools.
    Tool,
    /// Run a command outside the guard.
    Elevated,
    /// Ask for a command outside the guard, and be refused.
    #[serde(rename = "elevated-denied")]
    ElevatedDenied,
}

impl Operation {
    /// Returns the word for the operation in a line about a denial.
    pub fn word(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Exec => "exec",
            Operation::Map => "map",
            Operation::Connect => "connect",
            Operation::Bind => "bind",
            Operation::Signal => "signal",
            Operation::Trace => "trace",
            Operation::Ioctl => "ioctl",
            Operation::Tool => "tool",
            Operation::Elevated | Operation::ElevatedDenied => "run-outside",
        }
    }
}

/// The most bytes of arguments in a line.
pub const MAX_ARGV: usize = 4096;
/// The most bytes of arguments in the line of a denial. The limit is lower, because the tree can cause any number of denials.
pub const MAX_DENIED_ARGV: usize = 512;

/// A decision about a call.
#[derive(Clone, Debug)]
pub struct DecisionEvent {
    /// The process.
    pub pid: Tid,
    /// The process and its ancestors up to the first command. The logger fills it in if it is empty.
    pub chain: Vec<(Tid, String)>,
    /// What the process wanted to do.
    pub operation: Operation,
    /// The real path, or the address.
    pub path: Vec<u8>,
    /// The arguments, for an exec.
    pub argv: Vec<Vec<u8>>,
    /// What was decided.
    pub outcome: Outcome,
    /// The reason for the decision.
    pub reason: Reason<'static>,
    /// Microseconds from receiving the call to the decision.
    pub micros: u64,
}

/// Shortens arguments to `most` bytes for reports: a caller chooses their length, and the log keeps them.
pub fn shortened(argv: &[Vec<u8>], most: usize) -> Vec<Vec<u8>> {
    let mut left = most;
    let mut shown = Vec::new();
    for (index, argument) in argv.iter().enumerate() {
        let length = argument.len().min(left);
        let mut text = argument[..length].to_vec();
        if length < argument.len() || left == 0 {
            let (bytes, more) = (argument.len() - length, argv.len() - index - 1);
            text.extend_from_slice(format!("… (+{bytes} bytes, {more} more arguments)").as_bytes());
            shown.push(text);
            break;
        }
        // The NUL counts, too: otherwise empty arguments would have no bound.
        left = (left - length).saturating_sub(1);
        shown.push(text);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_bounded_and_marked_as_cut() {
        let of =
            |argv: &[&[u8]], most| shortened(&argv.iter().map(|one| one.to_vec()).collect::<Vec<_>>(), most);
        assert_eq!(of(&[b"cat", b"/a"], 16), [b"cat".to_vec(), b"/a".to_vec()]);
        let cut = of(&[b"cat", b"/a/long/path/indeed", b"x", b"y"], 8);
        assert_eq!(cut, [b"cat".to_vec(), "/a/l… (+15 bytes, 2 more arguments)".into()]);
        let empty = vec![Vec::new(); 1_000_000];
        assert_eq!(shortened(&empty, 8).len(), 9);
        assert!(shortened(&empty, 8).concat().ends_with(b"more arguments)"));
    }
}
