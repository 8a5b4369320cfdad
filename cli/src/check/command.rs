//! Predicts OpenClaw's verdict on a command line before a shell runs it. Nothing is enforced here.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_openclaw::command_text::{self, Evaluation, Resolved, Risk, Segment, Surroundings, Verdicts};
use guard_policy::analysis::{Once, quoted};
use guard_policy::environment::Variable;
use guard_policy::text::shown;
use guard_policy::{Policy, Verdict};
use guard_supervisor::config::{Paths, environment};
use guard_supervisor::exit::Exit;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::batch::error::QuestionError;
use super::output::ReasonOutput;
use super::{CheckError, lookup};

/// Whether an argument that names no program may be a command line: it has characters that names do not have.
pub fn is_text(argument: &OsStr) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./+@%:,".contains(byte) || *byte >= 0x80;
    !argument.as_bytes().iter().all(is_plain)
}

/// Answers `check -- 'string'`, on stdout and by the exit status.
///
/// # Errors
/// When the output cannot be written.
pub fn answer(text: &OsStr, is_json: bool, policy: &Policy, paths: &Paths) -> Result<Exit, CheckError> {
    let text = text.to_str().ok_or_else(|| CheckError::NoText(shown(text.as_bytes())))?;
    let env = environment::of_command(policy, &paths.state_directory).env;
    let evaluation = evaluate(policy, text, &paths.cwd, &paths.home, Some(&env));
    let verdicts = command_text::verdicts(policy, &evaluation);
    let mut out = std::io::stdout().lock();
    let written = if is_json {
        writeln!(out, "{}", value(&evaluation, &verdicts))
    } else {
        out.write_all(render(text, &evaluation, &verdicts).as_bytes())
    };
    super::output::written(written)?;
    Ok(super::output::status(verdicts.whole.outcome))
}

/// Evaluates a command in a directory. Without variables the disk is not read, and only paths resolve to programs.
pub fn evaluate(
    policy: &Policy,
    text: &str,
    cwd: &Path,
    home: &Path,
    env: Option<&[Variable]>,
) -> Evaluation {
    let resolve = |name: &str| match env {
        Some(env) => {
            let path = lookup::program(OsStr::new(name), env, cwd)?;
            let real = guard_openclaw::real_path::real(&path).to_str()?.to_owned();
            Some(Resolved { path: path.to_str()?.to_owned(), real })
        }
        None => name.starts_with('/').then(|| Resolved { path: name.to_owned(), real: name.to_owned() }),
    };
    let around =
        Surroundings { cwd: &cwd.to_string_lossy(), home: &home.to_string_lossy(), resolve: &resolve };
    command_text::evaluate(policy, text, &around)
}

/// Renders the answer for a human.
fn render(text: &str, evaluation: &Evaluation, verdicts: &Verdicts<'_>) -> String {
    let mut lines = vec![format!("{} command {}", verdicts.whole.outcome.as_str(), shown(text.as_bytes()))];
    if let Some(reason) = evaluation.reason {
        lines.push(format!("  not parsed completely: {reason}"));
    }
    for (segment, verdict) in evaluation.segments.iter().zip(&verdicts.segments) {
        lines.push(format!("  {} {}", verdict.outcome.as_str(), shown(quoted(&segment.argv).as_bytes())));
        lines.push(format!("    {}: {}", shown(program(segment).as_bytes()), why(segment, verdict)));
    }
    match evaluation.once {
        None => lines.push("  \"always\" would allow these arguments in this directory:".to_owned()),
        Some(once) => lines.push(format!("  \"always\" would count once: {}", once.text())),
    }
    for entry in evaluation.allow_always.iter().filter(|_| evaluation.once.is_none()) {
        lines.push(format!("    {} {}", shown(entry.pattern.as_bytes()), entry.arg_pattern));
    }
    lines.join("\n") + "\n"
}

/// The resolved path of the program, as far as it was found.
fn program(segment: &Segment) -> &str {
    let found = segment.resolved.as_ref().map(|found| found.real.as_str());
    found.unwrap_or_else(|| segment.program.first().map_or("", String::as_str))
}

fn why(segment: &Segment, verdict: &Verdict<'_>) -> String {
    let mut why = vec![verdict.reason.rule().to_owned()];
    if let Some(blocked) = &segment.blocked {
        why.push(format!("the programs that {} starts are unknown", shown(blocked.as_bytes())));
    }
    why.extend(segment.risks.iter().map(Risk::to_string));
    why.join("; ")
}

/// The answer as JSON, with OpenClaw's names where it has them.
fn value(evaluation: &Evaluation, verdicts: &Verdicts<'_>) -> Value {
    let parts = evaluation.segments.iter().zip(&verdicts.segments);
    let mut answer = json!({
        "outcome": verdicts.whole.outcome,
        "because": ReasonOutput::from_reason(&verdicts.whole.reason),
        "analysisOk": evaluation.analysis_ok(),
        "allowlistSatisfied": evaluation.satisfied(),
        "segments": parts.map(|(segment, verdict)| part(segment, verdict)).collect::<Vec<_>>(),
        "allowAlways": evaluation.allow_always,
    });
    let mut add = |key: &str, text: Option<&str>| {
        if let Some(text) = text {
            answer[key] = text.into();
        }
    };
    add("reason", evaluation.reason.map(command_text::Blocker::name));
    add("once", evaluation.once.map(Once::text));
    answer
}

fn part(segment: &Segment, verdict: &Verdict<'_>) -> Value {
    let mut part = json!({
        "argv": segment.argv,
        "by": segment.by.name(),
        "match": segment.matched,
        "outcome": verdict.outcome,
        "because": ReasonOutput::from_reason(&verdict.reason),
        "span": [segment.span.start, segment.span.end],
    });
    if let Some(found) = &segment.resolved {
        part["resolved"] = found.path.as_str().into();
        part["realpath"] = found.real.as_str().into();
    }
    if let Some(blocked) = &segment.blocked {
        part["blocked"] = blocked.as_str().into();
    }
    if !segment.risks.is_empty() {
        part["risks"] = segment.risks.iter().map(|risk| risk.name()).collect();
    }
    part
}

/// `command` in a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    command: String,
    cwd: Option<String>,
    /// The `PATH` that resolves names to programs on the disk.
    path: Option<String>,
}

impl CommandQuestion {
    pub fn answer(self, policy: &Policy, home: &Path) -> Result<String, QuestionError> {
        let cwd = self.cwd.as_deref().unwrap_or("/");
        if !cwd.starts_with('/') {
            return Err(QuestionError::NotAbsolute(cwd.to_owned()));
        }
        let env = self.path.map(|path| [(b"PATH".to_vec(), path.into_bytes())]);
        let env = env.as_ref().map(<[Variable; 1]>::as_slice);
        let evaluation = evaluate(policy, &self.command, Path::new(cwd), home, env);
        Ok(value(&evaluation, &command_text::verdicts(policy, &evaluation)).to_string())
    }
}
