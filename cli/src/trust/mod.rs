//! `openclaw-guard trust`: lets what a project's own file allows take effect, as the file is now.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use guard_openclaw::peer::nested_guard::guard_above;
use guard_policy::text::{shown, shown_json};
use guard_policy::{ProjectFile, ProjectGrant};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::project_files::{self, ReadProject};
use guard_supervisor::config::trusted_projects::{TrustError, TrustedProject, TrustedProjects};
use guard_supervisor::config::{Paths, SetupError};
use guard_supervisor::exit::Exit;
use serde_json::{Value, json};

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard trust                       the project that this directory is in\n  \
    openclaw-guard trust ~/project             another one\n  \
    openclaw-guard trust --list\n  \
    openclaw-guard trust --forget ~/project\n\n\
    A project's file, .openclaw/guard.json, always makes your policy stricter. What it allows takes\n\
    effect only if you trust it, and only for what your policy would ask about, as if you had answered\n\
    \"always\". It never overrides a denial of your policy. If the file changes, it is not trusted any\n\
    more.\n\n\
    Exit status: 0; 1 with --forget, if the file was not trusted; 125 error.")]
pub struct TrustArgs {
    /// The project's directory, or its file [default: the nearest file, from here upward]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    path: Option<PathBuf>,
    /// List the trusted files
    #[arg(long, conflicts_with_all = ["path", "forget"])]
    list: bool,
    /// Stop trusting this file
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with = "path")]
    forget: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Why nothing was trusted.
#[derive(Debug, thiserror::Error)]
pub enum TrustCommandError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Record(#[from] TrustError),
    #[error("trust works only outside a guard: process {0} above this one is, or may be, a guard")]
    Inside(i32),
    #[error("cannot open {path}: {error}", path = shown(path.as_os_str().as_bytes()))]
    Path { path: PathBuf, error: io::Error },
    #[error(
        "there is no {place} in {path} or above it",
        place = ProjectFile::PLACE,
        path = shown(.0.as_os_str().as_bytes())
    )]
    Nothing(PathBuf),
    #[error("{path} cannot be trusted: {why}", path = shown(path.as_os_str().as_bytes()))]
    Never { path: PathBuf, why: String },
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// Trusts a file, forgets one, or lists them.
///
/// # Errors
/// When there is no such file, it cannot be trusted, or the record cannot be read or written.
pub fn act(options: &Options, arguments: &TrustArgs) -> Result<Exit, TrustCommandError> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    if let Some(guard) = guard_above(own) {
        return Err(TrustCommandError::Inside(guard));
    }
    let paths = Paths::find(options)?;
    match &arguments.forget {
        _ if arguments.list => list(&paths, arguments.json),
        Some(path) => forget(&paths, path, arguments.json),
        None => trust(options, &paths, arguments),
    }
}

fn trust(options: &Options, paths: &Paths, arguments: &TrustArgs) -> Result<Exit, TrustCommandError> {
    let project = find(paths, arguments.path.as_deref())?;
    if let Some(why) = &project.distrust {
        return Err(TrustCommandError::Never { path: project.path, why: why.clone() });
    }
    let grants = project_files::grants(options, paths, &project)?;
    // The operator sees what the file allows before it takes effect.
    print_grants(&project, &grants, arguments.json)?;
    let file = TrustedProject { path: project.path, sha256: project.sha256 };
    TrustedProjects::add(&paths.state_directory, file)?;
    if !arguments.json {
        writeln!(io::stdout(), "trusted, from the next start of a guard on")?;
    }
    Ok(Exit::Success)
}

/// Finds the file that a path means.
fn find(paths: &Paths, named: Option<&Path>) -> Result<ReadProject, TrustCommandError> {
    let none = |path: &Path| TrustCommandError::Nothing(path.to_owned());
    let Some(path) = named else {
        let here = &paths.cwd;
        return project_files::nearest(paths, here)?.ok_or_else(|| none(here));
    };
    let directory = directory(path)?;
    project_files::read(paths, &directory)?.ok_or_else(|| none(&directory))
}

