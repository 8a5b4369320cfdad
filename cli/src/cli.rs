//! The command line.

use std::env;
use std::ffi::OsString;
use std::io::{IsTerminal, stdin};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use guard_supervisor::config::options::Options;

use crate::approvals::command;
use crate::bench;
use crate::check;
use crate::demo;
use crate::doctor::Doctor;
use crate::edit;
use crate::gate::GateCommand;
use crate::init;
use crate::learn;
use crate::manual::{self, completions, help};
use crate::node;
use crate::outside;
use crate::policy::PolicyCommand;
use crate::sandbox::SandboxCommand;
use crate::session::SessionCommand;
use crate::tools::ToolsCommand;
use crate::trust;
use crate::why;
use crate::words;

/// Run a command under a policy that decides about every program and file
///
/// The kernel holds each execve, and each system call that opens or changes a file, until the guard has decided. That
/// applies to the command and to everything it starts. A denied call fails with EACCES, and one line on stderr says why.
#[derive(Debug, Parser)]
#[command(
    version,
    override_usage = words::USAGE,
    after_help = "Examples:\n  \
        openclaw-guard                               a guarded shell\n  \
        openclaw-guard npm test                      a guarded command\n  \
        openclaw-guard init --template coding        write a first policy",
    after_long_help = "Examples:\n  \
        openclaw-guard npm test          a guarded command; without one, a guarded shell ($SHELL)\n\n\
        Exit status: the command's; 125 the guard failed, 126 the command was denied, 127 it was not\n\
        found. If a signal ends the command, the guard ends by the same signal."
)]
pub struct Cli {
    #[command(flatten)]
    pub options: Options,
    #[command(subcommand)]
    pub task: Option<Task>,
    /// The command; put `--` before it if its name is also a subcommand's
    #[arg(last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl Cli {
    /// Reads the command line.
    ///
    /// # Errors
    /// What is wrong with it. --help and --version are also returned as errors.
    pub fn read() -> Result<Cli, clap::Error> {
        let typed: Vec<OsString> = env::args_os().collect();
        let names_command = typed.iter().any(|word| word == "--");
        let program = Cli::command();
        let words = words::with_separator(&program, typed)?;
        let matches = program.try_get_matches_from(&words).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp => help::asked_for(&Cli::command(), &words, error),
            _ => error,
        })?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        cli.options.agent_is_named = matches.value_source("agent") == Some(ValueSource::CommandLine);
        // Without a terminal, and after `--`, a missing command is a mistake of a script: a shell would hide it.
        if cli.task.is_none() && cli.command.is_empty() && !names_command && stdin().is_terminal() {
            cli.command.push(words::shell().into());
        }
        Ok(cli)
    }
}

