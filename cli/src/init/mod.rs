//! `openclaw-guard init`: writes a first guard.json, which serves every project unless one is named.

mod fast;
mod workspace;
mod write;

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use guard_openclaw::approvals_store::Stores;
use guard_policy::text::{quoted, shown, shown_json};
use guard_policy::{Access, Outcome, Policy, Request, Template, decide};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError};
use guard_supervisor::exit::Exit;
use serde_json::json;

use crate::edit::EditError;
use fast::FastPolicy;
use workspace::Workspace;
use write::Existing;

/// Its options and arguments.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    cd ~/project && openclaw-guard init\n  \
    openclaw-guard init --template claude-code --workspace ~/project\n  \
    openclaw-guard init --template scratch --print | less\n  \
    openclaw-guard init --short                    {\"extends\": \"coding\"}, and your own rules\n  \
    openclaw-guard init --fast                     the kernel decides about reads, nobody is asked\n  \
    openclaw-guard --policy ./guard.json init --force     keeps the old one as guard.json.old\n  \
    openclaw-guard init --list --json | jq -r '.[].name'\n\n\
    Exit status: 0, 125 nothing was written.")]
pub struct InitArgs {
    /// The template; --list describes them [default: coding]
    #[arg(long, value_parser = template(), value_name = "NAME")]
    template: Option<Template>,
    /// Name this directory in the policy, which then serves no other project
    ///
    /// Without it the policy names ${workspace}, the project that the guard is started in. The template openclaw always
    /// names a directory, by default the current one.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Write ten lines that extend the template, instead of all of its rules
    ///
    /// The rules are then those of the guard that is installed, and your own come before them.
    #[arg(long, conflicts_with = "workspace")]
    short: bool,
    /// Allow whole directories and ask nothing, so that the kernel decides about reads
    ///
    /// Reading and listing then cost nothing. A read outside is refused without a line, and /proc, terminals and what
    /// appears later beside the named directories and files are closed. It names what this machine has now.
    #[arg(long, conflicts_with = "short")]
    fast: bool,
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

fn template() -> impl TypedValueParser<Value = Template> {
    let unknown = || "no such template".to_owned();
    PossibleValuesParser::new(Template::NAMES)
        .try_map(move |name| Template::from_name(&name).ok_or_else(unknown))
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
        "the policy {path} exists already{serves}: change it with `openclaw-guard allow` or `openclaw-guard learn`, or give \
         --force to replace it and keep it as {old}",
        path = shown(path.as_os_str().as_bytes()),
        old = shown(old.as_os_str().as_bytes()),
        serves = if *is_for_all { "" } else { ", for the directories that it names" }
    )]
    Exists { path: PathBuf, old: PathBuf, is_for_all: bool },
    #[error(
        "the template openclaw names a directory of this machine, so guard.json needs its full text: leave out --short"
    )]
    NotShort,
    #[error(
        "the kernel cannot decide about reads under this template, because {0}: leave out --fast, or name another directory \
         with --workspace DIR"
    )]
    NotFast(String),
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
    if let Some(here) = already(options, &paths, arguments) {
        print_already(options, &paths, &here).map_err(InitError::Output)?;
        return Ok(Exit::Success);
    }
    let template = arguments.template.unwrap_or(Template::Coding);
    let workspace = Workspace::find(&paths, template, arguments.workspace.as_deref())?;
    if template.is_for_a_workspace() {
        workspace.check(&paths)?;
    }
    let values = workspace.values(&paths);
    let (text, fast) = match arguments.short {
        true if template == Template::Openclaw => return Err(InitError::NotShort),
        true => (template.extended(), None),
        false if arguments.fast => {
            let compile = |text: &str| look_over(options, &paths, &workspace, template, text);
            let filled = template.filled_unasked(&values);
            let attempt = || FastPolicy::new(&filled, &paths.home, compile);
            // Another program may have removed a directory, in /tmp for instance, after it was listed.
            let again = |error| if matches!(error, InitError::NotFast(_)) { attempt() } else { Err(error) };
            let (text, fast) = attempt().or_else(again).or_else(again)?;
            (text, Some(fast))
        }
        false => (template.filled(&values), None),
    };
    let policy = look_over(options, &paths, &workspace, template, &text)?;
    if arguments.print {
        io::stdout().lock().write_all(text.as_bytes()).map_err(InitError::Output)?;
        return Ok(Exit::Success);
    }
    let existing = if arguments.force { Existing::Kept } else { Existing::Left };
    let old = write::write(&paths, &text, existing)?;
    let place = workspace.place(&policy);
    print_summary(options, &paths, &place, template, fast.as_ref(), old.as_deref())
        .map_err(InitError::Output)?;
    Ok(Exit::Success)
}

