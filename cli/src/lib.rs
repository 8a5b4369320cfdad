//! `openclaw-guard -- bash`: a shell in which the kernel asks the guard about every program and every file.
//!
//! This crate has the subcommands and the views of the approvals queue. `guard_supervisor` does the guarding.
//!
//! It is a library so that the fuzzer can link to it; the program is only its `main`.

pub mod approvals;
mod audit;
mod bench;
mod charset;
mod check;
mod cli;
mod confirm;
mod demo;
mod doctor;
mod edit;
mod gate;
mod init;
mod inside;
mod learn;
mod manual;
mod node;
mod outside;
mod policy;
mod sandbox;
mod session;
mod tools;
mod trust;
mod web_proxy;
mod why;
mod words;

use std::borrow::Cow;
use std::io::{self, Write};

use clap::CommandFactory;
use guard_supervisor::exit::Exit;

use crate::cli::{Cli, Task};

/// Runs the program: parses the command line, runs the command, and returns the exit code.
pub fn main() -> std::process::ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => {
            // --help and --version are also returned as errors.
            show(&error);
            if !error.use_stderr() {
                return Exit::Success.into();
            }
            name_program();
            return Exit::Failure.into();
        }
    };
    if let Err(error) = guard_supervisor::config::untrusted_environment::replace(&cli.options) {
        eprintln!("openclaw-guard: cannot start with a clean environment: {error}");
        return Exit::Failure.into();
    }
    log_to_stderr(cli.options.verbose);
    if let Some(answered) = inside::answer(cli.task.as_ref()) {
        // A closed pipe means that the reader has seen enough.
        return match answered {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::Failure.into(),
            _ => Exit::Success.into(),
        };
    }
    if let Some(line) = inside::refusal(&cli.options, cli.task.as_ref()) {
        eprintln!("{line}");
        return Exit::Failure.into();
    }
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
        Some(Task::Demo(arguments)) => demo::act(arguments).map_err(|error| error.to_string()),
        Some(Task::Doctor(doctor)) => doctor::act(&cli.options, doctor).map_err(|error| error.to_string()),
        Some(Task::Gate(action)) => gate::act(&cli.options, action).map_err(|error| error.to_string()),
        Some(Task::Init(arguments)) => init::act(&cli.options, arguments).map_err(|error| error.to_string()),
        Some(Task::Learn(arguments)) => {
            learn::act(&cli.options, arguments).map_err(|error| error.to_string())
        }
        Some(Task::Man(arguments)) => {
            manual::act(Cli::command(), arguments).map_err(|error| error.to_string())
        }
        Some(Task::Node(arguments)) => node::act(&cli.options, arguments).map_err(|error| error.to_string()),
        Some(Task::RunOutside(arguments)) => outside::act(arguments).map_err(|error| error.to_string()),
        Some(Task::Policy(action)) => policy::act(&cli.options, action).map_err(|error| error.to_string()),
        Some(Task::Tools(action)) => tools::act(&cli.options, action).map_err(|error| error.to_string()),
        Some(Task::Sandbox(action)) => sandbox::act(&cli.options, action).map_err(|error| error.to_string()),
        Some(Task::Session(action)) => session::act(&cli.options, action).map_err(|error| error.to_string()),
        Some(Task::Trust(arguments)) => {
            trust::act(&cli.options, arguments).map_err(|error| error.to_string())
        }
        Some(Task::Version) => manual::version().map_err(|error| format!("cannot write: {error}")),
        Some(Task::WebProxy(arguments)) => web_proxy::act(arguments).map_err(|error| error.to_string()),
        Some(Task::Why(question)) => why::act(&cli.options, question).map_err(|error| error.to_string()),
        None => guard_supervisor::run::run(&cli.options, &cli.command, &web_proxy::command())
            .map_err(|error| error.to_string()),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(problem) => {
            eprintln!("openclaw-guard: {problem}");
            name_program();
            Exit::Failure.into()
        }
    }
}

/// Prints an error, the help or the version.
fn show(error: &clap::Error) {
    let text = error.render();
    match charset::fitted(&text.to_string()) {
        Cow::Owned(plain) if error.use_stderr() => eprint!("{plain}"),
        Cow::Owned(plain) => {
            let _ = io::stdout().write_all(plain.as_bytes());
        }
        Cow::Borrowed(_) => {
            let _ = error.print();
        }
    }
}

/// After an error, says how to run the program whose name was taken for a subcommand, if there is one.
fn name_program() {
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(name) = words::namesake(&Cli::command(), &words) {
        eprintln!("openclaw-guard: to run the program {name}, give -- before it: openclaw-guard -- {name}");
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
