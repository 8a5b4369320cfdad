//! What holds for every task: the options of the command line before the `--`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use guard_policy::{Ask, Security};

/// What holds for every task.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// No banner, no lines for denials
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more (twice: debug)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, hide_short_help = true)]
    pub verbose: u8,
    /// The policy [default: guard.json in $OPENCLAW_STATE_DIR or ~/.openclaw]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub policy: Option<PathBuf>,
    /// Whose rules apply
    #[arg(long, global = true, value_name = "NAME", default_value = "main")]
    pub agent: String,
    /// Whether the command line names it
    #[arg(skip)]
    pub agent_is_named: bool,
    /// OpenClaw's key of this session [default: $OPENCLAW_MCP_SESSION_KEY]
    ///
    /// The gateway shows a question where that session is. Default: OPENCLAW_MCP_SESSION_KEY of the environment.
    #[arg(long, global = true, value_name = "KEY", hide_short_help = true)]
    pub session_key: Option<String>,
    /// What ~ means in the policy [default: $OPENCLAW_HOME, $HOME]
    ///
    /// Default: OPENCLAW_HOME, HOME, or the home that the password entry names, in this order.
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub home: Option<PathBuf>,
    /// The audit log [default: guard/audit.jsonl in the state directory]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub audit: Option<PathBuf>,
    /// Where the log's lines go besides
    #[arg(long, global = true, value_name = "WHERE", value_enum, hide_short_help = true)]
    pub log: Option<LogTo>,
    /// Block nothing; log what would have been denied
    #[arg(long, global = true)]
    pub observe: bool,
    /// Ask nobody: exec.askFallback decides at once
    ///
    /// What the policy would ask about is settled by its exec.askFallback.
    #[arg(long, global = true)]
    pub unattended: bool,
    /// deny, allowlist or full; only ever tightens the policy
    #[arg(long, global = true, value_name = "MODE", value_parser = security, hide_short_help = true)]
    pub exec_security: Option<Security>,
    /// off, on-miss or always; only ever tightens the policy
    #[arg(long, global = true, value_name = "MODE", value_parser = ask, hide_short_help = true)]
    pub exec_ask: Option<Ask>,
    /// Judge the environment and the current directory like the command
    ///
    /// For what starts a guard on behalf of an agent. Variables then say nothing about the guard: not where home, policy
    /// and temporary files are. Those that change what a program does are shown in questions, and without a guard.json the
    /// current directory grants nothing. Remove LD_PRELOAD and the like before.
    #[arg(long, global = true, hide_short_help = true)]
    pub untrusted_environment: bool,
    /// Where the command's environment is, once the guard has its own
    #[arg(long, global = true, value_name = "FD", hide = true)]
    pub environment_fd: Option<i32>,
    /// Fail when the Landlock floor is not fully there
    #[arg(long, global = true, hide_short_help = true)]
    pub require_floor: bool,
    /// Who may decide about a call [broker, floored, kernel]
    ///
    /// The broker always; with floored, the kernel does a call whose object the Landlock floor covers; with kernel, calls
    /// that the floor decides as the policy does are not held at all.
    // Not global: `policy show --tiers` shows them.
    #[arg(
        id = "LIST",
        long = "tiers",
        value_enum,
        value_delimiter = ',',
        default_value = "broker,floored,kernel",
        hide_default_value = true,
        hide_possible_values = true,
        hide_short_help = true
    )]
    pub tiers: Vec<Tier>,
    /// End what the command left running when it ends
    #[arg(long, global = true, hide_short_help = true)]
    pub kill_on_exit: bool,
}

/// Where lines of the log go besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogTo {
    /// systemd's journal (also `audit.journald` in guard.json).
    Journald,
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

fn security(name: &str) -> Result<Security, String> {
    Security::from_name(name).ok_or_else(|| "one of deny, allowlist, full".to_owned())
}

fn ask(name: &str) -> Result<Ask, String> {
    Ask::from_name(name).ok_or_else(|| "one of off, on-miss, always".to_owned())
}
