//! `openclaw-guard audit`: reads the log, and verifies it.

pub mod export;
pub mod follow;
pub mod stats;
pub mod tail;
pub mod verify;

use std::io;

use clap::{Args, Subcommand};
use guard_supervisor::audit::reader::ReadError;
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, SetupError};
use guard_supervisor::exit::Exit;

use export::{ExportError, ExportOptions};
use tail::{LineFilter, Shown};

/// What to do with the log.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Print the last lines of the log
    #[command(after_help = "Examples:\n  \
        openclaw-guard audit tail\n  \
        openclaw-guard audit tail --denied -n 50\n  \
        openclaw-guard audit tail --follow --denied\n  \
        openclaw-guard audit tail --json | jq -r 'select(.verdict == \"deny\").path'\n\n\
        Each line begins with its id, eight hexadecimal digits.\n\n\
        Exit status: 0, 125 when the log does not exist or cannot be read.")]
    Tail(Tail),
    /// Count the log's lines by verdict, operation, denied path, program and session
    #[command(after_help = "Examples:\n  \
        openclaw-guard audit stats\n  \
        openclaw-guard audit stats --json | jq '.denied.paths[0]'\n\n\
        Exit status: 0, 125 when the log does not exist or cannot be read.")]
    Stats(Stats),
    /// Send each line once to an OpenTelemetry collector
    ///
    /// The protocol is OTLP over HTTP, with JSON. A file beside the log records how far it was sent, and the next export
    /// continues there. If the collector does not accept a batch, the export tries again.
    /// OTEL_EXPORTER_OTLP_HEADERS has headers for every request.
    #[command(after_help = "Examples:\n  \
        openclaw-guard audit export --otlp http://localhost:4318\n  \
        openclaw-guard audit export --otlp https://otel.example.org --denied --follow\n  \
        openclaw-guard audit export --otlp http://localhost:4318 --since 12h\n\n\
        Exit status: 0 when every line was sent, 125 error.")]
    Export(Export),
    /// Check that nobody has changed the log
    ///
    /// Each line carries the hash of the line before it. For each cut, swap, edit or unfinished line, `verify` prints the
    /// file and the line. Somebody who may write the log can replace it as a whole; docs/audit.md says what helps then.
    #[command(after_help = "Examples:\n  \
        openclaw-guard audit verify\n  \
        openclaw-guard audit verify --has 3f9a2c01\n  \
        openclaw-guard audit verify --json | jq -r '.findings[] | \"\\(.file):\\(.line) \\(.what)\"'\n  \
        openclaw-guard --audit /srv/log.jsonl audit verify\n\n\
        Exit status: 0 unchanged, 1 changed, 125 the log cannot be read.")]
    Verify(Verify),
}

/// Which lines.
#[derive(Args, Debug)]
pub struct Tail {
    /// The number of lines
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    number: usize,
    /// Only denials
    #[arg(long)]
    denied: bool,
    /// Continue with new lines until interrupted
    #[arg(short, long)]
    follow: bool,
    /// Print the lines as JSON Lines, with `id` and the number `n`
    #[arg(long)]
    json: bool,
}

/// How to print it.
#[derive(Args, Debug)]
pub struct Stats {
    /// Print a JSON object: lines, counted, from, to, sessions, and lists of name and count
    #[arg(long)]
    json: bool,
}

/// What to send, and where to.
#[derive(Args, Debug)]
pub struct Export {
    /// The collector's URL; /v1/logs is added if it is missing
    #[arg(long, value_name = "URL")]
    otlp: String,
    /// Send the lines since this time, or this long ago (90m, 12h, 7d), even if sent before; mark none as sent
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only denials
    #[arg(long)]
    denied: bool,
    /// Continue with new lines until interrupted
    #[arg(short, long)]
    follow: bool,
}

/// How to print it.
#[derive(Args, Debug)]
pub struct Verify {
    /// Require the line with this id, for example the last one that was sent elsewhere
    #[arg(long, value_name = "ID")]
    has: Option<String>,
    /// Print a JSON object: whole, lines, files, removed (log, to, before), putAway (file, from, to, since, until),
    /// findings (file, line, what, text); what: changed, cut, moved, unfinished, cut-at-start, cut-at-end, noted,
    /// head, lost (docs/audit.md, "What the chain finds")
    #[arg(long)]
    json: bool,
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error("cannot write: {0}")]
    Output(io::Error),
}

/// Runs the subcommand. The exit status is 1 when the log was altered.
///
/// # Errors
/// When the log cannot be read, or the output cannot be written.
pub fn act(options: &Options, action: &AuditCommand) -> Result<Exit, AuditError> {
    match done(options, action) {
        // A closed pipe means that the reader has seen enough.
        Err(AuditError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        done => done,
    }
}

fn done(options: &Options, action: &AuditCommand) -> Result<Exit, AuditError> {
    let path = config::audit_log(options)?;
    match action {
        AuditCommand::Tail(Tail { number, denied, follow, json }) => {
            let form = if *json { Shown::Json } else { Shown::Text };
            let lines = if *denied { LineFilter::Denied } else { LineFilter::All };
            let printed = if *follow {
                tail::follow(&path, *number, lines, form)
            } else {
                tail::last(&path, *number, lines, form)
            };
            printed?;
            Ok(Exit::Success)
        }
        AuditCommand::Stats(Stats { json }) => {
            stats::collect(&path)?.print(*json).map_err(AuditError::Output)?;
            Ok(Exit::Success)
        }
        AuditCommand::Export(Export { otlp, since, denied, follow }) => {
            let options =
                ExportOptions { url: otlp, since: since.as_deref(), denied: *denied, follow: *follow };
            export::export(&path, &options)?;
            Ok(Exit::Success)
        }
        AuditCommand::Verify(Verify { has, json }) => {
            let verified = verify::verify(&path, has.as_deref())?;
            match verified.print(*json) {
                // The exit status stands even when nobody reads the output.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    return Err(AuditError::Output(error));
                }
                _ => {}
            }
            Ok(if verified.whole { Exit::Success } else { Exit::Wrong })
        }
    }
}
