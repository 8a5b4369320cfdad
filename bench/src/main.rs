//! Measures what openclaw-guard costs: `cargo run --release -p guard-bench -- overhead`.

#![deny(unsafe_code)]

mod bare;
mod caller;
mod cli;
mod error;
mod guard;
mod histogram;
mod machine;
mod measure;
mod overhead;
mod peers;
mod policies;
mod privileges;
mod report;
mod results;
mod rows;
mod runner;
mod stats;
mod way;
mod world;

use std::process::ExitCode;

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
        Command::Caller { operation, path, count } => {
            let latency = caller::run(operation, &path, count)?;
            println!("{}", serde_json::to_string(&latency).context(|| "latencies".into())?);
        }
        Command::Bare { own, command } => return bare::supervise(own, &command),
        Command::BareLeader { command } => bare::lead(&command)?,
    }
    Ok(ExitCode::SUCCESS)
}
