//! Everything that is generated from the command line's definition: `--help`, manual pages, completions.

pub mod completions;
pub mod help;
mod page;
mod top;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use guard_policy::text::shown;
use guard_supervisor::exit::Exit;

/// Which page.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard man | man -l -\n  \
    openclaw-guard man approvals resolve | man -l -\n  \
    openclaw-guard man --directory ~/.local/share/man/man1\n\n\
    Exit status: 0, 125 the page does not exist or cannot be written.")]
pub struct ManArgs {
    /// The command, as `approvals resolve` or `approvals-resolve` [default: openclaw-guard itself]
    #[arg(value_name = "COMMAND", conflicts_with = "directory")]
    words: Vec<String>,
    /// Write every page to this directory; create it if necessary
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    directory: Option<PathBuf>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ManualError {
    #[error("there is no command {0}: `openclaw-guard --help` lists the commands")]
    NoPage(String),
    #[error("cannot write {path}: {error}", path = shown(path.as_os_str().as_encoded_bytes()))]
    Unwritten { path: PathBuf, error: io::Error },
    #[error("cannot write: {0}")]
    Output(io::Error),
}

/// Prints one page as roff, or writes all pages.
///
/// # Errors
/// When there is no command of this name, or the output cannot be written.
pub fn act(program: Command, arguments: &ManArgs) -> Result<Exit, ManualError> {
    let top = page::built(program);
    if let Some(directory) = &arguments.directory {
        write_all(&top, directory)?;
        return Ok(Exit::Success);
    }
    let words = arguments.words.join("-");
    let asked = words.trim_start_matches(top.get_name()).trim_start_matches('-');
    let name =
        if asked.is_empty() { top.get_name().to_owned() } else { format!("{}-{asked}", top.get_name()) };
    let command = every(&top)
        .into_iter()
        .find(|command| page::name(command) == name)
        .ok_or_else(|| ManualError::NoPage(shown(words.as_bytes())))?;
    print(&page::page(&top, command)).map_err(ManualError::Output)?;
    Ok(Exit::Success)
}

fn write_all(top: &Command, directory: &Path) -> Result<(), ManualError> {
    let unwritten = |path: &Path| {
        let path = path.to_owned();
        |error| ManualError::Unwritten { path, error }
    };
    fs::create_dir_all(directory).map_err(unwritten(directory))?;
    for command in every(top) {
        let path = directory.join(format!("{}.1", page::name(command)));
        fs::write(&path, page::page(top, command)).map_err(unwritten(&path))?;
    }
    Ok(())
}

/// The command and all its visible subcommands.
fn every(command: &Command) -> Vec<&Command> {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    std::iter::once(command).chain(below.flat_map(every)).collect()
}

/// Prints what `--version` prints.
///
/// # Errors
/// When the output cannot be written.
pub fn version() -> io::Result<Exit> {
    print(concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), "\n"))?;
    Ok(Exit::Success)
}

/// Prints a text to standard output; ignores a closed pipe.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}
