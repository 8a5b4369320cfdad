//! `openclaw-guard approvals saved` and `approvals forget`: what "always" has saved, and taking it back.

use std::io::Write;
use std::path::Path;

use clap::Args;
use guard_openclaw::approvals_store::{AnswerStore, File, UpdateError};
use guard_policy::store::{SavedAnswer, SavedGrant, Store};
use guard_policy::text::{shown, shown_json};
use guard_supervisor::exit::Exit;
use jiff::Timestamp;
use serde_json::{Value, json};

/// How to list what is saved.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard approvals saved\n  \
    openclaw-guard approvals saved --json | jq -r '.[].pattern'\n\n\
    Answers that the gateway stores are in its own list: openclaw approvals get.\n\n\
    Exit status: 0, 125 when a store cannot be read.")]
pub struct SavedArguments {
    /// Print a JSON array of objects: id, agent, file, kind (program, files, origin), pattern, argPattern, bits,
    /// lastUsedAt
    #[arg(long)]
    json: bool,
}

/// What to forget.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard approvals forget 3f0c\n  \
    openclaw-guard approvals forget /srv/report.csv\n  \
    openclaw-guard approvals forget --all\n\n\
    Running guards of this user notice within a second, and ask again.\n\n\
    Exit status: 0 forgotten; 1 no such answer is saved, or several begin with this; 125 when a\n\
    store cannot be read or written.")]
pub struct ForgetArguments {
    /// The id that `saved` shows, or its beginning; or a pattern, which means every answer for it
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    answers: Vec<String>,
    /// Forget everything that `saved` lists
    #[arg(long)]
    all: bool,
}

/// Why the stores cannot be listed or changed.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    #[error("{0}")]
    Broken(String),
    #[error(transparent)]
    Update(#[from] UpdateError),
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

/// Reads a store. `None` if there is none.
fn read(store: AnswerStore, state: &Path) -> Result<Option<Store>, SavedError> {
    match store.load(state) {
        File::Present(contents) => Ok(Some(contents.store)),
        File::Absent | File::Elsewhere => Ok(None),
        File::Broken(problem) => Err(SavedError::Broken(problem)),
    }
}

/// Whether an answer counts as saved. OpenClaw's store also has what the operator wrote there.
fn is_listed(store: AnswerStore, answer: &SavedAnswer) -> bool {
    let is_allow_always = matches!(answer.grant, SavedGrant::Program { is_allow_always: true, .. });
    store == AnswerStore::Own || is_allow_always
}

/// Removes these answers in one step. Returns for each whether it was there.
fn forget_in(store: AnswerStore, state: &Path, answers: &[&SavedAnswer]) -> Result<Vec<bool>, UpdateError> {
    store.apply(state, |store| answers.iter().map(|answer| store.forget(answer)).collect())
}

/// Lists what is saved.
///
/// # Errors
/// When a store cannot be read, or the list cannot be written.
pub fn list(state: &Path, arguments: &SavedArguments) -> Result<Exit, SavedError> {
    let all = saved(state)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let value: Value = all.iter().map(|(store, answer)| as_json(answer, &store.path(state))).collect();
        writeln!(out, "{}", shown_json(&format!("{value:#}")))?;
    } else if all.is_empty() {
        writeln!(out, "no answers are saved")?;
    }
    let mut heading = None;
    for (store, answer) in all.iter().filter(|_| !arguments.json) {
        if heading.replace(store) != Some(store) {
            writeln!(out, "{}", shown(store.path(state).as_os_str().as_encoded_bytes()))?;
        }
        writeln!(out, "  {}", row(answer))?;
    }
    Ok(Exit::Success)
}

/// Removes answers.
///
/// # Errors
/// When a store cannot be read or changed.
pub fn forget(state: &Path, arguments: &ForgetArguments) -> Result<Exit, SavedError> {
    let all = saved(state)?;
    let chosen = match arguments.all {
        true => all.iter().collect(),
        false => match chosen(&all, &arguments.answers) {
            Ok(chosen) => chosen,
            Err(why) => {
                eprintln!("openclaw-guard: {why}");
                return Ok(Exit::Unanswered);
            }
        },
    };
    let mut out = std::io::stdout().lock();
    if chosen.is_empty() {
        writeln!(out, "no answers are saved")?;
    }
    for store in AnswerStore::ALL {
        let of_store = chosen.iter().filter(|(of, _)| *of == store);
        let answers: Vec<&SavedAnswer> = of_store.map(|(_, answer)| answer).collect();
        if answers.is_empty() {
            continue;
        }
        for (answer, was_there) in answers.iter().zip(forget_in(store, state, &answers)?) {
            // Another command may have removed the answer first.
            let word = if was_there { "forgotten" } else { "gone already" };
            writeln!(out, "{word}: {}", row(answer))?;
        }
    }
    Ok(Exit::Success)
}

