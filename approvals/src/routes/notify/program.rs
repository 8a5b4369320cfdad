//! The notify program, resolved when the policy is read.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use guard_policy::Policy;
use guard_policy::text::shown;
use rustix::fs::MemfdFlags;

/// Why the program is not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// The tree could change what runs.
    #[error(
        "{file} may be written by the guarded command, and would run unguarded: put it elsewhere",
        file = shown(file.as_os_str().as_bytes())
    )]
    OfTree {
        /// The program, or a file among its arguments.
        file: PathBuf,
    },
    /// There is no program of this name.
    #[error("there is no program {name}", name = shown(name.as_bytes()))]
    NotFound {
        /// The name, as in the policy.
        name: String,
    },
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub(super) argv: Vec<String>,
    /// The real path of its file, or the reason why it is not run.
    file: Result<PathBuf, NotifyError>,
}

impl Program {
    /// Reads the program from a policy, and resolves it by the operator's current PATH and directory.
    pub fn from_policy(policy: &Policy) -> Option<Program> {
        let argv = policy.approvals().notify()?.to_vec();
        let found = find(argv.first()?);
        let may_be_the_trees = |file: &PathBuf| policy.writable(file.as_os_str().as_bytes());
        // An argument may name an interpreter's script, or a configuration file.
        let named = argv[1..].iter().filter_map(|argument| Path::new("/").join(argument).canonicalize().ok());
        let files = found.iter().cloned().chain(named.filter(|path| path.is_file()));
        let file = match (&found, files.into_iter().find(may_be_the_trees)) {
            (_, Some(file)) => Err(NotifyError::OfTree { file }),
            (Some(file), None) => Ok(file.clone()),
            (None, None) => Err(NotifyError::NotFound { name: argv[0].clone() }),
        };
        Some(Program { argv, file })
    }

    #[cfg(test)]
    pub fn new(argv: &[&str]) -> Program {
        let argv: Vec<_> = argv.iter().map(|argument| (*argument).to_owned()).collect();
        let file = find(&argv[0]).ok_or_else(|| NotifyError::NotFound { name: argv[0].clone() });
        Program { argv, file }
    }

    /// Starts it with `text` as its standard input.
    pub(super) fn start(&self, text: &[u8]) -> io::Result<Child> {
        let file = self.file.as_ref().map_err(|error| io::Error::other(error.clone()))?;
        // Not a pipe: writing to a full one blocks if the program does not read.
        let mut input = File::from(rustix::fs::memfd_create("openclaw-guard-approval", MemfdFlags::CLOEXEC)?);
        input.write_all(text)?;
        input.rewind()?;
        let mut command = Command::new(file);
        command.arg0(&self.argv[0]).args(&self.argv[1..]);
        command.stdin(Stdio::from(input)).stdout(Stdio::null()).stderr(Stdio::null());
        // Interpreters load modules from the current directory, and guarded processes can often write the operator's
        // current directory.
        command.current_dir("/");
        guard_shim::detach(&mut command);
        command.spawn()
    }
}

/// The real path of a program, as execvp(3) finds it.
fn find(name: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Path::new(name).canonicalize().ok().filter(|path| is_program(path));
    }
    let path = std::env::var_os("PATH")?;
    let all = std::env::split_paths(&path).filter(|directory| directory.is_absolute());
    all.filter_map(|directory| directory.join(name).canonicalize().ok()).find(|path| is_program(path))
}
