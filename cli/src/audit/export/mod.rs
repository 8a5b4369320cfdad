//! `audit export`: sends the lines of the log to an OpenTelemetry collector, each once.

mod cursor;
mod endpoint;
mod http;
mod otlp;

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use guard_policy::text::{counted, shown};
use guard_supervisor::audit::files::{Files, LogPart};
use guard_supervisor::audit::reader::{AuditEntry, ReadError};
use hyper::header::{HeaderName, HeaderValue};
use jiff::Timestamp;

use super::follow::{Follow, FollowPart};
use cursor::{Cursor, Sent};
use endpoint::{CollectorUrlError, Endpoint};
use http::{Failure, Headers, post};

/// The limits of a batch: lines, and bytes.
const LINES: usize = 512;
const BYTES: usize = 1 << 20;
/// How many times a batch is tried.
const MAX_TRIES: u32 = 5;
/// The first pause between tries; each further one is twice as long.
const MIN_RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// The longest pause.
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// OpenTelemetry's variable with the headers for each request.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Why the lines were not sent.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("--otlp {}: {why}", shown(url.as_bytes()))]
    Url { url: String, why: CollectorUrlError },
    #[error("--since {}: give a time (2026-11-22T02:00:00Z) or how long ago (90m, 12h, 7d)", shown(.0.as_bytes()))]
    Since(String),
    #[error("{HEADERS}: {0}; write a list such as authorization=Bearer%20TOKEN,x-tenant=7")]
    Headers(String),
    #[error("{HEADERS} would be sent to {0} in plain text: use https, or a tunnel from this host")]
    Insecure(String),
    #[error("cannot send to {to}: {}", shown(why.as_bytes()))]
    Failed { to: String, why: String },
    #[error(
        "cannot record in {path} how far the log was sent: {error}; if another export runs, wait for its end; --since records nothing"
    )]
    Cursor { path: String, error: io::Error },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    #[error("cannot write: {0}")]
    Output(io::Error),
}

/// What to send.
#[derive(Debug)]
pub struct ExportOptions<'a> {
    /// The collector's URL.
    pub url: &'a str,
    /// Only lines since this time, whatever was sent before.
    pub since: Option<&'a str>,
    /// Only denials.
    pub denied: bool,
    /// Also send new lines, until interrupted.
    pub follow: bool,
}

/// Sends the lines of the log at this path.
///
/// # Errors
/// When not all lines were sent; the next export sends the rest.
pub fn export(path: &Path, options: &ExportOptions<'_>) -> Result<(), ExportError> {
    let url = |why| ExportError::Url { url: options.url.to_owned(), why };
    let endpoint = Endpoint::parse(options.url).map_err(url)?;
    let headers = headers()?;
    if !headers.is_empty() && !endpoint.is_private() {
        return Err(ExportError::Insecure(endpoint.to_string()));
    }
    let since = options.since.map(since).transpose()?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // If there is no log, this returns the error that says so.
    Follow::after(&path, [0; LogPart::ALL.len()])?;
    let to = format!("{endpoint}{}", if options.denied { " denied" } else { "" });
    let mut cursors = Vec::new();
    for part in LogPart::ALL.into_iter().filter(|_| since.is_none()) {
        let files = part.files(&path);
        cursors.push(Cursor::open(&files, &to).map_err(|error| unnoted(&files, error))?);
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ExportError::Runtime)?;
    let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    let mut export =
        Export { endpoint, headers, since, denied: options.denied, cursors, host, runtime, sent: 0, path };
    export.run(options.follow)
}

fn unnoted(files: &Files, error: io::Error) -> ExportError {
    ExportError::Cursor { path: shown(files.directory().as_os_str().as_encoded_bytes()), error }
}

