//! Finds the file that a command's name resolves to, on the disk.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use guard_policy::environment::Variable;
use guard_supervisor::config::environment::candidates;
use nix::unistd::{AccessFlags, access};

/// The program that execvp(3) would start in `cwd`, by the `PATH` among these variables.
pub fn program(name: &OsStr, env: &[Variable], cwd: &Path) -> Option<PathBuf> {
    // Removes `.` components; the kernel resolves `..`.
    let mut paths =
        candidates(name, env).into_iter().map(|path| cwd.join(path).components().collect::<PathBuf>());
    paths.find(|path| access(path, AccessFlags::X_OK).is_ok() && path.is_file())
}