/// Returns the existing policy, if it already serves this project and the options ask for nothing else.
fn already(options: &Options, paths: &Paths, arguments: &InitArgs) -> Option<Policy> {
    let asks_for_more = arguments.force || arguments.print || arguments.fast || arguments.workspace.is_some();
    let is_another = || arguments.template.is_some_and(|template| !write::is_of(paths, template));
    if asks_for_more || !write::serves_all(paths) || is_another() {
        return None;
    }
    // A policy with an error serves nobody.
    config::policy(options, paths, Disk::Used).ok()
}

/// Reports that nothing is to be done here.
fn print_already(options: &Options, paths: &Paths, policy: &Policy) -> io::Result<()> {
    if options.quiet {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let file = shown(paths.policy.as_os_str().as_bytes());
    match policy.workspace() {
        Some(workspace) => {
            writeln!(out, "nothing to do: {file} serves every project, here {}", shown(workspace))?
        }
        None => writeln!(out, "nothing to do: {file} serves every project, but this directory is not one")?,
    }
    for warning in policy.warnings().iter().filter(|warning| warning.starts_with("${workspace}")) {
        writeln!(out, "  {}", shown(warning.as_bytes()))?;
    }
    writeln!(out, "  --force replaces it; --workspace DIR and --policy FILE make one for a single project")
}

/// Checks that the new policy is valid, and permits work in the workspace that it names.
fn look_over(
    options: &Options,
    paths: &Paths,
    workspace: &Workspace,
    template: Template,
    text: &str,
) -> Result<Policy, InitError> {
    let policy = config::compile(options, paths, Disk::Used, Some(text.as_bytes()), &Stores::ABSENT)?;
    let Some(path) = workspace.named() else { return Ok(policy) };
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
    Ok(policy)
}

fn list(json: bool) -> io::Result<Exit> {
    let mut out = io::stdout().lock();
    if json {
        let one = |template: &Template| {
            let allows: Vec<_> = template.says().collect();
            json!({ "name": template.as_str(), "title": template.title(), "allows": allows })
        };
        let all: Vec<_> = Template::ALL.iter().map(one).collect();
        writeln!(out, "{}", shown_json(&serde_json::to_string_pretty(&all)?))?;
        return Ok(Exit::Success);
    }
    for template in Template::ALL {
        writeln!(out, "{:<16} {}", template.as_str(), template.title())?;
    }
    Ok(Exit::Success)
}

/// Reports what was written, and how to use it.
fn print_summary(
    options: &Options,
    paths: &Paths,
    place: &str,
    template: Template,
    fast: Option<&FastPolicy>,
    old: Option<&Path>,
) -> io::Result<()> {
    if options.quiet {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let path = |path: &Path| shown(path.as_os_str().as_bytes());
    writeln!(out, "{}: {}, {}", path(&paths.policy), template.as_str(), template.title())?;
    if template.is_for_a_workspace() {
        writeln!(out, "  in     {place}")?;
    }
    // The third line says what is asked. A fast policy asks nobody.
    let said = if fast.is_some() { 2 } else { 3 };
    for line in template.says().take(said) {
        writeln!(out, "  {line}")?;
    }
    if let Some(fast) = fast {
        fast.print(&mut out)?;
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
