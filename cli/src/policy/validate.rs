//! `policy validate`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use guard_policy::Document;
use guard_policy::text::shown;
use guard_supervisor::config::Disk;
use guard_supervisor::config::options::Options;
use guard_supervisor::exec::ContentMatcher;
use guard_supervisor::exit::Exit;
use serde::Serialize;

use super::findings::{Finding, count, print_json};
use super::source::{BUILT_IN, PolicyText};
use super::{PolicyError, examples};

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard policy validate\n  \
    openclaw-guard policy validate --strict new.json\n  \
    generate-policy | openclaw-guard policy validate -\n\n\
    With an error the guard does not start. Warnings: keys without effect, patterns that match\n\
    nothing, rules that follow links which the tree may replace, examples that do not hold.\n\n\
    Exit status: 0 valid, 1 errors (with --strict also warnings), 125 the policy cannot be read.")]
pub struct ValidateArgs {
    /// The policy file; - is standard input [default: the policy in force]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Count warnings as errors
    #[arg(long)]
    strict: bool,
}

/// The report on one policy.
#[derive(Debug, Serialize)]
pub struct ValidationReport {
    pub file: String,
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

pub fn validate(options: &Options, arguments: &ValidateArgs) -> Result<Exit, PolicyError> {
    let report = match PolicyText::read(options, arguments.file.as_deref())? {
        Some(source) => report(&source)?,
        None => ValidationReport { file: BUILT_IN.to_owned(), errors: Vec::new(), warnings: Vec::new() },
    };
    if arguments.json {
        print_json(&report)?
    } else {
        print(&report)?
    }
    let is_wrong = !report.errors.is_empty() || arguments.strict && !report.warnings.is_empty();
    Ok(if is_wrong { Exit::Wrong } else { Exit::Success })
}

/// Makes the report on a policy.
///
/// # Errors
/// When the text is not UTF-8, or the command line is invalid.
pub fn report(source: &PolicyText) -> Result<ValidationReport, PolicyError> {
    let mut report = ValidationReport { file: source.name(), errors: Vec::new(), warnings: Vec::new() };
    match source.document()? {
        Err(problems) => report.errors = problems.iter().map(Finding::from).collect(),
        Ok(document) => report.warnings = warnings(source, &document)?,
    }
    Ok(report)
}

/// All warnings, for each agent that the document names.
fn warnings(source: &PolicyText, document: &Document) -> Result<Vec<Finding>, PolicyError> {
    let text = source.text()?;
    let exists = |path: &[u8]| {
        use std::os::unix::ffi::OsStrExt;
        Path::new(std::ffi::OsStr::from_bytes(path)).exists()
    };
    let mut sentences: Vec<String> = Vec::new();
    let named = document.agents().filter(|agent| *agent != "*" && *agent != source.agent());
    for agent in std::iter::once(source.agent()).chain(named) {
        let policy = Arc::new(source.policy(agent, Disk::Used)?);
        let left_out = ContentMatcher::new(Arc::clone(&policy)).warning();
        // What the workspace is depends on the directory and not on the policy.
        let own = policy.warnings().iter().filter(|warning| !warning.starts_with("${workspace}"));
        for sentence in own.cloned().chain(policy.lint(document, &exists)).chain(left_out) {
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    let mut findings: Vec<_> = sentences.iter().map(|sentence| Finding::new(text, sentence)).collect();
    let failing = examples::ask(source, document)?.failures;
    findings.extend(failing.into_iter().map(|mut finding| {
        finding.message.push_str(" (openclaw-guard policy test)");
        finding
    }));
    // In the order of the text; findings without a place come last.
    findings.sort_by_key(|finding| (finding.line.is_none(), finding.line, finding.column));
    Ok(findings)
}

fn print(report: &ValidationReport) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for error in &report.errors {
        writeln!(out, "{}", error.line(&report.file, ""))?;
    }
    for warning in &report.warnings {
        writeln!(out, "{}", warning.line(&report.file, "warning"))?;
    }
    let file = shown(report.file.as_bytes());
    match (report.errors.len(), report.warnings.len()) {
        (0, 0) => writeln!(out, "{file}: fine"),
        (0, warnings) => writeln!(out, "{file}: fine, with {}", count(warnings, "warning")),
        (errors, _) => writeln!(out, "{file}: {}", count(errors, "error")),
    }
}
