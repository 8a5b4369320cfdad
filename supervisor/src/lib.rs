//! `openclaw-guard -- bash`: a shell in which the kernel asks the guard about every program and every file.
//!
//! `run` starts a guarded command; its processes are in `process`. Held system calls come in through `kernel`, are
//! taken by a worker of `pool`, done by `broker` or `exec` on what `resolve` found, and judged by `guard`.
//!
//! A library so that the fuzzer can be linked to it; the program is its `main` alone.

mod answer;
mod approval;
mod asking;
mod audit;
mod bench;
mod broker;
mod caller;
mod check;
mod cli;
mod clock;
mod current;
mod doctor;
mod edit;
mod environment;
mod exec;
mod exit;
mod faults;
mod floor;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod gateway;
mod guard;
mod ids;
mod init;
mod interfaces;
mod kernel;
mod learn;
mod links;
mod manual;
mod options;
mod place;
mod policy;
mod pool;
mod ports;
mod premises;
mod process;
mod reload;
mod report;
mod resolve;
mod run;
mod servers;
mod setup;
mod store;
mod tasks;
mod terminal;
mod text;
mod tree;
mod why;

use crate::cli::{Cli, Task};
use crate::exit::Exit;

/// The program: reads the command line, does what it says, and says in which way that ended.
pub fn main() -> std::process::ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => {
            // --help and --version come this way too.
            let _ = error.print();
            return if error.use_stderr() { Exit::Failure.into() } else { Exit::Success.into() };
        }
    };
    log_to_stderr(cli.options.verbose);
    let done = match &cli.task {
        Some(Task::Check(question)) => {
            check::check(&cli.options, question).map_err(|error| error.to_string())
        }
        Some(Task::Allow(what)) => {
            edit::command::allow(&cli.options, what).map_err(|error| error.to_string())
        }
        Some(Task::Deny(what)) => edit::command::deny(&cli.options, what).map_err(|error| error.to_string()),
        Some(Task::Approvals(action)) => {
            approval::command::act(&cli.options, action).map_err(|error| error.to_string())
        }
        Some(Task::Audit(action)) => {
            audit::command::act(&cli.options, action).map_err(|error| error.to_string())
        }
        Some(Task::Bench(arguments)) => {
            bench::run(&cli.options, arguments).map_err(|error| error.to_string())
        }
        Some(Task::Completions(arguments)) => {
            manual::completions::act(arguments).map_err(|error| format!("cannot write: {error}"))
        }
        Some(Task::Doctor(doctor)) => doctor::act(&cli.options, doctor).map_err(|error| error.to_string()),
        Some(Task::Init(arguments)) => init::act(&cli.options, arguments).map_err(|error| error.to_string()),
        Some(Task::Learn(arguments)) => {
            learn::act(&cli.options, arguments).map_err(|error| error.to_string())
        }
        Some(Task::Man(arguments)) => manual::act(arguments).map_err(|error| error.to_string()),
        Some(Task::Policy(action)) => policy::act(&cli.options, action).map_err(|error| error.to_string()),
        Some(Task::Why(question)) => why::act(&cli.options, question).map_err(|error| error.to_string()),
        None => run::run(&cli.options, &cli.command).map_err(|error| error.to_string()),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(problem) => {
            eprintln!("openclaw-guard: {problem}");
            Exit::Failure.into()
        }
    }
}

fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 => tracing::Level::ERROR,
        1 => tracing::Level::INFO,
        _ => tracing::Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .log_internal_errors(false)
        .init();
}
