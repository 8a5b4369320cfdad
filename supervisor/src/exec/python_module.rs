//! Where python finds the module that it runs (`-m MODULE`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::Policy;

/// What follows a module's name in the path of its file, below a directory of sys.path.
const ENDINGS: [&str; 4] = [".py", ".pyc", "/__init__.py", "/__init__.pyc"];

/// The file that makes a directory a virtual environment, which may name another library.
const ENVIRONMENT: &str = "pyvenv.cfg";

/// How python is started.
#[derive(Clone, Copy, Debug)]
pub struct PythonStart<'a> {
    /// The real path of the program.
    pub program: &'a [u8],
    /// Its arguments.
    pub argv: &'a [Vec<u8>],
    /// Its current directory.
    pub cwd: &'a [u8],
    /// Its variables.
    pub environment: &'a [Vec<u8>],
}

impl PythonStart<'_> {
    /// Returns whether it is certain from which files python takes a module. They are certain in the current directory,
    /// where they are bound, and in the directory of the standard library, which comes next (the Python Library Reference,
    /// "The initialization of the sys.path module search path") and which the tree may not write. They are not certain if an
    /// option or a variable leaves the current directory out or puts a directory between the two, if the module is only in a
    /// later directory (such as the packages of an environment), or if python's name does not tell its library.
    pub fn is_certain(&self, policy: &Policy, module: &str) -> bool {
        let of_places = ["PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR"];
        if of_places.into_iter().any(|name| self.variable(name).is_some()) {
            return false;
        }
        let top = module.split('.').next().unwrap_or_default();
        let files = |directory: &Path| ENDINGS.map(|ending| directory.join(format!("{top}{ending}")));
        let is_here = || files(path(self.cwd)).iter().any(|file| file.is_file());
        let is_in_library = || {
            let found =
                library(path(self.program)).filter(|_| !self.may_be_in_environment(policy)).into_iter();
            let found = found.flat_map(|directory| files(&directory)).filter(|file| file.is_file());
            found.map(|file| policy.writable(file.as_os_str().as_bytes())).next() == Some(false)
        };
        self.looks_here() && is_here() || is_in_library()
    }

    fn variable(&self, name: &str) -> Option<&[u8]> {
        let values = self
            .environment
            .iter()
            .filter_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        values.into_iter().find(|value| !value.is_empty())
    }

    /// Whether modules of the current directory count: not with `-I`, `-P` or PYTHONSAFEPATH (python(1)). A value of another
    /// option may look like one of these.
    fn looks_here(&self) -> bool {
        let leaves_out = |word: &Vec<u8>| {
            word.starts_with(b"-") && word.iter().any(|letter| matches!(letter, b'I' | b'P'))
        };
        self.variable("PYTHONSAFEPATH").is_none() && !self.argv.iter().skip(1).any(leaves_out)
    }

    /// Whether python may find a virtual environment where it was called: beside the name by which it was called, or in the
    /// directory above (PEP 405).
    fn may_be_in_environment(&self, policy: &Policy) -> bool {
        let Some(called) = self.called() else { return true };
        let places = called.parent().into_iter().flat_map(|directory| [Some(directory), directory.parent()]);
        places.flatten().any(|directory| {
            let file = directory.join(ENVIRONMENT);
            policy.writable(file.as_os_str().as_bytes()) || file.exists()
        })
    }

    /// The path by which python was called.
    fn called(&self) -> Option<PathBuf> {
        let name = path(self.argv.first()?);
        let cwd = path(self.cwd);
        if name.as_os_str().as_bytes().contains(&b'/') {
            return Some(cwd.join(name));
        }
        let directories = self.variable("PATH")?.split(|byte| *byte == b':');
        directories.map(|directory| cwd.join(path(directory)).join(name)).find(|file| file.is_file())
    }
}

fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// The directories in which the python at this real path has its library: `/usr/lib/python3.13` for `/usr/bin/python3.13`.
fn library(program: &Path) -> Option<PathBuf> {
    let name = program.file_name()?.to_str()?;
    let version = name.strip_prefix("python")?;
    let is_version = version.split_once('.').is_some_and(|(major, minor)| {
        [major, minor].iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let prefix = program.parent().filter(|_| is_version)?.parent()?;
    Some(prefix.join("lib").join(name))
}
