//! Why the guard cannot start, or cannot put another policy in force.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use guard_policy::Problem;
use guard_policy::text::shown;

use super::{agent_settings, realpath};

/// Why the guard cannot start, worded for the operator.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// guard.json cannot be read, or was named and does not exist.
    #[error("cannot read the policy {path}: {error}", path = shown(path.as_os_str().as_bytes()))]
    Unreadable {
        /// The file, as the operator named it.
        path: PathBuf,
        /// The error from the kernel.
        error: std::io::Error,
    },
    /// guard.json is not UTF-8.
    #[error("the policy {path} is not UTF-8 text", path = shown(path.as_os_str().as_bytes()))]
    NotText {
        /// The file, as the operator named it.
        path: PathBuf,
    },
    /// A project's file cannot be read.
    #[error(
        "cannot use the project's {path}: {error}; repair or remove it, because the guard cannot know what it denies",
        path = shown(path.as_os_str().as_bytes())
    )]
    Project {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// guard.json does not parse or compile; holds all of its problems.
    #[error("{}", lines(.0))]
    Invalid(Vec<Problem>),
    /// No home directory on the command line, in the environment or in passwd(5).
    #[error("no home directory: set HOME, or give --home")]
    NoHome,
    /// A re-read policy denies calls that the kernel has allowed on its own, without the supervisor, since
    /// the start.
    #[error(
        "it removes rights that the kernel already grants (`openclaw-guard policy show --tiers`): restart the guard, or start it with --tiers broker,floored"
    )]
    TakesFromKernel,
    /// The start directory cannot be recorded.
    #[error(
        "cannot write {path}, the record of where guarded runs may write: {error}; without it a later run may trust what this one writes",
        path = shown(path.as_os_str().as_bytes())
    )]
    Unrecorded {
        /// The record.
        path: PathBuf,
        /// Why it could not be written.
        error: std::io::Error,
    },
    /// A file or directory of this user's cannot be read.
    #[error(
        "the guard cannot read {path}, which is yours, so it cannot tell whether that leads to something protected: `chmod u+rX {path}`, or leave it out of what the policy, PATH and your links name",
        path = shown(.0.as_os_str().as_bytes())
    )]
    Shut(PathBuf),
    /// A file or directory cannot be read for a reason that may pass.
    #[error(
        "the guard cannot read {path} now ({error}), so it cannot tell whether that leads to something protected: try again, and look for what holds it (`lslocks`) or uses up descriptors or memory",
        path = shown(path.as_os_str().as_bytes())
    )]
    Busy {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The settings of an agent cannot be read as a whole.
    #[error(transparent)]
    Unread(agent_settings::UnreadSettings),
    /// The current directory has no path, so relative paths cannot be resolved.
    #[error("cannot find the current directory: {0}")]
    NoDirectory(std::io::Error),
    /// A variable in the guard's own environment has a value that does not count.
    #[error("{name}={value}: {expected}", value = shown(value.as_bytes()))]
    Variable {
        /// The variable's name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The accepted values, or what to do instead.
        expected: &'static str,
    },
}

impl From<realpath::Shut> for SetupError {
    fn from(shut: realpath::Shut) -> SetupError {
        let realpath::Shut { path, passing } = shut;
        match passing {
            Some(errno) => SetupError::Busy { path, error: std::io::Error::from_raw_os_error(errno) },
            None => SetupError::Shut(path),
        }
    }
}

fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| shown(problem.to_string().as_bytes()))
        .collect::<Vec<_>>()
        .join("\nopenclaw-guard: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_problem_writes_to_the_terminal_as_it_likes() {
        let path = || PathBuf::from("/x\x1b[31m");
        let error = std::io::Error::from(std::io::ErrorKind::NotFound);
        for problem in [
            SetupError::Unreadable { path: path(), error },
            SetupError::NotText { path: path() },
            SetupError::Variable { name: "OC_EXEC_ASK", value: "\x1b]0;x\x07".to_owned(), expected: "off" },
        ] {
            assert!(!problem.to_string().contains(char::is_control), "{problem:?}");
        }
    }
}
