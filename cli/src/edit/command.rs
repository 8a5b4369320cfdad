//! `openclaw-guard allow` and `deny`.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::{Args, Subcommand};
use guard_policy::text::{shown, shown_json};
use guard_policy::{Access, Bits, Source, locate};
use guard_supervisor::config::SetupError;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde_json::{Value, json};

use super::EditError;
use super::blocker::blocked_by;
use super::context::EditContext;
use super::diff::{Colour, unified};
use super::doubtful_link::{DoubtfulLink, LinkTrust, doubted};
use super::plan::{Aim, Changed, Denials, EditPlan, Effect, NoPlan, Unchangeable, deny_all, plan};
use super::request::{EditRequest, EditRequestError, Limit};

/// What to allow.
#[derive(Debug, Subcommand)]
pub enum Allow {
    /// Reading files and listing directories
    #[command(after_help = "Example:\n  openclaw-guard allow read '~/notes/**' /srv/data/")]
    Read {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        lift: Lift,
    },
    /// Reading, writing, creating and removing files
    #[command(after_help = "Example:\n  openclaw-guard allow write '~/x/**'")]
    Write {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        lift: Lift,
    },
    /// Starting programs with any arguments
    #[command(
        after_help = "Examples:\n  openclaw-guard allow exec nc\n  openclaw-guard --agent ci allow exec '~/tools/**'"
    )]
    Exec {
        #[command(flatten)]
        programs: Programs,
        #[command(flatten)]
        lift: Lift,
    },
    /// Starting a program with exactly these arguments
    #[command(after_help = "Example:\n  openclaw-guard allow run -- git push origin main")]
    Run {
        #[command(flatten)]
        line: CommandLine,
        #[command(flatten)]
        lift: Lift,
    },
}

/// What to deny.
#[derive(Debug, Subcommand)]
pub enum Deny {
    /// Reading files and listing directories
    #[command(after_help = "Example:\n  openclaw-guard deny read '~/mail/**'")]
    Read(Files),
    /// Writing, creating and removing files
    #[command(after_help = "Example:\n  openclaw-guard deny write '~/work/vendor/**'")]
    Write(Files),
    /// Starting programs
    #[command(after_help = "Example:\n  openclaw-guard deny exec curl")]
    Exec(Programs),
    /// Any use of files; no rule can override it
    #[command(after_help = "Example:\n  openclaw-guard deny all '**/.env'")]
    All(Files),
}

/// How to change it.
#[derive(Args, Debug)]
struct EditMode {
    /// Show the change without writing it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Accept a pattern that covers the whole home directory or system
    #[arg(long)]
    force: bool,
}

/// What `allow` may remove or follow so that the rule takes effect.
#[derive(Args, Debug)]
pub struct Lift {
    /// Also remove the denials in guard.json that block it
    #[arg(long)]
    remove_deny: bool,
    /// Follow symbolic links that a guarded program may have made
    #[arg(long)]
    follow_links: bool,
}

/// Files.
#[derive(Args, Debug)]
pub struct Files {
    /// Files, directories (with everything below), or patterns: * is any text without a slash, ** any text
    #[arg(required = true, value_name = "PATTERN")]
    patterns: Vec<OsString>,
    #[command(flatten)]
    how: EditMode,
}

/// Programs.
#[derive(Args, Debug)]
pub struct Programs {
    /// Names, paths, directories (with everything below), or patterns
    #[arg(required = true, value_name = "PROGRAM")]
    programs: Vec<OsString>,
    #[command(flatten)]
    how: EditMode,
}

