//! systemd's journal, in its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): a datagram for each line.
//!
//! The journal is a copy. The log alone decides whether a call that must be logged may go on.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use guard_policy::Outcome;

use super::reader::{AuditEntry, EntryBody, summary};

/// Where journald listens (systemd-journald.service(8)).
const SOCKET: &str = "/run/systemd/journal/socket";
/// How long to wait for room in journald's socket.
const IO_TIMEOUT: Duration = Duration::from_millis(500);
/// The pause after a failed send.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The priorities of syslog(3): denials, faults and defects of the log are warnings, all else is
/// informational.
const WARNING: &str = "4";
const INFORMATIONAL: &str = "6";

/// A socket that is connected to the journal.
#[derive(Debug)]
pub struct Journal {
    socket: UnixDatagram,
    /// When sending failed, and how many lines the journal has missed; None while the journal works.
    down: Option<(Instant, u64)>,
}

impl Journal {
    /// Connects to the journal of this host.
    ///
    /// # Errors
    /// If no journal listens there.
    pub fn open() -> io::Result<Journal> {
        Journal::at(Path::new(SOCKET))
    }

    /// Connects to the journal at this socket.
    ///
    /// # Errors
    /// If no journal listens there.
    fn at(path: &Path) -> io::Result<Journal> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        socket.set_write_timeout(Some(IO_TIMEOUT))?;
        Ok(Journal { socket, down: None })
    }

    /// Sends a line of the log. Returns a message for the operator when the journal fails, and when it works
    /// again.
    pub fn send(&mut self, line: &str) -> Option<String> {
        if let Some((since, lost)) = &mut self.down
            && since.elapsed() < RETRY_INTERVAL
        {
            *lost += 1;
            return None;
        }
        match (self.socket.send(&datagram(line)), self.down) {
            (Ok(_), None) => None,
            (Ok(_), Some((_, lost))) => {
                self.down = None;
                Some(format!("the journal accepts lines again; it lacks {lost} of them"))
            }
            (Err(error), None) => {
                self.down = Some((Instant::now(), 1));
                Some(format!(
                    "cannot write to the journal: {error}; lines are missing there, the audit log has them"
                ))
            }
            (Err(_), Some((_, lost))) => {
                self.down = Some((Instant::now(), lost + 1));
                None
            }
        }
    }
}

fn datagram(line: &str) -> Vec<u8> {
    let mut fields = Vec::new();
    let mut field = |name: &str, value: &str| {
        // A line break would start the next field.
        let value = value.replace('\n', " ");
        fields.extend_from_slice(format!("{name}={value}\n").as_bytes());
    };
    field("SYSLOG_IDENTIFIER", "openclaw-guard");
    field("GUARD_LINE", line);
    let Some(entry) = AuditEntry::parse(line.as_bytes()) else { return fields };
    field("PRIORITY", if entry.is_warning() { WARNING } else { INFORMATIONAL });
    field("MESSAGE", &summary(&entry));
    field("GUARD_OPERATION", &entry.operation);
    field("GUARD_SESSION", &entry.session);
    field("GUARD_AGENT", &entry.agent);
    if entry.n.is_some() {
        field("GUARD_ID", &entry.id.to_string());
    }
    if let EntryBody::Decision(decision) = &entry.what {
        field("GUARD_VERDICT", decision.verdict.as_str());
        field("GUARD_PATH", &decision.path);
        field("GUARD_PID", &decision.pid.to_string());
        let rule = &decision.reason.path;
        if decision.verdict != Outcome::Allow || !rule.is_empty() {
            field("GUARD_RULE", rule);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const LINE: &str = r#"{"prev":"x","n":3,"time":"2026-11-22T02:00:00Z","session":"s","agent":"main","pid":7,"chain":[],"operation":"read","path":"/a\nFAKE=1","argv":["cat","/a"],"verdict":"deny","because":{"source":"global","path":"p","text":"t"},"tier":"broker","micros":1}"#;

    fn received(socket: &UnixDatagram) -> BTreeMap<String, String> {
        let mut buffer = [0; 4096];
        let length = socket.recv(&mut buffer).unwrap();
        let text = str::from_utf8(&buffer[..length]).unwrap();
        let fields = text.lines().map(|line| line.split_once('=').expect("a field"));
        fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_line_is_a_datagram_of_fields() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let journald = UnixDatagram::bind(&path).unwrap();
        let mut journal = Journal::at(&path).unwrap();
        assert_eq!(journal.send(LINE), None);
        let fields = received(&journald);
        assert_eq!(fields["GUARD_LINE"], LINE);
        assert_eq!(fields["PRIORITY"], "4");
        assert_eq!(fields["SYSLOG_IDENTIFIER"], "openclaw-guard");
        assert_eq!((&*fields["GUARD_VERDICT"], &*fields["GUARD_OPERATION"]), ("deny", "read"));
        assert_eq!(fields["GUARD_PATH"], "/a FAKE=1");
        assert!(!fields.contains_key("FAKE"), "a path is no field");
        assert!(fields["MESSAGE"].contains("deny  read /a\\u{A}FAKE=1"), "{}", fields["MESSAGE"]);
    }

    #[test]
    fn a_missing_journal_is_reported_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        assert!(Journal::at(&path).is_err());
        let journald = UnixDatagram::bind(&path).unwrap();
        let mut journal = Journal::at(&path).unwrap();
        drop(journald);
        assert!(journal.send(LINE).is_some_and(|line| line.contains("cannot write to the journal")));
        assert_eq!((journal.send(LINE), journal.send(LINE)), (None, None));
        assert!(journal.down.is_some_and(|(_, lost)| lost == 3));
    }
}
