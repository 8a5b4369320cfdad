//! The queue as lines, for pipes and scripts. Answers are lines on standard input.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use guard_approvals::decision::Decision;
use guard_openclaw::clock::now_ms;
use guard_policy::text::shown;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Value, json};

use super::act::Act;
use super::event::{AnswerOutcome, Sender, WatchEvent};
use super::queue::{Key, Queue, QueueChange};
use super::row_text::text;

/// The format of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One JSON object a line.
    Json,
    /// Text for people.
    Plain,
}

/// Writes the lines.
pub struct LineView {
    form: Form,
    /// The path of the approvals socket.
    path: PathBuf,
    out: Box<dyn Write>,
}

impl LineView {
    /// Writes to standard output. `path` is the approvals socket that is served.
    pub fn new(form: Form, path: PathBuf) -> LineView {
        LineView { form, path, out: Box::new(io::stdout()) }
    }

    #[cfg(test)]
    pub fn to(form: Form, out: Box<dyn Write>) -> LineView {
        LineView { form, path: PathBuf::new(), out }
    }

    pub fn start(&mut self, events: Sender) -> io::Result<()> {
        let read = move || {
            for line in io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if events.send(WatchEvent::Line(line)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("answers".into()).spawn(read)?;
        let path = self.path.to_string_lossy().into_owned();
        self.print(
            || json!({"event": "listening", "path": path}),
            || format!("listening on {}\n", shown(path.as_bytes())),
        )
    }

    pub fn changed(&mut self, change: &QueueChange, queue: &Queue) -> io::Result<()> {
        match change {
            QueueChange::Appeared(key) => {
                // If the row has ended already, the next change says so.
                let Some(row) = queue.get(key) else { return Ok(()) };
                let value = || match (&row.approval, &row.asked) {
                    (Some(approval), _) => json!({"event": "requested", "approval": approval.json(key.pid)}),
                    (None, asked) => {
                        json!({"event": "requested", "id": key.id, "pid": key.pid, "request": asked})
                    }
                };
                self.print(value, || text(key, row, now_ms()))
            }
            QueueChange::Ended(key, how) => self.print(
                || json!({"event": "ended", "id": key.id, "pid": key.pid, "how": how}),
                || format!("{}  {}\n", shown(key.id.as_bytes()), shown(how.as_bytes())),
            ),
        }
    }

    pub fn rejected(&mut self, pid: Option<i32>, why: &str) -> io::Result<()> {
        self.print(
            || json!({"event": "turned-away", "pid": pid, "why": why}),
            || {
                let who = pid.map(|pid| format!("process {pid}: ")).unwrap_or_default();
                format!("turned away: {who}{}\n", shown(why.as_bytes()))
            },
        )
    }

    pub fn answered(&mut self, key: &Key, outcome: &AnswerOutcome) -> io::Result<()> {
        let (is_done, what) = match outcome {
            Ok(what) => (true, what.clone()),
            Err(error) => (false, error.to_string()),
        };
        self.print(
            || json!({"event": "answered", "id": key.id, "pid": key.pid, "ok": is_done, "message": what}),
            || format!("{}: {}\n", shown(key.id.as_bytes()), shown(what.as_bytes())),
        )
    }

    pub fn lifecycle(&mut self, key: &Key, what: &str) -> io::Result<()> {
        self.print(
            || json!({"event": "told", "id": key.id, "pid": key.pid, "message": what}),
            || format!("{}: {}\n", shown(key.id.as_bytes()), shown(what.as_bytes())),
        )
    }

    pub fn line(&mut self, line: &str, queue: &Queue) -> io::Result<Act> {
        match read(line, queue) {
            Ok(act) => Ok(act),
            Err(problem) => {
                self.print(
                    || json!({"event": "problem", "message": problem}),
                    || format!("{}\n", shown(problem.as_bytes())),
                )?;
                Ok(Act::Nothing)
            }
        }
    }

    fn print(&mut self, value: impl Fn() -> Value, text: impl Fn() -> String) -> io::Result<()> {
        match self.form {
            Form::Json => value()
                .serialize(&mut serde_json::Serializer::with_formatter(&mut self.out, Ascii))
                .map_err(io::Error::from)
                .and_then(|()| self.out.write_all(b"\n"))?,
            Form::Plain => self.out.write_all(text().as_bytes())?,
        }
        self.out.flush()
    }
}

/// Parses `ID DECISION`.
fn read(line: &str, queue: &Queue) -> Result<Act, String> {
    let words: Vec<_> = line.split_whitespace().collect();
    let (id, decision) = match words[..] {
        [] => return Ok(Act::Nothing),
        [id, decision] => (id.to_ascii_lowercase(), decision),
        _ => return Err("an answer is an id and a decision".to_owned()),
    };
    let decision: Decision = decision.parse().map_err(|words| format!("a decision is {words}"))?;
    let rows = queue.rows();
    let mut found = rows.iter().filter(|(key, _)| key.id.to_ascii_lowercase().starts_with(&id));
    match (found.next(), found.next()) {
        (Some((key, _)), None) => Ok(Act::Answer((*key).clone(), decision)),
        (Some(_), Some(_)) => Err(format!("{id}: ambiguous approval id prefix; use the full id")),
        (None, _) => Err(format!("{id}: unknown or expired approval id")),
    }
}

/// Formats JSON in ASCII only, so that nothing in it acts on a terminal.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        for character in fragment.chars() {
            if character.is_ascii() && character != '\u{7f}' {
                CompactFormatter.write_string_fragment(out, character.encode_utf8(&mut [0; 4]))?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}