/// Parses `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`, with %XX in values.
fn headers() -> Result<Headers, ExportError> {
    let text = env::var(HEADERS).unwrap_or_default();
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let header = |part: &str| {
        let (name, value) = part.split_once('=').ok_or("there is no =")?;
        let name: HeaderName = name.trim().parse().map_err(|_| "this is not a header name")?;
        let mut value =
            HeaderValue::from_bytes(&decoded(value.trim())).map_err(|_| "this is not a header value")?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    parts.map(|part| header(part).map_err(|why: &str| ExportError::Headers(why.to_owned()))).collect()
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|hex| str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]).0,
            None => (bytes.push(*first), rest = after).0,
        }
    }
    bytes
}

/// Parses a time, or how long ago it was.
fn since(text: &str) -> Result<Timestamp, ExportError> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let wrong = || ExportError::Since(text.to_owned());
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds: i64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let count: i64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let ago = count.checked_mul(seconds).filter(|ago| *ago >= 0).ok_or_else(wrong)?;
    Timestamp::now().checked_sub(jiff::SignedDuration::from_secs(ago)).map_err(|_| wrong())
}

struct Export {
    endpoint: Endpoint,
    headers: Headers,
    since: Option<Timestamp>,
    denied: bool,
    /// One for each part of the log; none with `--since`.
    cursors: Vec<Cursor>,
    host: String,
    runtime: tokio::runtime::Runtime,
    sent: usize,
    path: PathBuf,
}

impl Export {
    fn run(&mut self, follows: bool) -> Result<(), ExportError> {
        let mut from = [0; LogPart::ALL.len()];
        for (part, cursor) in LogPart::ALL.into_iter().zip(&self.cursors) {
            let Some(last) = cursor.last().map_err(|error| self.unnoted(part, error))? else { continue };
            if self.has(part, last)? {
                from[part as usize] = last.n;
            } else {
                eprintln!(
                    "openclaw-guard: line {} was sent last, and is no longer in the log: sending the whole log",
                    last.n
                );
            }
        }
        let mut follow = Follow::after(&self.path, from)?;
        let mut first = true;
        loop {
            let entries = if first || !follows { follow.more()? } else { follow.wait()? };
            if std::mem::take(&mut first) {
                LogPart::ALL.into_iter().for_each(|part| report_removed(part, from[part as usize], &entries));
            }
            for batch in batches(&entries) {
                self.send(batch, follows)?;
            }
            if !follows {
                break;
            }
        }
        writeln!(io::stdout(), "sent {} to {}", counted(self.sent, "line"), self.endpoint)
            .map_err(ExportError::Output)
    }

    fn unnoted(&self, part: LogPart, error: io::Error) -> ExportError {
        unnoted(&part.files(&self.path), error)
    }

    /// Whether this line is in the log, or is older than the oldest kept line.
    fn has(&self, part: LogPart, last: Sent) -> Result<bool, ExportError> {
        let entries = FollowPart::after(part, &self.path, last.n.saturating_sub(1))?.more()?;
        Ok(match entries.first() {
            Some(entry) if entry.n == Some(last.n) => entry.id == last.id,
            Some(entry) => entry.n.is_some_and(|n| n > last.n),
            None => false,
        })
    }

    fn send(&mut self, batch: &[(LogPart, AuditEntry)], follows: bool) -> Result<(), ExportError> {
        let since = self.since;
        let is_selected = |entry: &&AuditEntry| {
            (!self.denied || entry.is_of_denials())
                && since.is_none_or(|since| entry.time.is_some_and(|time| time >= since))
        };
        let selected: Vec<_> = batch.iter().map(|(_, entry)| entry).filter(is_selected).cloned().collect();
        if !selected.is_empty() {
            self.post(&selected, follows)?;
            self.sent += selected.len();
        }
        for (part, cursor) in LogPart::ALL.into_iter().zip(&self.cursors) {
            let lines = batch.iter().rev().filter(|(of, _)| *of == part);
            let last =
                lines.map(|(_, entry)| entry).find_map(|entry| Some(Sent { n: entry.n?, id: entry.id }));
            if let Some(last) = last {
                cursor.advance(last).map_err(|error| self.unnoted(part, error))?;
            }
        }
        Ok(())
    }

