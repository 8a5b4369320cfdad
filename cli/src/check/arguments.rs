//! The arguments of `check`.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

/// What `check` is asked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard check --write ./notes.txt\n  \
    openclaw-guard check git status\n  \
    openclaw-guard check --connect 127.0.0.1:18789\n  \
    openclaw-guard check --url https://example.com/ --resolves-to 10.0.0.1\n  \
    openclaw-guard check 'ls -la | rg x'\n  \
    openclaw-guard check --batch < questions.jsonl\n\n\
    A batch is JSON Lines; each question gets a line with its answer:\n  \
    {\"op\":\"read\",\"path\":\"~/x\"}\n  \
    {\"op\":\"exec\",\"argv\":[\"rg\",\"-n\",\"main\"],\"resolved\":\"/usr/bin/rg\",\"cwd\":\"/tmp\"}\n  \
    {\"op\":\"connect\",\"address\":\"127.0.0.1:18789\"}\n  \
    {\"op\":\"env\",\"base\":{\"LD_PRELOAD\":\"x\"},\"overrides\":{\"PATH\":\"/x\"}}\n\
    docs/policy.md lists all questions.\n\n\
    Exit status: 0 allow, 1 deny, 2 ask, 125 error.")]
pub struct CheckArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// May this file be read?
    #[arg(long, value_name = "PATH", group = "question")]
    pub read: Option<PathBuf>,
    /// May this file be written, created or removed?
    #[arg(long, value_name = "PATH", group = "question")]
    pub write: Option<PathBuf>,
    /// May this program be run?
    #[arg(long, value_name = "PATH", group = "question")]
    pub exec: Option<PathBuf>,
    /// May a program connect to this TCP address? (127.0.0.1:80, [::1]:80)
    #[arg(long, value_name = "ADDRESS", group = "question")]
    pub connect: Option<SocketAddr>,
    /// May this URL be fetched? Judges its name and the addresses of --resolves-to; looks nothing up
    #[arg(long, value_name = "URL", group = "question")]
    pub url: Option<String>,
    /// What the name in --url resolves to
    #[arg(long, value_name = "IP", requires = "url", num_args = 1..)]
    pub resolves_to: Vec<IpAddr>,
    /// May a program listen on this TCP address?
    #[arg(long, value_name = "ADDRESS", group = "question")]
    pub bind: Option<SocketAddr>,
    /// Answer the questions on standard input; take paths as they are written
    #[arg(long, group = "question")]
    pub batch: bool,
    /// May this command be run? A single argument that does not name a program is read as a shell command line
    #[arg(last = true, value_name = "CMD", group = "question")]
    pub command: Vec<OsString>,
}
