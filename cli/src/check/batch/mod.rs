//! Answers questions in JSON Lines. Paths are taken as written: only the questions `command`, `sandbox-binds` and
//! `sandbox-docker` look at the disk.

mod environment;
pub mod error;
mod formats;
mod network;
mod paths;
mod sandbox;
mod tools;
mod web;

use std::io::{BufRead, ErrorKind, Write};
use std::path::Path;

use guard_policy::{Access, Outcome, Policy, Reason, Source, Verdict};
use guard_supervisor::exit::Exit;
use serde::Deserialize;

use super::CheckError;
use super::command::CommandQuestion;
use super::output::{json, written};
use environment::{BindingQuestion, EnvBindingQuestion, EnvQuestion};
use error::QuestionError;
use formats::{AllowlistQuestion, ArgPatternQuestion, CwdArgvQuestion, DisplayQuestion, SafeBinQuestion};
use network::{BindQuestion, ConnectQuestion, UrlQuestion};
use paths::{ExecQuestion, FileQuestion};
use sandbox::{NodeMatchQuestion, SandboxBindsQuestion, SandboxDockerQuestion};
use tools::ToolsQuestion;
use web::SsrfQuestion;

/// The field that every question has. Each question then parses the rest strictly, and from the text, because a
/// JSON string can hold what a Rust string cannot.
#[derive(Deserialize)]
struct QuestionHeader {
    op: Op,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Op {
    Read,
    Write,
    Exec,
    Connect,
    Url,
    Bind,
    Env,
    EnvBinding,
    Binding,
    Display,
    Allowlist,
    ArgPattern,
    CwdArgv,
    SafeBin,
    Command,
    Ssrf,
    Tools,
    NodeMatch,
    SandboxBinds,
    SandboxDocker,
}

/// Prints one answer for each line, in order; an invalid line gets a denial that says so.
pub fn answer(policy: &Policy, home: &Path) -> Result<Exit, CheckError> {
    let mut bad = false;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (number, line) in std::io::stdin().lock().split(b'\n').enumerate() {
        let line = line.map_err(CheckError::Input)?;
        let text = ask(policy, home, &line).unwrap_or_else(|problem| {
            bad = true;
            let text = format!("line {}: {problem}", number + 1);
            let reason = Reason::new(Source::Builtin, "", text.clone(), text);
            json(&Verdict { outcome: Outcome::Deny, reason })
        });
        // A closed pipe means that the reader has seen enough.
        match writeln!(out, "{text}") {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            written => written.map_err(CheckError::Output)?,
        }
    }
    written(out.flush())?;
    Ok(if bad { Exit::Failure } else { Exit::Success })
}

/// Answers one question as JSON.
///
/// # Errors
/// What is wrong with the question.
pub fn ask(policy: &Policy, home: &Path, line: &[u8]) -> Result<String, QuestionError> {
    match question::<QuestionHeader>(line)?.op {
        Op::Read => question::<FileQuestion>(line)?.answer(policy, home, Access::READ),
        Op::Write => question::<FileQuestion>(line)?.answer(policy, home, Access::WRITE),
        Op::Exec => question::<ExecQuestion>(line)?.answer(policy, home),
        Op::Connect => Ok(question::<ConnectQuestion>(line)?.answer(policy)),
        Op::Url => Ok(question::<UrlQuestion>(line)?.answer(policy)),
        Op::Bind => Ok(question::<BindQuestion>(line)?.answer(policy)),
        Op::Env => Ok(question::<EnvQuestion>(line)?.answer(policy)),
        Op::EnvBinding => Ok(question::<EnvBindingQuestion>(line)?.answer()),
        Op::Binding => Ok(question::<BindingQuestion>(line)?.answer()),
        Op::Display => Ok(question::<DisplayQuestion>(line)?.answer()),
        Op::Allowlist => Ok(question::<AllowlistQuestion>(line)?.answer(home)),
        Op::ArgPattern => Ok(question::<ArgPatternQuestion>(line)?.answer()),
        Op::CwdArgv => Ok(question::<CwdArgvQuestion>(line)?.answer()),
        Op::Command => question::<CommandQuestion>(line)?.answer(policy, home),
        Op::Ssrf => Ok(question::<SsrfQuestion>(line)?.answer()),
        Op::Tools => question::<ToolsQuestion>(line)?.answer(),
        Op::SafeBin => Ok(question::<SafeBinQuestion>(line)?.answer()),
        Op::NodeMatch => Ok(question::<NodeMatchQuestion>(line)?.answer()),
        Op::SandboxBinds => Ok(question::<SandboxBindsQuestion>(line)?.answer(home)),
        Op::SandboxDocker => Ok(question::<SandboxDockerQuestion>(line)?.answer(home)),
    }
}

fn question<'l, Q: Deserialize<'l>>(line: &'l [u8]) -> Result<Q, QuestionError> {
    Ok(serde_json::from_slice(line)?)
}