    fn post(&self, entries: &[AuditEntry], follows: bool) -> Result<(), ExportError> {
        let body = otlp::request(&self.host, entries);
        let mut pause = MIN_RETRY_INTERVAL;
        for attempt in 1.. {
            let why = match self.runtime.block_on(post(&self.endpoint, &self.headers, body.clone())) {
                Ok(answer) => {
                    if let Some(rejected) = otlp::rejected(&answer) {
                        eprintln!("openclaw-guard: {}: {}", self.endpoint, shown(rejected.as_bytes()));
                    }
                    return Ok(());
                }
                Err(Failure::Later { why, after }) => {
                    pause = after.unwrap_or(pause).min(MAX_RETRY_INTERVAL);
                    why
                }
                Err(Failure::Never { why }) => return Err(self.failed(why)),
            };
            if attempt == MAX_TRIES {
                if !follows {
                    return Err(self.failed(why));
                }
                // With --follow, waits for the collector to come back.
                eprintln!("openclaw-guard: {}; the export will try again", self.failed(why));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_RETRY_INTERVAL);
        }
        Ok(())
    }

    fn failed(&self, why: String) -> ExportError {
        ExportError::Failed { to: self.endpoint.to_string(), why }
    }
}

/// Says which lines of a part were removed since the last export, which ended at line `from`.
fn report_removed(part: LogPart, from: u64, entries: &[(LogPart, AuditEntry)]) {
    let first = entries.iter().find(|(of, _)| *of == part).and_then(|(_, entry)| entry.n);
    if let Some(n) = first.filter(|n| from > 0 && *n > from + 1) {
        eprintln!(
            "openclaw-guard: lines {} to {} were removed before they were sent: increase audit.keep",
            from + 1,
            n - 1
        );
    }
}

/// Splits the entries into batches within the limits.
fn batches(entries: &[(LogPart, AuditEntry)]) -> impl Iterator<Item = &[(LogPart, AuditEntry)]> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = rest.iter().take(LINES).take_while(|(_, entry)| {
            bytes += entry.text.len();
            bytes <= BYTES
        });
        // A line longer than the limit makes a batch of its own.
        let count = fits.count().max(usize::from(!rest.is_empty()));
        let (batch, after) = rest.split_at(count);
        rest = after;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_points_or_spans() {
        assert_eq!(since("2026-11-22T02:00:00Z").unwrap(), "2026-11-22T02:00:00Z".parse().unwrap());
        for (text, seconds) in [("90m", 5400), ("12h", 43_200), ("7d", 604_800), ("5s", 5)] {
            let then = since(text).unwrap();
            let ago = Timestamp::now().duration_since(then).as_secs();
            assert!((seconds..seconds + 60).contains(&ago), "{text}: {ago}");
        }
        for wrong in ["", "h", "-1h", "1w", "yesterday", "99999999999999999999d", "9223372036854775807d", "é"]
        {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_decoded() {
        assert_eq!(decoded("Bearer%20a%2Cb%"), b"Bearer a,b%");
        assert_eq!(decoded("%zz%4"), b"%zz%4");
        assert_eq!(decoded("%é%"), "%é%".as_bytes());
    }

    #[test]
    fn a_batch_is_not_too_long() {
        let entry = |length: usize| {
            let line = format!(r#"{{"operation":"test","text":"{}"}}"#, "x".repeat(length));
            (LogPart::Programs, AuditEntry::parse(line.as_bytes()).unwrap())
        };
        let lengths =
            |entries: &[(LogPart, AuditEntry)]| batches(entries).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(&[]), Vec::<usize>::new());
        assert_eq!(lengths(&vec![entry(1); 1025]), [512, 512, 1]);
        assert_eq!(lengths(&[entry(1), entry(BYTES), entry(BYTES / 2), entry(1)]), [1, 1, 2]);
    }
}
