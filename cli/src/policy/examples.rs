//! `policy test`

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use guard_policy::{Document, EntryExample, Example, Exec, Outcome, Policy, Role};
use guard_supervisor::config::Disk;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PolicyError;
use super::findings::{Finding, print_json};
use super::source::{BUILT_IN, PolicyText};
use crate::check::batch;

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard policy test\n  \
    openclaw-guard policy test new.json --json\n\n\
    The questions are in the policy. As with check --batch, the disk is not read:\n  \
    \"examples\": [\n    \
      { \"op\": \"read\", \"path\": \"~/.ssh/id_rsa\", \"outcome\": \"deny\" },\n    \
      { \"op\": \"exec\", \"argv\": [\"git\", \"status\"], \"resolved\": \"/usr/bin/git\", \"outcome\": \"allow\" } ]\n\n\
    An allowlist entry can have examples of its own:\n  \
    { \"pattern\": \"/usr/bin/git\", \"match\": [\"/usr/bin/git status\"], \"not_match\": [\"/usr/bin/gitk\"] }\n\n\
    Exit status: 0 all examples hold, 1 one does not, 125 the policy cannot be read.")]
pub struct ExamplesArgs {
    /// The policy file; - is standard input [default: the policy in force]
    file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The results of a policy's examples.
#[derive(Debug, Default, Serialize)]
pub struct ExampleResults {
    pub examples: usize,
    pub hold: usize,
    pub failures: Vec<Finding>,
}

pub fn test(options: &Options, arguments: &ExamplesArgs) -> Result<Exit, PolicyError> {
    let (mut asked, mut file) = (ExampleResults::default(), BUILT_IN.to_owned());
    if let Some(source) = PolicyText::read(options, arguments.file.as_deref())? {
        file = source.name();
        match source.document()? {
            Ok(document) => asked = ask(&source, &document)?,
            Err(problems) => asked.failures = problems.iter().map(Finding::from).collect(),
        }
    }
    if arguments.json {
        print_json(&asked)?;
    } else {
        let mut out = std::io::stdout().lock();
        for failure in &asked.failures {
            writeln!(out, "{}", failure.line(&file, ""))?;
        }
        writeln!(out, "{} of {} examples hold", asked.hold, asked.examples)?;
    }
    Ok(if asked.failures.is_empty() { Exit::Success } else { Exit::Wrong })
}

/// Evaluates every example of a document.
///
/// # Errors
/// When the policy cannot be compiled.
pub fn ask(source: &PolicyText, document: &Document) -> Result<ExampleResults, PolicyError> {
    let mut asked = ExampleResults::default();
    let mut policies = BTreeMap::new();
    let mut record = |key: &str, failure: Option<String>| -> Result<(), PolicyError> {
        asked.examples += 1;
        match failure {
            None => asked.hold += 1,
            Some(failure) => asked.failures.push(Finding::new(source.text()?, &format!("{key}: {failure}"))),
        }
        Ok(())
    };
    for example in document.examples() {
        let agent = example.agent.as_deref().unwrap_or(source.agent());
        let policy = policy_of(&mut policies, source, agent)?;
        record(&example.key, differs(policy, source, &example))?;
    }
    for example in document.entry_examples() {
        let policy = policy_of(&mut policies, source, &example.agent)?;
        record(&example.key, entry_differs(policy, &example))?;
    }
    Ok(asked)
}

fn policy_of<'p>(
    policies: &'p mut BTreeMap<String, Policy>,
    source: &PolicyText,
    agent: &str,
) -> Result<&'p Policy, PolicyError> {
    // Compiles once for each agent; the entry API cannot return an error.
    if !policies.contains_key(agent) {
        policies.insert(agent.to_owned(), source.policy(agent, Disk::Unused)?);
    }
    Ok(&policies[agent])
}

/// The answer of `check --batch`.
#[derive(Deserialize)]
struct BatchOutput {
    outcome: String,
    #[serde(rename = "because")]
    reason: BatchReason,
}

#[derive(Deserialize)]
struct BatchReason {
    path: String,
    text: String,
}

/// How the answer differs from the expected one.
fn differs(policy: &Policy, source: &PolicyText, example: &Example) -> Option<String> {
    let asked = shown_question(&example.question);
    let answer = batch::ask(policy, &source.paths.home, example.question.to_string().as_bytes());
    let answer: BatchOutput = match answer.map(|text| serde_json::from_str(&text)) {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => return Some(format!("{asked}: a question of this kind has no outcome")),
        Err(problem) => return Some(format!("{asked}: {problem}")),
    };
    let expected = example.outcome.as_str();
    (Outcome::from_name(&answer.outcome) != Some(example.outcome)).then(|| {
        let BatchReason { path, text } = answer.reason;
        format!("{asked}: expected {expected}, got {} ({path}: {text})", answer.outcome)
    })
}

fn shown_question(question: &Value) -> String {
    let text = |name: &str| question[name].as_str();
    let words = question["argv"].as_array().filter(|words| !words.is_empty());
    let about = match words {
        Some(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        None => text("path").or(text("resolved")).unwrap_or_default().to_owned(),
    };
    format!("{} {about}", text("op").unwrap_or_default())
}

/// How the entry's answer differs from the expected one.
fn entry_differs(policy: &Policy, example: &EntryExample) -> Option<String> {
    let command = &example.command;
    let Some(words) = shlex::split(command) else {
        return Some(format!("\"{command}\" has an unfinished quote or backslash"));
    };
    let Some(path) = words.first().filter(|word| word.starts_with('/')) else {
        return Some(format!("\"{command}\" must begin with the absolute path of a program"));
    };
    // As if the program had been found by its name, as commands usually are.
    let name = path.rsplit('/').next().unwrap_or(path);
    let argv: Vec<Vec<u8>> = std::iter::once(name)
        .chain(words[1..].iter().map(String::as_str))
        .map(|w| w.as_bytes().to_vec())
        .collect();
    let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: b"/", role: Role::Program };
    match (policy.entry_matches(&example.entry, &exec), example.matches) {
        (true, false) => Some(format!("{command}: the entry matches it, but must not")),
        (false, true) => Some(format!("{command}: the entry must match it, but does not")),
        _ => None,
    }
}
