//! What holds for every task: the options of the command line before the `--`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use guard_policy::{Ask, ElevatedLevel, ElevatedSender, Limits, Profile, Security};

use super::node_run::NodeRunOptions;

/// What holds for every task.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Print neither the banner nor denials
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print more; twice: debug messages
    #[arg(short, long, global = true, action = clap::ArgAction::Count, hide_short_help = true)]
    pub verbose: u8,
    /// The policy file [default: guard.json in the state directory]
    ///
    /// The state directory is $OPENCLAW_STATE_DIR or ~/.openclaw.
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub policy: Option<PathBuf>,
    /// The agent whose rules apply
    #[arg(long, global = true, value_name = "NAME", default_value = "main")]
    pub agent: String,
    /// Whether the command line names it
    #[arg(skip)]
    pub agent_is_named: bool,
    /// Also allow this agent's own files; or `none` [default: by command]
    ///
    /// claude-code, codex, aider, gemini-cli or opencode: the files that this agent keeps for itself. none: of no agent.
    /// By default the command's name says which agent it is. policy.md, "Profiles", lists the files of each.
    #[arg(long, global = true, value_name = "NAME", value_parser = profile, hide_short_help = true)]
    pub profile: Option<ProfileChoice>,
    /// OpenClaw's key of this session [default: $OPENCLAW_MCP_SESSION_KEY]
    ///
    /// The gateway shows questions in this session.
    #[arg(long, global = true, value_name = "KEY", hide_short_help = true)]
    pub session_key: Option<String>,
    /// The directory that ~ means [default: $OPENCLAW_HOME or $HOME]
    ///
    /// If neither variable is set: the user's home directory in the password database.
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    pub home: Option<PathBuf>,
    /// The audit log [default: guard/audit.jsonl in the state directory]
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub audit: Option<PathBuf>,
    /// A second destination for the log's lines
    #[arg(long, global = true, value_name = "WHERE", value_enum, hide_short_help = true)]
    pub log: Option<LogTo>,
    /// Deny nothing; log what would have been denied
    #[arg(long, global = true)]
    pub observe: bool,
    /// Ask nobody: exec.askFallback decides at once
    ///
    /// The policy's exec.askFallback decides every question.
    #[arg(long, global = true)]
    pub unattended: bool,
    /// Use this exec.security if stricter: deny, allowlist or full
    #[arg(long, global = true, value_name = "MODE", value_parser = security, hide_short_help = true)]
    pub exec_security: Option<Security>,
    /// Use this exec.ask if stricter: off, on-miss or always
    #[arg(long, global = true, value_name = "MODE", value_parser = ask, hide_short_help = true)]
    pub exec_ask: Option<Ask>,
    /// Trust neither the environment nor the current directory
    ///
    /// For a program that starts a guard on behalf of an agent. The guard then takes home, policy and temporary
    /// directory from no variable. Questions show the variables that change what a program does. Without a guard.json
    /// the current directory grants nothing. Remove LD_PRELOAD and similar variables before.
    #[arg(long, global = true, hide_short_help = true)]
    pub untrusted_environment: bool,
    /// Where the command's environment is, once the guard has its own
    #[arg(long, global = true, value_name = "FD", hide = true)]
    pub environment_fd: Option<i32>,
    /// How a node of OpenClaw's gateway starts the guard of one run.
    #[command(flatten)]
    pub node_run: NodeRunOptions,
    /// Fail if the Landlock floor is incomplete
    #[arg(long, global = true, hide_short_help = true)]
    pub require_floor: bool,
    /// Which tiers may decide: broker, floored, kernel [default: all]
    ///
    /// A tier is who decides about a call (policy.md, "Tiers"). broker: the supervisor does the call itself; this tier is
    /// always on. floored: the kernel does a call whose object the Landlock floor covers. kernel: calls that the floor
    /// decides exactly as the policy does are not held.
    // Not global, because `policy show` has its own `--tiers`, which shows the tiers.
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
    /// End the session at a limit (memory=2G, seconds=60); may be repeated
    ///
    /// memory=2G, pids=256, openFiles=1024 or seconds=3600. This option can only tighten `limits` in guard.json.
    #[arg(
        long = "limit",
        global = true,
        value_name = "NAME=VALUE",
        value_parser = Limits::parse_one,
        hide_short_help = true
    )]
    pub limits: Vec<Limits>,
    /// Commands outside the guard: off, ask, on or full [default: elevated.default]
    #[arg(long, value_name = "LEVEL", value_parser = level, hide = true)]
    pub elevated: Option<ElevatedLevel>,
    /// Who this session is with, for `elevated.allowFrom`; may be repeated. WHO may have a kind before it: id:, from:,
    /// e164:, name:, username: or tag:
    #[arg(
        id = "SENDER",
        long = "sender",
        value_name = "CHANNEL:WHO",
        value_parser = ElevatedSender::parse,
        hide = true
    )]
    pub senders: Vec<ElevatedSender>,
    /// When the command ends, kill the processes that it left running
    #[arg(long, global = true, hide_short_help = true)]
    pub kill_on_exit: bool,
}

/// A second destination for the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogTo {
    /// systemd's journal (also `audit.journald` in guard.json).
    Journald,
}

/// Who decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tier {
    /// The supervisor does the call itself, on the object that it checked. This tier is always on.
    Broker,
    /// The supervisor lets the kernel do a call whose object the Landlock floor covers.
    Floored,
    /// The kernel alone decides, by the Landlock floor.
    Kernel,
}

/// The profile that the command line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileChoice {
    /// No profile.
    Without,
    /// This one.
    Named(Profile),
}

fn profile(name: &str) -> Result<ProfileChoice, String> {
    let names = || Profile::ALL.map(Profile::as_str).join(", ");
    match name {
        "none" => Ok(ProfileChoice::Without),
        name => Profile::from_name(name)
            .map(ProfileChoice::Named)
            .ok_or_else(|| format!("one of {}, none", names())),
    }
}

fn security(name: &str) -> Result<Security, String> {
    Security::from_name(name).ok_or_else(|| "one of deny, allowlist, full".to_owned())
}

fn ask(name: &str) -> Result<Ask, String> {
    Ask::from_name(name).ok_or_else(|| "one of off, on-miss, always".to_owned())
}

fn level(name: &str) -> Result<ElevatedLevel, String> {
    ElevatedLevel::from_name(name).ok_or_else(|| "one of off, ask, on, full".to_owned())
}
