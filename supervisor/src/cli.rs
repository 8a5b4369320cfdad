//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use guard_policy::{Ask, Security};

use crate::approval::command;
use crate::bench;
use crate::doctor::Topic;
use crate::policy::Action;

/// Run a command whose every program and file goes through a policy
///
/// The kernel stops each execve and each path system call of the command and of everything it starts until the guard
/// has decided. What the policy does not allow fails with EACCES, and one line on stderr says why.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    after_help = "Examples:\n  \
        openclaw-guard -- bash                       a guarded shell\n  \
        openclaw-guard --policy guard.json -- make   with a policy of your own\n  \
        openclaw-guard --observe -- npm test         block nothing, log what would be denied\n  \
        openclaw-guard check --read ~/.ssh/id_rsa    ask the policy, run nothing\n  \
        openclaw-guard policy validate guard.json    what is wrong with it, and where\n\n\
        Exit status: the command's; 125 the guard failed, 126 the command was denied,\n\
        127 it was not found; a signal that ends the command ends the guard."
)]
pub struct Cli {
    #[command(flatten)]
    pub options: Options,
    #[command(subcommand)]
    pub task: Option<Task>,
    /// The command and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// What holds for every task.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// No banner, no lines for denials
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more (twice: debug)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// The policy, instead of guard.json in $OPENCLAW_STATE_DIR or ~/.openclaw
    #[arg(long, global = true, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Whose rules apply
    #[arg(long, global = true, value_name = "NAME", default_value = "main")]
    pub agent: String,
    /// OpenClaw's key of the session that starts this, for its gateway [default: $OPENCLAW_MCP_SESSION_KEY]
    #[arg(long, global = true, value_name = "KEY")]
    pub session_key: Option<String>,
    /// What ~ means in the policy [default: $OPENCLAW_HOME, $HOME, the password entry]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// The audit log [default: guard/audit.jsonl in the state directory]
    #[arg(long, global = true, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Block nothing; log what would have been denied
    #[arg(long, global = true)]
    pub observe: bool,
    /// Ask nobody: what the policy would ask is settled at once by exec.askFallback
    #[arg(long, global = true)]
    pub unattended: bool,
    /// deny, allowlist or full; only ever tightens the policy
    #[arg(long, global = true, value_name = "MODE", value_parser = security)]
    pub exec_security: Option<Security>,
    /// off, on-miss or always; only ever tightens the policy
    #[arg(long, global = true, value_name = "MODE", value_parser = ask)]
    pub exec_ask: Option<Ask>,
    /// Fail when the Landlock floor is not fully there
    #[arg(long, global = true)]
    pub require_floor: bool,
    /// Who may decide: the broker always; with floored, the kernel does a call whose object the Landlock floor covers;
    /// with kernel, calls that the floor decides as the policy does are not held at all
    // Not global: `policy show --tiers` shows them.
    #[arg(
        id = "LIST",
        long = "tiers",
        value_enum,
        value_delimiter = ',',
        default_value = "broker,floored,kernel",
        hide_possible_values = true
    )]
    pub tiers: Vec<Tier>,
    /// End what the command left running when it ends
    #[arg(long, global = true)]
    pub kill_on_exit: bool,
}

/// Who decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tier {
    /// The supervisor does it on what it checked. Always there.
    Broker,
    /// The supervisor lets the kernel do it, over a floor that grants nothing else.
    Floored,
    /// The floor alone.
    Kernel,
}

/// What to do other than running a command.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Ask the policy without running anything
    Check(Question),
    /// See what waits for an answer, and answer
    #[command(subcommand)]
    Approvals(command::Action),
    /// Measure what the guard costs here, in each tier
    Bench(bench::Arguments),
    /// Find out what works, and what to do about the rest
    #[command(subcommand)]
    Doctor(Topic),
    /// Look at a policy: its schema, what is wrong with it, what its examples say
    #[command(subcommand)]
    Policy(Action),
}

/// What `check` is asked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard check --write ./notes.txt\n  \
    openclaw-guard check -- git status\n  \
    openclaw-guard check --connect 127.0.0.1:18789\n  \
    openclaw-guard check -- 'ls -la | rg x'\n  \
    openclaw-guard check --batch < questions.jsonl\n\n\
    A batch is JSON Lines, one answer a line:\n  \
    {\"op\":\"read\",\"path\":\"~/x\"}\n  \
    {\"op\":\"exec\",\"argv\":[\"rg\",\"-n\",\"main\"],\"resolved\":\"/usr/bin/rg\",\"cwd\":\"/tmp\"}\n  \
    {\"op\":\"connect\",\"address\":\"127.0.0.1:18789\"}\n  \
    {\"op\":\"env\",\"base\":{\"LD_PRELOAD\":\"x\"},\"overrides\":{\"PATH\":\"/x\"}}\n\
    docs/policy.md lists more.\n\n\
    Exit status: 0 allow, 1 deny, 2 ask, 125 error.")]
pub struct Question {
    /// Answer as JSON
    #[arg(long)]
    pub json: bool,
    /// May this file be read?
    #[arg(long, value_name = "PATH", group = "question")]
    pub read: Option<PathBuf>,
    /// May this file be written, made or removed?
    #[arg(long, value_name = "PATH", group = "question")]
    pub write: Option<PathBuf>,
    /// May this program be run?
    #[arg(long, value_name = "PATH", group = "question")]
    pub exec: Option<PathBuf>,
    /// May TCP be connected to this address? (127.0.0.1:80, [::1]:80)
    #[arg(long, value_name = "ADDRESS", group = "question")]
    pub connect: Option<SocketAddr>,
    /// May a TCP socket listen at this address?
    #[arg(long, value_name = "ADDRESS", group = "question")]
    pub bind: Option<SocketAddr>,
    /// Answer the questions on standard input; paths are taken as they are, the disk is not looked at
    #[arg(long, group = "question")]
    pub batch: bool,
    /// May this command be run? A single argument that no program is called is read as a shell's command line
    #[arg(last = true, value_name = "CMD", group = "question")]
    pub command: Vec<OsString>,
}

fn security(name: &str) -> Result<Security, String> {
    Security::from_name(name).ok_or_else(|| "one of deny, allowlist, full".to_owned())
}

fn ask(name: &str) -> Result<Ask, String> {
    Ask::from_name(name).ok_or_else(|| "one of off, on-miss, always".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

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
}
