//! Measures what openclaw-guard costs: `cargo run --release -p guard-bench -- overhead`.

#![deny(unsafe_code)]

mod bare;
mod bench_runner;
mod caller;
mod cli;
mod error;
mod guard;
mod histogram;
mod instructions;
mod machine;
mod measure;
mod overhead;
mod pages;
mod peers;
mod plot;
mod policies;
mod privileges;
mod report;
mod results;
mod rows;
mod runner;
mod scale;
mod stats;
mod units;
mod world;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use cli::{Cli, Command};
use error::{Context, Error};

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("guard-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Error> {
    match command {
        Command::Overhead(options) => overhead::overhead(&options)?,
        Command::Peers(options) => overhead::peers(&options)?,
        Command::Instructions(options) => instructions::run(&options)?,
        Command::Plot(options) => plot::run(&options)?,
        Command::Tables(options) => pages::run(&options)?,
        Command::Scale(options) => scale::run(&options)?,
        Command::Crowd { path, threads, milliseconds } => {
            print(&scale::work::crowd(&path, threads, Duration::from_millis(milliseconds))?)?;
        }
        Command::NowAndThen { path, count, beside } => {
            print(&scale::work::now_and_then(&path, count, beside)?)?;
        }
        Command::Greedy { path } => scale::work::greedy(&path)?,
        Command::Sleepers { count } => scale::work::sleepers(count)?,
        Command::Steady { path, count } => scale::work::steady(&path, count)?,
        Command::Caller { operation, path, count } => {
            print(&caller::run(operation, &path, count)?)?;
        }
        Command::Bare { own, command } => return bare::supervise(own, &command),
        Command::BareLeader { command } => bare::lead(&command)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a caller's results for the process that started it.
fn print(found: &impl serde::Serialize) -> Result<(), Error> {
    println!("{}", serde_json::to_string(found).context(|| "results".into())?);
    Ok(())
}
