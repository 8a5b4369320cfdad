//! Measures what openclaw-guard costs: `cargo run --release -p guard-bench -- overhead`.

mod caller;
mod cli;
mod error;
mod histogram;
mod machine;
mod measure;
mod overhead;
mod policies;
mod privileges;
mod report;
mod results;
mod rows;
mod stats;
mod way;
mod world;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use error::{Context, Error};

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guard-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Overhead(options) => overhead::run(&options),
        Command::Caller { operation, path, count } => {
            let latency = caller::run(operation, &path, count)?;
            println!("{}", serde_json::to_string(&latency).context(|| "latencies".into())?);
            Ok(())
        }
    }
}