fn saved(state: &Path) -> Result<Vec<(AnswerStore, SavedAnswer)>, SavedError> {
    let mut all = Vec::new();
    for store in AnswerStore::ALL {
        let answers = read(store, state)?.map(|store| store.saved_answers()).unwrap_or_default();
        all.extend(
            answers.into_iter().filter(|answer| is_listed(store, answer)).map(|answer| (store, answer)),
        );
    }
    Ok(all)
}

/// Finds what each word means: all answers for a pattern, or the one whose id begins with it. The error is a sentence.
fn chosen<'a>(
    all: &'a [(AnswerStore, SavedAnswer)],
    words: &[String],
) -> Result<Vec<&'a (AnswerStore, SavedAnswer)>, String> {
    let mut chosen: Vec<&(AnswerStore, SavedAnswer)> = Vec::new();
    for word in words {
        let is_for = |one: &&(AnswerStore, SavedAnswer)| pattern(&one.1) == word;
        let mut found: Vec<_> = all.iter().filter(is_for).collect();
        if found.is_empty() && !word.is_empty() {
            found = all.iter().filter(|(_, answer)| answer.id().starts_with(word.as_str())).collect();
            if found.len() > 1 {
                return Err(format!(
                    "{}: {} answers begin with this; give more of the id",
                    shown(word.as_bytes()),
                    found.len()
                ));
            }
        }
        if found.is_empty() {
            return Err(format!(
                "{}: no such answer is saved; `openclaw-guard approvals saved` lists them",
                shown(word.as_bytes())
            ));
        }
        chosen.extend(found);
    }
    chosen.dedup();
    Ok(chosen)
}

fn pattern(answer: &SavedAnswer) -> &str {
    match &answer.grant {
        SavedGrant::Program { pattern, .. }
        | SavedGrant::Files { pattern, .. }
        | SavedGrant::Origin { origin: pattern } => pattern,
    }
}

/// `3f0c12ab99de  main  rw     /srv/out/**`
fn row(answer: &SavedAnswer) -> String {
    let (what, more) = match &answer.grant {
        SavedGrant::Files { bits, .. } => (bits.to_string(), String::new()),
        SavedGrant::Program { .. } if answer.is_bound() => {
            ("start".to_owned(), "  (with the same arguments, in the same directory)".to_owned())
        }
        SavedGrant::Program { arg_pattern: Some(arguments), .. } => {
            ("start".to_owned(), format!("  (with arguments that match {})", shown(arguments.as_bytes())))
        }
        SavedGrant::Program { .. } => ("start".to_owned(), String::new()),
        SavedGrant::Origin { .. } => ("reach".to_owned(), String::new()),
    };
    let agent = shown(answer.agent.as_bytes());
    let used = answer.last_used.map(|at| format!("  (last used {})", day(at))).unwrap_or_default();
    format!("{}  {agent:<8}  {what:<5}  {}{more}{used}", answer.id(), shown(pattern(answer).as_bytes()))
}

/// The day of a time in milliseconds since 1970, in UTC as in the log.
fn day(at: u64) -> String {
    let time = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    time.map_or_else(|| "at an unknown time".to_owned(), |time| time.strftime("%Y-%m-%d").to_string())
}

fn as_json(answer: &SavedAnswer, file: &Path) -> Value {
    let mut value = json!({
        "id": answer.id(),
        "agent": answer.agent,
        "file": file.to_string_lossy(),
        "pattern": pattern(answer),
    });
    match &answer.grant {
        SavedGrant::Program { arg_pattern, .. } => {
            value["kind"] = "program".into();
            value["argPattern"] = json!(arg_pattern);
            value["lastUsedAt"] = json!(answer.last_used);
        }
        SavedGrant::Files { bits, .. } => {
            value["kind"] = "files".into();
            value["bits"] = bits.to_string().into();
        }
        SavedGrant::Origin { .. } => value["kind"] = "origin".into(),
    }
    value
}
