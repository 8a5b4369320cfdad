//! `openclaw-guard check`: asks the policy what it would say, by the same function that enforces it.

use std::io::{BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::{Access, Because, Exec, Outcome, Policy, Request, Role, Source, Verdict, decide};
use serde::{Deserialize, Serialize};

use crate::cli::{Options, Question};
use crate::exit::Exit;
use crate::setup::{self, Disk, Places, SetupError};
use crate::text::shown;

/// Why `check` gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(
        "nothing to check: give --read, --write, --exec, --batch or -- CMD (see openclaw-guard check --help)"
    )]
    NoQuestion,
    #[error("{0}: command not found")]
    NotFound(String),
    #[error("cannot read standard input: {0}")]
    Input(std::io::Error),
    #[error("cannot write the answer: {0}")]
    Output(std::io::Error),
}

/// Answers the question.
///
/// # Errors
/// When the policy cannot be loaded, or nothing was asked.
pub fn check(options: &Options, question: &Question) -> Result<Exit, CheckError> {
    let places = Places::find(options)?;
    if question.batch {
        return batch(&setup::policy(options, &places, Disk::Unused)?, &places.home);
    }
    let policy = setup::policy(options, &places, Disk::Used)?;
    for warning in policy.warnings() {
        eprintln!("openclaw-guard: {warning}");
    }
    if let Some(path) = &question.read {
        return answer(question, &policy, "read", &file(path), &[], &places.cwd);
    }
    if let Some(path) = &question.write {
        return answer(question, &policy, "write", &file(path), &[], &places.cwd);
    }
    if let Some(path) = &question.exec {
        let argv = [path.as_os_str().as_bytes().to_vec()];
        return answer(question, &policy, "exec", &file(path), &argv, &places.cwd);
    }
    let name = question.command.first().ok_or(CheckError::NoQuestion)?;
    let program = crate::run::candidates(name)
        .into_iter()
        .find(|path| nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok() && path.is_file())
        .ok_or_else(|| CheckError::NotFound(shown(name.as_bytes())))?;
    let argv: Vec<_> = question.command.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    answer(question, &policy, "exec", &file(&program), &argv, &places.cwd)
}

fn file(path: &Path) -> PathBuf {
    setup::real(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

fn answer(
    question: &Question,
    policy: &Policy,
    operation: &str,
    path: &Path,
    argv: &[Vec<u8>],
    cwd: &Path,
) -> Result<Exit, CheckError> {
    let bytes = path.as_os_str().as_bytes();
    let verdict = match operation {
        "read" => decide(policy, &Request::File { path: bytes, access: Access::READ }),
        "write" => decide(policy, &Request::File { path: bytes, access: Access::WRITE }),
        _ => {
            let cwd = cwd.as_os_str().as_bytes();
            decide(policy, &Request::Exec(Exec { path: bytes, argv, cwd, role: Role::Program }))
        }
    };
    let mut out = std::io::stdout().lock();
    let written = if question.json {
        writeln!(out, "{}", json(&verdict))
    } else {
        let word = match verdict.outcome {
            Outcome::Allow => "allow",
            Outcome::Deny => "deny",
            Outcome::Ask => "ask",
        };
        let because = &verdict.because;
        writeln!(out, "{word} {operation} {}\n  {}\n  {}", shown(bytes), because.rule(), because.text)
    };
    written.map_err(CheckError::Output)?;
    Ok(match verdict.outcome {
        Outcome::Allow => Exit::Success,
        Outcome::Deny => Exit::Denied,
        Outcome::Ask => Exit::Ask,
    })
}

#[derive(Serialize)]
struct Answer<'a> {
    outcome: Outcome,
    because: Reason<'a>,
}

#[derive(Serialize)]
struct Reason<'a> {
    source: Source,
    path: &'a str,
    text: &'a str,
}

fn json(verdict: &Verdict<'_>) -> String {
    let because = &verdict.because;
    let reason = Reason { source: because.source, path: &because.path, text: &because.text };
    // Strings and names of enums: there is nothing that could fail.
    serde_json::to_string(&Answer { outcome: verdict.outcome, because: reason }).unwrap_or_default()
}

/// One question of a batch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    op: Op,
    path: Option<String>,
    argv: Option<Vec<String>>,
    resolved: Option<String>,
    cwd: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Op {
    Read,
    Write,
    Exec,
}

/// One answer a line, in order; a line that is no question is denied and says so.
fn batch(policy: &Policy, home: &Path) -> Result<Exit, CheckError> {
    let mut bad = false;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (number, line) in std::io::stdin().lock().split(b'\n').enumerate() {
        let line = line.map_err(CheckError::Input)?;
        let text = ask(policy, home, &line).unwrap_or_else(|problem| {
            bad = true;
            let text = format!("line {}: {problem}", number + 1);
            let because = Because::new(Source::Builtin, "", text.clone(), text);
            json(&Verdict { outcome: Outcome::Deny, because })
        });
        writeln!(out, "{text}").map_err(CheckError::Output)?;
    }
    out.flush().map_err(CheckError::Output)?;
    Ok(if bad { Exit::Failure } else { Exit::Success })
}

fn ask(policy: &Policy, home: &Path, line: &[u8]) -> Result<String, String> {
    let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let expand = |path: &str| cleaned(home, path);
    let cwd = line.cwd.as_deref().map_or(Ok(b"/".to_vec()), expand)?;
    let path = match (&line.path, &line.resolved) {
        (Some(path), None) => path,
        (None, Some(path)) if matches!(line.op, Op::Exec) => path,
        _ => return Err("expected \"path\", or \"resolved\" for op exec".to_owned()),
    };
    let path = expand(path)?;
    let argv = match (line.op, line.argv) {
        (Op::Exec, Some(argv)) => argv.into_iter().map(String::into_bytes).collect(),
        (Op::Exec, None) => vec![path.clone()],
        (_, None) => Vec::new(),
        (_, Some(_)) => return Err("\"argv\" is for op exec".to_owned()),
    };
    let request = match line.op {
        Op::Read => Request::File { path: &path, access: Access::READ },
        Op::Write => Request::File { path: &path, access: Access::WRITE },
        Op::Exec => Request::Exec(Exec { path: &path, argv: &argv, cwd: &cwd, role: Role::Program }),
    };
    Ok(json(&decide(policy, &request)))
}

/// An absolute path without `.`, `..` and doubled slashes; `~` and `~/` are the home.
fn cleaned(home: &Path, path: &str) -> Result<Vec<u8>, String> {
    let expanded = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            [home.as_os_str().as_bytes(), rest.as_bytes()].concat()
        }
        _ => path.as_bytes().to_vec(),
    };
    if expanded.first() != Some(&b'/') {
        return Err(format!("{path:?} is not an absolute path"));
    }
    let mut names: Vec<&[u8]> = Vec::new();
    for name in expanded.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    let mut clean = vec![b'/'];
    clean.extend_from_slice(&names.join(&b'/'));
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use super::cleaned;

    #[test]
    fn paths_are_cleaned_without_the_disk() {
        let of = |path: &str| cleaned("/home/u".as_ref(), path).map(|path| String::from_utf8(path).unwrap());
        assert_eq!(of("~/a/./b/../c//d/"), Ok("/home/u/a/c/d".to_owned()));
        assert_eq!(of("/../.."), Ok("/".to_owned()));
        assert_eq!(of("~"), Ok("/home/u".to_owned()));
        assert!(of("~other/x").is_err());
        assert!(of("a").is_err());
    }
}