/// A command.
#[derive(Args, Debug)]
pub struct CommandLine {
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
    #[command(flatten)]
    how: EditMode,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("there is no {}: create one first (`openclaw-guard init`), then run the command again", shown(.0.as_bytes()))]
    NoPolicy(String),
    #[error(transparent)]
    Wish(#[from] EditRequestError),
    #[error("{}", shown(.0.to_string().as_bytes()))]
    Pattern(guard_policy::BadPattern),
    #[error(transparent)]
    Link(Box<DoubtfulLink>),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// How many times an edit starts over because the policy was changed meanwhile.
const MAX_TRIES: usize = 16;

/// Edits guard.json so that something is allowed.
///
/// # Errors
/// When the policy cannot be read or written, or the command line has nothing to allow.
pub fn allow(options: &Options, what: &Allow) -> Result<Exit, CommandError> {
    let (how, lift) = match what {
        Allow::Read { files, lift } | Allow::Write { files, lift } => (&files.how, lift),
        Allow::Exec { programs, lift } => (&programs.how, lift),
        Allow::Run { line, lift } => (&line.how, lift),
    };
    let denials = if lift.remove_deny { Denials::Remove } else { Denials::Keep };
    let links = if lift.follow_links { LinkTrust::Given } else { LinkTrust::Doubted };
    change(options, how, links, |context| {
        let request = edit_request(context, what, how.limit())?;
        let planned = plan(context, &context.scope(), &request, Aim::Allow(denials));
        Ok((request, planned))
    })
}

/// Edits guard.json so that something is denied.
///
/// # Errors
/// The errors of [`allow`].
pub fn deny(options: &Options, what: &Deny) -> Result<Exit, CommandError> {
    let how = match what {
        Deny::Read(files) | Deny::Write(files) | Deny::All(files) => &files.how,
        Deny::Exec(programs) => &programs.how,
    };
    // Links are followed without a question, because the tree gains nothing if a deny rule covers more than was
    // meant.
    change(options, how, LinkTrust::Given, |context| {
        let (paths, limit) = (&context.paths, how.limit());
        let files =
            |files: &Files, access, bits| EditRequest::files(&files.patterns, access, bits, paths, limit);
        let request = match what {
            Deny::Read(list) | Deny::All(list) => files(list, Access::READ, Bits::R)?,
            Deny::Write(list) => files(list, Access::WRITE, Bits::W)?,
            Deny::Exec(list) => {
                let policy = context.in_force()?;
                let mut request = EditRequest::programs(&list.programs, Bits::X, &policy, paths, limit)?;
                // The program's interpreter and loader also start other programs, so they stay allowed.
                request.needs.retain(|need| need.part.is_program());
                request
            }
        };
        let planned = match what {
            Deny::All(_) => deny_all(context, &context.scope(), &request),
            _ => plan(context, &context.scope(), &request, Aim::Deny),
        };
        Ok((request, planned))
    })
}

impl EditMode {
    fn limit(&self) -> Limit {
        if self.force { Limit::None } else { Limit::Sensible }
    }
}

fn edit_request(context: &EditContext, what: &Allow, limit: Limit) -> Result<EditRequest, CommandError> {
    let paths = &context.paths;
    let start = Bits::R.union(Bits::X);
    Ok(match what {
        Allow::Read { files, .. } => {
            EditRequest::files(&files.patterns, Access::READ, Bits::R, paths, limit)?
        }
        Allow::Write { files, .. } => {
            let access = Access::READ | Access::WRITE;
            EditRequest::files(&files.patterns, access, Bits::R.union(Bits::W), paths, limit)?
        }
        Allow::Exec { programs, .. } => {
            EditRequest::programs(&programs.programs, start, &*context.in_force()?, paths, limit)?
        }
        Allow::Run { line, .. } => EditRequest::command(&line.command, start, &*context.in_force()?, paths)?,
    })
}

type Planned = (EditRequest, Result<EditPlan, NoPlan>);

fn change(
    options: &Options,
    how: &EditMode,
    links: LinkTrust,
    make: impl Fn(&EditContext) -> Result<Planned, CommandError>,
) -> Result<Exit, CommandError> {
    let mut tries = 1;
    loop {
        let context = EditContext::find(options)?;
        if context.text()?.is_none() {
            return Err(CommandError::NoPolicy(context.name()));
        }
        let (request, planned) = make(&context)?;
        let plan = match planned {
            Ok(plan) => plan,
            Err(NoPlan::Setup(error)) => return Err(error.into()),
            Err(NoPlan::Pattern(error)) => return Err(CommandError::Pattern(error)),
            Err(NoPlan::Blocked(blocker)) => return refuse(&context, how, &request, &blocker),
        };
        if !plan.changes.is_empty() && !how.dry_run {
            if links == LinkTrust::Doubted
                && let Some(link) = doubted(&context, &request.led)?
            {
                return Err(CommandError::Link(Box::new(link)));
            }
            match context.write(&plan.draft) {
                // Another writer's change stays: this change is made again on top of it.
                Err(EditError::Changed { .. }) if tries < MAX_TRIES => {
                    tries += 1;
                    continue;
                }
                written => written?,
            }
        }
        return print_result(&context, how, &request, &plan);
    }
}

fn print_result(
    context: &EditContext,
    how: &EditMode,
    request: &EditRequest,
    plan: &EditPlan,
) -> Result<Exit, CommandError> {
    let (old, new) = (context.text()?.unwrap_or_default(), plan.draft.text());
    let is_written = !plan.changes.is_empty() && !how.dry_run;
    let mut notes = request.notes.clone();
    let is_for_all = |change: &Changed| {
        [Some(&change.key), change.is.as_ref()]
            .into_iter()
            .flatten()
            .any(|text| text.contains("${workspace}"))
    };
    if plan.changes.iter().any(is_for_all) {
        notes.push("the rule names ${workspace}, so it holds in every project under this policy".to_owned());
    }
    if how.json {
        print(&json!({
            "file": context.name(),
            "written": is_written,
            "changes": plan.changes,
            "diff": unified(&context.name(), old, new, Colour::No),
            "takesRestart": plan.takes_effect == Effect::AtNextStart,
            "notes": notes,
        }))?;
        return Ok(Exit::Success);
    }
    for note in &notes {
        eprintln!("openclaw-guard: {note}");
    }
    let mut out = io::stdout().lock();
    if plan.changes.is_empty() {
        writeln!(out, "nothing to change: guard.json says so already")?;
        for need in &request.needs {
            let policy = context.in_force()?;
            let verdict = need.part.decide(&policy);
            writeln!(out, "  {}", location(context, &verdict.reason.path, verdict.reason.rule()))?;
        }
        return Ok(Exit::Success);
    }
    out.write_all(unified(&context.name(), old, new, colour()).as_bytes())?;
    let effect = match (is_written, plan.takes_effect) {
        (false, _) => "nothing was written (--dry-run)",
        (true, Effect::AtNextStart) => {
            "in force for guards that start from now on; running guards keep their exec.roots"
        }
        (true, Effect::AtOnce) => "in force, also for running guards, from their next call on",
        (true, Effect::UnlessKernels) => {
            "in force, also for running guards; a guard that leaves this to the kernel (policy show --tiers) says so, \
             and must be restarted"
        }
    };
    writeln!(out, "{effect}")?;
    Ok(Exit::Success)
}

/// Reports what blocks the change.
fn refuse(
    context: &EditContext,
    how: &EditMode,
    request: &EditRequest,
    blocker: &Unchangeable,
) -> Result<Exit, CommandError> {
    let location = location(context, &blocker.path, &blocker.rule);
    let change = match &blocker.denial {
        Some((_, pattern)) => {
            format!(
                "--remove-deny removes \"{pattern}\" from that list, and with it every path that it covers"
            )
        }
        None if blocker.source == Source::Agent && !blocker.path.contains("exec") => {
            format!("this rule is for one agent: --agent {} changes it", context.agent())
        }
        None if blocker.path.contains("permissions.filesystem.rules") => {
            "this rule has the longest pattern, so it counts: change it, or give a longer pattern".to_owned()
        }
        None => blocked_by(blocker.source, &blocker.path, &blocker.text, None).change,
    };
    if how.json {
        print(&json!({
            "file": context.name(),
            "written": false,
            "kept": {
                "outcome": blocker.outcome,
                "because": { "source": blocker.source, "path": blocker.path, "text": blocker.text },
                "place": location,
                "change": change,
            },
            "notes": request.notes,
        }))?;
        return Ok(Exit::Wrong);
    }
    let what = blocker.part.path().map(shown).unwrap_or_default();
    let word = match blocker.outcome {
        guard_policy::Outcome::Deny => "denied",
        guard_policy::Outcome::Ask => "asked for",
        guard_policy::Outcome::Allow => "allowed",
    };
    eprintln!("openclaw-guard: nothing was written: {what} would still be {word}");
    eprintln!("  by        {location}");
    eprintln!("            {}", shown(blocker.text.as_bytes()));
    eprintln!("  to change {}", shown(change.as_bytes()));
    Ok(Exit::Wrong)
}

/// Where a verdict's reason is in the policy: `FILE:3:5: RULE`.
pub fn location(context: &EditContext, path: &str, rule: &str) -> String {
    let found = context.text().ok().flatten().and_then(|text| locate(text, path));
    let rule = shown(rule.as_bytes());
    match found {
        Some(location) => {
            format!("{}:{}:{}: {rule}", shown(context.name().as_bytes()), location.line, location.column)
        }
        None => rule,
    }
}

/// Colour, if standard output is a terminal and its user permits it.
pub fn colour() -> Colour {
    let may_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if may_colour && io::stdout().is_terminal() { Colour::Yes } else { Colour::No }
}

/// Prints one JSON value on stdout.
///
/// # Errors
/// Returns an I/O error when the output cannot be written.
pub fn print(value: &Value) -> io::Result<()> {
    let json = serde_json::to_string_pretty(value)?;
    writeln!(io::stdout().lock(), "{}", shown_json(&json))
}
