//! Where python finds the module that it runs (`-m MODULE`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::Policy;

/// What follows a module's name in the path of its file, below a directory of sys.path.
const ENDINGS: [&str; 4] = [".py", ".pyc", "/__init__.py", "/__init__.pyc"];

/// Returns whether it is certain from which files python takes a module. They are certain in the current directory,
/// where they are bound, and in the directory of the standard library, which comes next (the Python Library Reference,
/// "The initialization of the sys.path module search path") and which the tree may not write. They are not certain if a
/// variable puts a directory between the two, if the module is only in a later directory (such as the packages of an
/// environment), or if python's name does not tell its library.
pub fn is_certain(
    policy: &Policy,
    program: &[u8],
    module: &str,
    cwd: &[u8],
    environment: &[Vec<u8>],
) -> bool {
    let is_set =
        |name: &[u8]| environment.iter().any(|entry| entry.starts_with(name) && entry.len() > name.len());
    if is_set(b"PYTHONPATH=") || is_set(b"PYTHONHOME=") || is_set(b"PYTHONPLATLIBDIR=") {
        return false;
    }
    let top = module.split('.').next().unwrap_or_default();
    let files = |directory: &Path| ENDINGS.map(|ending| directory.join(format!("{top}{ending}")));
    let is_here = || files(Path::new(OsStr::from_bytes(cwd))).iter().any(|file| file.is_file());
    let is_in_library = || {
        let found = library(Path::new(OsStr::from_bytes(program))).into_iter();
        let found = found.flat_map(|directory| files(&directory)).filter(|file| file.is_file());
        found.map(|file| policy.writable(file.as_os_str().as_bytes())).next() == Some(false)
    };
    is_here() || is_in_library()
}

/// The directories in which the python at this real path has its library: `/usr/lib/python3.13` for `/usr/bin/python3.13`.
fn library(program: &Path) -> Option<std::path::PathBuf> {
    let name = program.file_name()?.to_str()?;
    let version = name.strip_prefix("python")?;
    let is_version = version.split_once('.').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let prefix = program.parent().filter(|_| is_version)?.parent()?;
    Some(prefix.join("lib").join(name))
}
