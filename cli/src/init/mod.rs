//! `openclaw-guard init`: writes a first guard.json.

mod fill;
mod template;
mod workspace;
mod write;

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use guard_openclaw::approvals_store::Stores;
use guard_policy::text::{quoted, shown, shown_json};
use guard_policy::{Access, Outcome, Request, decide};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError};
use guard_supervisor::exit::Exit;
use serde_json::json;

use crate::edit::EditError;
use template::Template;
use workspace::Workspace;
use write::Existing;

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    cd ~/project && openclaw-guard init\n  \
    openclaw-guard init --template claude-code --workspace ~/project\n  \
    openclaw-guard init --template scratch --print | less\n  \
    openclaw-guard --policy ./guard.json init --force     keeps the old one as guard.json.old\n  \
    openclaw-guard init --list --json | jq -r '.[].name'\n\n\
    Exit status: 0, 125 nothing was written.")]
pub struct InitArgs {
    /// The template; --list describes them
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Template::Coding)]
    template: Template,
    /// The directory that the agent works in [default: the current directory]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// List the templates
    #[arg(long, conflicts_with_all = ["print", "force"])]
    list: bool,
    /// With --list: print a JSON array of objects: name, title, allows
    #[arg(long, requires = "list")]
    json: bool,
    /// Print the policy instead of writing it
    #[arg(long, conflicts_with = "force")]
    print: bool,
    /// Replace an existing policy, and keep it beside the new one
    #[arg(long)]
    force: bool,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("the workspace {path}: {error}", path = shown(path.as_os_str().as_bytes()))]
    NoWorkspace { path: PathBuf, error: io::Error },
    #[error(
        "{path} is your home directory or contains it, so an agent could use all of it: start in a project's directory, \
         or name one with --workspace DIR",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Home(PathBuf),
    #[error(
        "no rule can name the workspace {path} alone: its name has * or ?, or is not UTF-8. Name another directory with \
         --workspace DIR",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Unnameable(PathBuf),
    #[error(
        "the workspace {path} contains programs that are not part of a project ({pattern}). Name another directory with \
         --workspace DIR",
        path = shown(path.as_os_str().as_bytes()),
        pattern = shown(pattern.as_bytes())
    )]
    Programs { path: PathBuf, pattern: String },
    #[error(
        "the workspace {path} contains secrets ({secret}). Name another directory with --workspace DIR",
        path = shown(path.as_os_str().as_bytes())
    )]
    Secrets { path: PathBuf, secret: &'static str },
    #[error(
        "the workspace {path} cannot be allowed: {reason}. Name another directory with --workspace DIR{also}",
        path = shown(path.as_os_str().as_bytes()),
        also = if *is_openclaw { ", and name it as agents.defaults.workspace in openclaw.json" } else { "" }
    )]
    Denied { path: PathBuf, reason: String, is_openclaw: bool },
    #[error(
        "the policy {path} exists already: change it with `openclaw-guard allow` or `openclaw-guard learn`, or give \
         --force to replace it and keep it as {old}",
        path = shown(path.as_os_str().as_bytes()),
        old = shown(old.as_os_str().as_bytes())
    )]
    Exists { path: PathBuf, old: PathBuf },
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("cannot write {path}: {error}", path = shown(path.as_os_str().as_bytes()))]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot write: {0}")]
    Output(io::Error),
}

/// Writes the policy, or prints the list or the text.
///
/// # Errors
/// When the policy has no place, or exists and must not be replaced.
pub fn act(options: &Options, arguments: &InitArgs) -> Result<Exit, InitError> {
    if arguments.list {
        return list(arguments.json).map_err(InitError::Output);
    }
    let paths = Paths::find(options)?;
    let template = arguments.template;
    let workspace = Workspace::find(&paths, arguments.workspace.as_deref())?;
    if template.is_for_a_workspace() {
        workspace.check(&paths)?;
    }
    let text = fill::fill(template.text(), &workspace.values(&paths));
    look_over(options, &paths, &workspace, template, &text)?;
    if arguments.print {
        io::stdout().lock().write_all(text.as_bytes()).map_err(InitError::Output)?;
        return Ok(Exit::Success);
    }
    let existing = if arguments.force { Existing::Kept } else { Existing::Left };
    let old = write::write(&paths, &text, existing)?;
    print_summary(options, &paths, &workspace, template, old.as_deref()).map_err(InitError::Output)?;
    Ok(Exit::Success)
}

/// Checks that the new policy is valid, and permits work in the workspace.
fn look_over(
    options: &Options,
    paths: &Paths,
    workspace: &Workspace,
    template: Template,
    text: &str,
) -> Result<(), InitError> {
    let policy = config::compile(options, paths, Disk::Used, Some(text.as_bytes()), &Stores::ABSENT)?;
    let path = workspace.path();
    let request = Request::File { path: path.as_os_str().as_bytes(), access: Access::READ };
    let verdict = decide(&policy, &request);
    if template.is_for_a_workspace() && verdict.outcome != Outcome::Allow {
        let reason = shown(verdict.reason.text.as_bytes());
        return Err(InitError::Denied {
            path: path.to_owned(),
            reason,
            is_openclaw: template == Template::Openclaw,
        });
    }
    Ok(())
}

fn list(json: bool) -> io::Result<Exit> {
    let mut out = io::stdout().lock();
    if json {
        let one = |template: &Template| {
            let (name, title) = template.title();
            json!({ "name": name, "title": title, "allows": template.says().collect::<Vec<_>>() })
        };
        let all: Vec<_> = Template::value_variants().iter().map(one).collect();
        writeln!(out, "{}", shown_json(&serde_json::to_string_pretty(&all)?))?;
        return Ok(Exit::Success);
    }
    for template in Template::value_variants() {
        let (name, title) = template.title();
        writeln!(out, "{name:<16} {title}")?;
    }
    Ok(Exit::Success)
}

/// Reports what was written, and how to use it.
fn print_summary(
    options: &Options,
    paths: &Paths,
    workspace: &Workspace,
    template: Template,
    old: Option<&Path>,
) -> io::Result<()> {
    if options.quiet {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let path = |path: &Path| shown(path.as_os_str().as_bytes());
    let (name, title) = template.title();
    writeln!(out, "{}: {name}, {title}", path(&paths.policy))?;
    if template.is_for_a_workspace() {
        writeln!(out, "  in     {}", path(workspace.path()))?;
    }
    for line in template.says() {
        writeln!(out, "  {line}")?;
    }
    if let Some(old) = old {
        writeln!(out, "the old policy is {}", path(old))?;
    }
    // Quoted for a shell: whoever made the directory may have put shell syntax into its name.
    let file = quoted(&paths.policy.to_string_lossy());
    let named = if options.policy.is_some() { format!(" --policy {file}") } else { String::new() };
    let next = [
        (format!("openclaw-guard{named} -- bash"), "work under it"),
        (format!("openclaw-guard{named} policy show --effective"), "show the whole policy in force"),
        (format!("openclaw-guard learn -o {file} -- make"), "add what a session needs"),
    ];
    let width = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or_default();
    writeln!(out, "next:")?;
    for (command, what) in next {
        writeln!(out, "  {command:width$}  {what}")?;
    }
    Ok(())
}
