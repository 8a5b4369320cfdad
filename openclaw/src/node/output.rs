//! Keeps a part of a run's output.

use serde_json::{Map, Value, json};

/// Follows an output whose end was cut.
const CUT: &str = "\n... (truncated)";

/// Where output comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Descriptor 1.
    Stdout,
    /// Descriptor 2.
    Stderr,
}

/// Keeps the first bytes of both streams together; what comes later is dropped.
#[derive(Clone, Debug)]
pub struct Collector {
    left: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    is_cut: bool,
}

impl Collector {
    /// Creates a collector that keeps `most` bytes.
    pub fn new(most: usize) -> Collector {
        Collector { left: most, stdout: Vec::new(), stderr: Vec::new(), is_cut: false }
    }

    /// Takes more output.
    pub fn append(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = bytes.len().min(self.left);
        self.left -= kept;
        self.is_cut |= kept < bytes.len();
        let into = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        into.extend_from_slice(&bytes[..kept]);
    }

    /// Ends the collection. `exit_code` is the run's exit status, if it has one. `timed_out` says whether the run was
    /// ended because it took too long.
    pub fn end(self, exit_code: Option<i32>, timed_out: bool) -> Captured {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (mut stdout, mut stderr) = (text(self.stdout), text(self.stderr));
        if self.is_cut {
            let last = if stderr.trim().is_empty() { &mut stdout } else { &mut stderr };
            last.push_str(CUT);
        }
        Captured { exit_code, timed_out, stdout, stderr, error: None, nothing: String::new() }
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The exit status; `None` if a signal ended the run, or it did not start.
    pub exit_code: Option<i32>,
    /// Whether the run was ended because it took too long.
    pub timed_out: bool,
    /// What the run wrote to descriptor 1.
    pub stdout: String,
    /// What the run wrote to descriptor 2.
    pub stderr: String,
    /// Why the run did not start.
    pub error: Option<String>,
    pub(super) nothing: String,
}

impl Captured {
    /// The result of a run that did not start.
    pub fn failed(error: String) -> Captured {
        Captured { error: Some(error), ..Captured::default() }
    }

    /// Whether it has ended well.
    pub fn is_success(&self) -> bool {
        self.exit_code == Some(0) && !self.timed_out
    }

    /// The result of `system.run`.
    pub fn payload(&self) -> Value {
        let mut payload = Map::new();
        if let Some(code) = self.exit_code {
            payload.insert("exitCode".to_owned(), json!(code));
        }
        payload.insert("timedOut".to_owned(), json!(self.timed_out));
        payload.insert("success".to_owned(), json!(self.is_success()));
        payload.insert("stdout".to_owned(), json!(self.stdout));
        payload.insert("stderr".to_owned(), json!(self.stderr));
        payload.insert("error".to_owned(), json!(self.error));
        Value::Object(payload)
    }
}
