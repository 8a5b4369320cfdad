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
    /// The last lines, for people
    #[command(after_help = "Examples:\n  \
        openclaw-guard audit tail\n  \
        openclaw-guard audit tail --denied -n 50\n  \
        openclaw-guard audit tail --follow --denied\n  \
        openclaw-guard audit tail --json | jq -r 'select(.verdict == \"deny\").path'\n\n\
        The eight digits at the beginning are the line's name.\n\n\
        Exit status: 0, 125 when there is no log or it cannot be read.")]
    Tail(Tail),
    /// What is in the log, counted: verdicts, operations, what was denied most, programs, sessions
    #[command(after_help = "Examples:\n  \
        openclaw-guard audit stats\n  \
        openclaw-guard audit stats --json | jq '.denied.paths[0]'\n\n\
        Exit status: 0, 125 when there is no log or it cannot be read.")]
    Stats(Stats),
    /// Send the lines to an OpenTelemetry collector, each once
    ///
    /// By OTLP over HTTP, as JSON. How far the log was sent is noted beside it, so that the next time goes on from there;
    /// what a collector does not take now is tried for again. OTEL_EXPORTER_OTLP_HEADERS is sent with each request.
    #[command(after_help = "Examples:\n  \
        openclaw-guard audit export --otlp http://localhost:4318\n  \
        openclaw-guard audit export --otlp https://otel.example.org --denied --follow\n  \
        openclaw-guard audit export --otlp http://localhost:4318 --since 12h\n\n\
        Exit status: 0 when all was sent, 125 when not.")]
    Export(Export),
    /// Whether the log is as it was written
    ///
    /// Each line carries the hash of the one before. A cut, a swap, an edit and an unfinished line are named with file and
    /// line. Who may write the log can write all of it anew: what that means is in docs/audit.md.
    #[command(after_help = "Examples:\n  \
        openclaw-guard audit verify\n  \
        openclaw-guard audit verify --has 3f9a2c01\n  \
        openclaw-guard audit verify --json | jq -r '.findings[] | \"\\(.file):\\(.line) \\(.what)\"'\n  \
        openclaw-guard --audit /srv/log.jsonl audit verify\n\n\
        Exit status: 0 when it is, 1 when it is not, 125 when it cannot be read.")]
    Verify(Verify),
}

/// Which lines.
#[derive(Args, Debug)]
pub struct Tail {
    /// How many
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    number: usize,
    /// Denials alone
    #[arg(long)]
    denied: bool,
    /// Go on with what comes, until it is interrupted
    #[arg(short, long)]
    follow: bool,
    /// As they are, with `id` and the number `n`: JSON Lines
    #[arg(long)]
    json: bool,
}

/// How to tell it.
#[derive(Args, Debug)]
pub struct Stats {
    /// An object: lines, counted, from, to, sessions, and lists of name and count
    #[arg(long)]
    json: bool,
}

/// What to send, and where to.
#[derive(Args, Debug)]
pub struct Export {
    /// The collector; /v1/logs is added where it is missing
    #[arg(long, value_name = "URL")]
    otlp: String,
    /// Only what was written since a time or for so long (12h), whatever was sent before; nothing is noted
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Denials alone
    #[arg(long)]
    denied: bool,
    /// Go on with what comes, until it is interrupted
    #[arg(short, long)]
    follow: bool,
}

/// How to tell it.
#[derive(Args, Debug)]
pub struct Verify {
    /// The line of this name must be in it: the last one that was sent elsewhere, for instance
    #[arg(long, value_name = "ID")]
    has: Option<String>,
    /// An object: whole, lines, files, removed with log, to and before, putAway with file, from, to, since and
    /// until, and findings with file, line, what (changed, cut, moved, unfinished,
    /// cut-at-start, cut-at-end, noted, head, lost) and text
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
            let wanted =
                ExportOptions { url: otlp, since: since.as_deref(), denied: *denied, follow: *follow };
            export::export(&path, &wanted)?;
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