/// Returns the real path of a project's directory. `path` may be the directory, its `.openclaw`, or the file in there.
fn directory(path: &Path) -> Result<PathBuf, TrustCommandError> {
    let absolute = std::path::absolute(path)?;
    let (folder, name) = ProjectFile::PLACE.split_once('/').unwrap_or_default();
    let is = |path: &Path, name: &str| path.file_name().is_some_and(|other| other == name);
    let mut top = absolute.as_path();
    for name in [name, folder] {
        if is(top, name)
            && let Some(parent) = top.parent()
        {
            top = parent;
        }
    }
    top.canonicalize().map_err(|error| TrustCommandError::Path { path: path.to_owned(), error })
}

fn forget(paths: &Paths, path: &Path, json: bool) -> Result<Exit, TrustCommandError> {
    // The project may be gone.
    let top = match directory(path) {
        Ok(top) => top,
        Err(_) => std::path::absolute(path)?,
    };
    let file = if top.ends_with(ProjectFile::PLACE) { top } else { top.join(ProjectFile::PLACE) };
    let was_there = TrustedProjects::forget(&paths.state_directory, &file)?;
    if json {
        print_json(&json!({ "path": text(&file), "forgotten": was_there }))?;
    } else if was_there {
        writeln!(io::stdout(), "{}: not trusted any more", text(&file))?;
    } else {
        writeln!(io::stdout(), "{}: was not trusted", text(&file))?;
    }
    Ok(if was_there { Exit::Success } else { Exit::Wrong })
}

fn list(paths: &Paths, json: bool) -> Result<Exit, TrustCommandError> {
    let trusted = TrustedProjects::load(&paths.state_directory)?;
    let state = |file: &TrustedProject| {
        let directory = file.path.ancestors().nth(2).unwrap_or(&file.path);
        match project_files::read(paths, directory) {
            Ok(Some(project)) if project.distrust.is_some() => "cannot be trusted any more",
            Ok(Some(project)) if project.sha256 == file.sha256 => "trusted",
            Ok(Some(_)) => "changed",
            Ok(None) => "missing",
            Err(_) => "unreadable",
        }
    };
    if json {
        let one = |file: &TrustedProject| json!({ "path": text(&file.path), "sha256": file.sha256, "state": state(file) });
        print_json(&trusted.files().iter().map(one).collect())?;
        return Ok(Exit::Success);
    }
    let mut out = io::stdout().lock();
    for file in trusted.files() {
        writeln!(out, "{}  {}", text(&file.path), state(file))?;
    }
    Ok(Exit::Success)
}

fn print_grants(project: &ReadProject, grants: &[ProjectGrant], json: bool) -> io::Result<()> {
    if json {
        let one = |grant: &ProjectGrant| {
            let bits = grant.bits.map(|bits| bits.to_string());
            json!({ "key": grant.key, "pattern": grant.pattern, "bits": bits })
        };
        let grants: Vec<Value> = grants.iter().map(one).collect();
        return print_json(
            &json!({ "path": text(&project.path), "sha256": project.sha256, "grants": grants }),
        );
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text(&project.path))?;
    match grants {
        [] => writeln!(out, "  allows nothing that your policy asks about")?,
        _ => writeln!(out, "  allows, where your policy asks:")?,
    }
    for ProjectGrant { pattern, bits, .. } in grants {
        let pattern = shown(pattern.as_bytes());
        match bits {
            Some(bits) => writeln!(out, "    {:<5} {pattern}", bits.to_string())?,
            None => writeln!(out, "    start {pattern}")?,
        }
    }
    Ok(())
}

fn print_json(value: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{}", shown_json(&serde_json::to_string_pretty(value)?))
}

fn text(path: &Path) -> String {
    shown(path.as_os_str().as_bytes())
}
