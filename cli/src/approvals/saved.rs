//! `openclaw-guard approvals saved` and `approvals forget`: what "always" has saved, and taking it back.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use guard_openclaw::approvals_store::{self, File, UpdateError};
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
    /// Print a JSON array of objects: id, agent, file, kind (program, files), pattern, argPattern, bits,
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

/// The two stores on disk that hold answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreName {
    Own,
    Openclaw,
}

impl StoreName {
    const ALL: [StoreName; 2] = [StoreName::Own, StoreName::Openclaw];

    fn path(self, state: &Path) -> PathBuf {
        match self {
            StoreName::Own => approvals_store::own(state),
            StoreName::Openclaw => state.join(approvals_store::NAME),
        }
    }

    /// Reads it. `None` if there is no such store.
    fn read(self, state: &Path) -> Result<Option<Store>, SavedError> {
        let file = match self {
            StoreName::Own => approvals_store::load_own(state),
            StoreName::Openclaw => approvals_store::load(state),
        };
        match file {
            File::Present(contents) => Ok(Some(contents.store)),
            File::Absent | File::Elsewhere => Ok(None),
            File::Broken(problem) => Err(SavedError::Broken(problem)),
        }
    }

    /// Whether an answer counts as saved. OpenClaw's store also has what the operator wrote there.
    fn lists(self, answer: &SavedAnswer) -> bool {
        let is_allow_always = matches!(answer.grant, SavedGrant::Program { is_allow_always: true, .. });
        self == StoreName::Own || is_allow_always
    }

    /// Removes these answers in one step. Returns for each whether it was there.
    fn forget(self, state: &Path, answers: &[&SavedAnswer]) -> Result<Vec<bool>, UpdateError> {
        let change = |store: &mut Store| answers.iter().map(|answer| store.forget(answer)).collect();
        match self {
            StoreName::Own => approvals_store::apply_own(state, change),
            StoreName::Openclaw => approvals_store::apply(state, change),
        }
    }
}

/// Lists what is saved.
///
/// # Errors
/// When a store cannot be read, or the list cannot be written.
pub fn list(state: &Path, arguments: &SavedArguments) -> Result<Exit, SavedError> {
    let all = saved(state)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let value: Value = all.iter().map(|(name, answer)| as_json(answer, &name.path(state))).collect();
        writeln!(out, "{}", shown_json(&format!("{value:#}")))?;
    } else if all.is_empty() {
        writeln!(out, "no answers are saved")?;
    }
    let mut heading = None;
    for (name, answer) in all.iter().filter(|_| !arguments.json) {
        if heading.replace(name) != Some(name) {
            writeln!(out, "{}", shown(name.path(state).as_os_str().as_encoded_bytes()))?;
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
    for store in StoreName::ALL {
        let of_store = chosen.iter().filter(|(name, _)| *name == store);
        let answers: Vec<&SavedAnswer> = of_store.map(|(_, answer)| answer).collect();
        if answers.is_empty() {
            continue;
        }
        for (answer, was_there) in answers.iter().zip(store.forget(state, &answers)?) {
            // Another command may have been faster.
            let word = if was_there { "forgotten" } else { "gone already" };
            writeln!(out, "{word}: {}", row(answer))?;
        }
    }
    Ok(Exit::Success)
}

fn saved(state: &Path) -> Result<Vec<(StoreName, SavedAnswer)>, SavedError> {
    let mut all = Vec::new();
    for name in StoreName::ALL {
        let answers = name.read(state)?.map(|store| store.saved_answers()).unwrap_or_default();
        all.extend(answers.into_iter().filter(|answer| name.lists(answer)).map(|answer| (name, answer)));
    }
    Ok(all)
}

/// Finds what each word means: all answers for a pattern, or the one whose id begins with it. The error is a sentence.
fn chosen<'a>(
    all: &'a [(StoreName, SavedAnswer)],
    words: &[String],
) -> Result<Vec<&'a (StoreName, SavedAnswer)>, String> {
    let mut chosen: Vec<&(StoreName, SavedAnswer)> = Vec::new();
    for word in words {
        let is_for = |one: &&(StoreName, SavedAnswer)| pattern(&one.1) == word;
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
        SavedGrant::Program { pattern, .. } | SavedGrant::Files { pattern, .. } => pattern,
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
    }
    value
}