/// What to do instead of running a command.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Ask the policy without running anything
    Check(check::CheckArgs),
    /// Change guard.json to allow something
    #[command(
        subcommand,
        after_help = "Examples:\n  \
            openclaw-guard allow write '~/x/**'\n  \
            openclaw-guard allow exec nc\n  \
            openclaw-guard allow --help\n\n\
            Comments and order stay as they are. If something else would still deny the access,\n\
            nothing is written.\n\n\
            Exit status: 0 it is allowed, 1 something else still denies it, 125 error."
    )]
    Allow(edit::command::Allow),
    /// List pending questions, and answer them
    #[command(subcommand)]
    Approvals(command::ApprovalsCommand),
    /// Read the audit log, and check that nobody has changed it
    #[command(subcommand)]
    Audit(crate::audit::AuditCommand),
    /// Measure the guard's overhead on this machine, for each tier
    Bench(bench::BenchArgs),
    /// Print a shell's completion script
    Completions(completions::CompletionsArgs),
    /// Show an example of a denial and of a question, on temporary files
    Demo(demo::DemoArgs),
    /// Change guard.json to deny something
    #[command(
        subcommand,
        after_help = "Examples:\n  \
            openclaw-guard deny write '~/work/vendor/**'\n  \
            openclaw-guard deny exec curl\n  \
            openclaw-guard deny all '**/.env'\n\n\
            Exit status: 0 it is denied, 1 something else still allows it, 125 error."
    )]
    Deny(edit::command::Deny),
    /// Check this machine and the policy, and say how to fix what does not work
    Doctor(Doctor),
    /// Ask the policy about each call of OpenClaw's own tools
    #[command(subcommand)]
    Gate(GateCommand),
    /// Write a first policy from a template
    Init(init::InitArgs),
    /// Run a command, and propose a policy that allows what it did
    Learn(learn::LearnArgs),
    /// Print a manual page, or write all of them
    Man(manual::ManArgs),
    /// Run commands here for OpenClaw's gateway, each in a guard
    Node(node::NodeArgs),
    /// Show, validate or test a policy, or print its schema
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// From inside a guard: have one command run outside of it
    RunOutside(outside::RunOutsideArgs),
    /// Explain, check and use the sandboxes that openclaw.json describes
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// List, change and end running sessions
    #[command(subcommand)]
    Session(SessionCommand),
    /// Show which of OpenClaw's tools an agent has
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Trust a project's own policy, so that what it allows takes effect
    Trust(trust::TrustArgs),
    /// Print the version
    #[command(
        after_help = "Example:\n  openclaw-guard version\n\nExit status: 0, 125 the output cannot be written."
    )]
    Version,
    /// The proxy of a guard with network.web, which starts it
    #[command(hide = true)]
    WebProxy(crate::web_proxy::WebProxyArgs),
    /// Explain why something is denied, and what would allow it
    Why(why::WhyArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_stand_before_or_after_a_subcommand() {
        let before = Cli::parse_from(["openclaw-guard", "--agent", "a", "check", "--read", "/x"]);
        let after = Cli::parse_from(["openclaw-guard", "check", "--read", "/x", "--agent", "a"]);
        assert_eq!(before.options.agent, "a");
        assert_eq!(after.options.agent, "a");
    }

    #[test]
    fn the_command_keeps_its_own_options() {
        let cli = Cli::parse_from(["openclaw-guard", "-q", "--", "ls", "-q", "--observe"]);
        assert_eq!(cli.command, ["ls", "-q", "--observe"]);
        assert!(!cli.options.observe);
    }

    /// Collects every subcommand that does something, with the words that select it.
    fn leaves(command: &clap::Command, words: &str, found: &mut Vec<(String, clap::Command)>) {
        let mut below = command.get_subcommands().filter(|below| below.get_name() != "help").peekable();
        if below.peek().is_none() || command.get_name() == "doctor" {
            found.push((words.to_owned(), command.clone()));
        }
        for below in below {
            leaves(below, &format!("{words} {}", below.get_name()), found);
        }
    }

    #[test]
    fn every_subcommand_says_what_it_does_and_how() {
        /// The width of a usual wide terminal, in columns.
        const WIDTH: usize = 100;
        /// The lines of a screen.
        const HEIGHT: usize = 60;
        let top = help::whole(Cli::command().term_width(WIDTH));
        let mut found = Vec::new();
        leaves(&top, "openclaw-guard", &mut found);
        found.push(("openclaw-guard".to_owned(), top));
        let mut wrong = Vec::new();
        for (words, mut command) in found {
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            if command.get_about().is_none() {
                wrong.push(format!("{words}: it does not say what it does"));
            }
            if !after.contains("Example") || !after.contains(&words) {
                wrong.push(format!("{words}: its help has no example"));
            }
            let help = command.render_help().to_string();
            let wide = after.lines().chain(help.lines()).filter(|line| line.chars().count() > WIDTH);
            wrong.extend(wide.map(|line| format!("{words}: more than {WIDTH} columns: {line}")));
            if help.lines().count() > HEIGHT {
                wrong.push(format!("{words}: more than {HEIGHT} lines: {}", help.lines().count()));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
