//! `openclaw-guard -- bash`: a shell in which the kernel asks the guard about every program and every file.
//!
//! This crate has the subcommands and the views of the approvals queue. `guard_supervisor` does the guarding.
//!
//! It is a library so that the fuzzer can link to it; the program is only its `main`.

pub mod approvals;
mod audit;
mod bench;
mod check;
mod cli;
mod doctor;
mod edit;
mod init;
mod learn;
mod manual;
mod policy;
mod why;

use clap::CommandFactory;
use guard_supervisor::exit::Exit;

use crate::cli::{Cli, Task};

/// Runs the program: parses the command line, runs the command, and returns the exit code.
pub fn main() -> std::process::ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => {
            // --help and --version are also returned as errors.
            let _ = error.print();
            return if error.use_stderr() { Exit::Failure.into() } else { Exit::Success.into() };
        }
    };
    if let Err(error) = guard_supervisor::config::untrusted_environment::replace(&cli.options) {
        eprintln!("openclaw-guard: cannot start with a clean environment: {error}");
        return Exit::Failure.into();
    }
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
            approvals::command::act(&cli.options, action).map_err(|error| error.to_string())
        }
        Some(Task::Audit(action)) => audit::act(&cli.options, action).map_err(|error| error.to_string()),
        Some(Task::Bench(arguments)) => {
            bench::run(&cli.options, arguments).map_err(|error| error.to_string())
        }
        Some(Task::Completions(arguments)) => manual::completions::act(&Cli::command(), arguments)
            .map_err(|error| format!("cannot write: {error}")),
        Some(Task::Doctor(doctor)) => doctor::act(&cli.options, doctor).map_err(|error| error.to_string()),
        Some(Task::Init(arguments)) => init::act(&cli.options, arguments).map_err(|error| error.to_string()),
        Some(Task::Learn(arguments)) => {
            learn::act(&cli.options, arguments).map_err(|error| error.to_string())
        }
        Some(Task::Man(arguments)) => {
            manual::act(Cli::command(), arguments).map_err(|error| error.to_string())
        }
        Some(Task::Policy(action)) => policy::act(&cli.options, action).map_err(|error| error.to_string()),
        Some(Task::Why(question)) => why::act(&cli.options, question).map_err(|error| error.to_string()),
        None => guard_supervisor::run::run(&cli.options, &cli.command).map_err(|error| error.to_string()),
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
