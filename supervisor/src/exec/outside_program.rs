//! The program that a command outside the guard runs: found as the operator would find it, and held.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guard_policy::analysis::{mentioned_files, script_operands};
use guard_policy::text::shown;
use guard_policy::{Policy, Role};
use rustix::fs::{Access, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::image::{self, Image};
use crate::kernel::requests;
use crate::resolve::{Object, real_path};

/// How many scripts may be nested as interpreters.
const MAX_SCRIPTS: usize = 5;

/// How many other files may be named among the arguments.
const MAX_OTHERS: usize = 16;

/// A held file of the start.
#[derive(Debug)]
pub struct HeldFile {
    /// The real path.
    pub path: Vec<u8>,
    /// The file.
    pub object: Object,
    /// The file, open to read.
    pub file: File,
    /// Its arguments, for the policy.
    pub argv: Vec<Vec<u8>>,
    /// Its part in the start, for the policy.
    pub role: Role,
    /// Whether the tree may write it.
    pub is_of_tree: bool,
}

/// What a command runs.
#[derive(Debug)]
pub struct OutsideProgram {
    /// The program that the kernel runs in the end.
    pub program: HeldFile,
    /// The scripts whose first lines lead to the program. The script that was called comes first.
    pub scripts: Vec<HeldFile>,
    /// A script among the arguments of the program.
    pub operand: Option<HeldFile>,
    /// Which argument of the program is the name of the script that was called.
    pub script_at: Option<usize>,
    /// Other files among the arguments that the program may run.
    pub others: Vec<HeldFile>,
}

/// Why a command does not run outside the guard.
#[derive(Debug, thiserror::Error)]
pub enum OutsideProgramError {
    /// It has no words, or an empty name.
    #[error("the command is empty")]
    Empty,
    /// A file that it names cannot be found, read or run.
    #[error("{path}: {error}", path = shown(path))]
    Unusable {
        /// The file, as named.
        path: Vec<u8>,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A file that was found cannot be held.
    #[error("a file of the command cannot be used: {0}")]
    Unheld(#[source] io::Error),
    /// No directory of PATH has it.
    #[error("{name}: not found in the operator's PATH", name = shown(name))]
    NotInPath {
        /// The command's name.
        name: Vec<u8>,
    },
    /// A script's first line names a file below the current directory.
    #[error("{script}: its interpreter has no absolute path", script = shown(script))]
    RelativeInterpreter {
        /// The script.
        script: Vec<u8>,
    },
    /// A script of the tree's is another script's interpreter.
    #[error("{script}: an interpreter that the tree may write", script = shown(script))]
    InterpreterOfTree {
        /// The interpreter.
        script: Vec<u8>,
    },
    /// The kernel does not run the file.
    #[error("{path}: neither a program for this machine nor a script", path = shown(path))]
    NotProgram {
        /// The file.
        path: Vec<u8>,
    },
    /// More than [`MAX_SCRIPTS`] scripts are each other's interpreters.
    #[error("too many interpreters")]
    TooManyInterpreters,
    /// The interpreter would run another file than the script.
    #[error("an option of its #! line takes the script's name, so another file would run as the script")]
    OtherScript,
    /// More than [`MAX_OTHERS`] files of the tree's are named.
    #[error("too many arguments name files that could run")]
    TooManyFiles,
    /// The tree may change the program's loader, or where its name leads.
    #[error("{loader}: a loader that the tree may write", loader = shown(loader))]
    LoaderOfTree {
        /// The loader, as the program names it.
        loader: Vec<u8>,
    },
}

/// Finds what `words` would run in this directory. `path` is the operator's PATH.
///
/// # Errors
/// Why nothing is found, or what is found must not run.
pub fn find(
    policy: &Policy,
    words: &[Vec<u8>],
    directory: BorrowedFd<'_>,
    path: &[u8],
) -> Result<OutsideProgram, OutsideProgramError> {
    let name = words.first().filter(|name| !name.is_empty()).ok_or(OutsideProgramError::Empty)?;
    let (mut fd, mut role) = (lookup(name, directory, path)?, Role::Program);
    let mut argv = words.to_vec();
    let (mut scripts, mut script_at): (Vec<HeldFile>, _) = (Vec::new(), None);
    for _ in 0..=MAX_SCRIPTS {
        let held = hold(policy, fd, &argv, role)?;
        match image::read(&held.file).map_err(|error| cannot(&held.path, error))? {
            Image::Elf { interpreter } => {
                check_loader(policy, interpreter.as_deref())?;
                return operands(policy, held, scripts, script_at, directory);
            }
            Image::Script { interpreter, argument } => {
                if !interpreter.starts_with(b"/") {
                    return Err(OutsideProgramError::RelativeInterpreter { script: held.path });
                }
                if held.is_of_tree && !scripts.is_empty() {
                    return Err(OutsideProgramError::InterpreterOfTree { script: held.path });
                }
                // The real path is passed, because nothing of the tree's can make it lead elsewhere.
                script_at = script_at.or(Some(0)).map(|at| at + 1 + usize::from(argument.is_some()));
                let lead = [Some(interpreter.clone()), argument, Some(held.path.clone())];
                argv.splice(..1, lead.into_iter().flatten());
                fd = opened(directory, &interpreter).map_err(|error| cannot(&interpreter, error))?;
                role = Role::Interpreter;
                scripts.push(held);
            }
            Image::Foreign | Image::Unknown => {
                return Err(OutsideProgramError::NotProgram { path: held.path });
            }
        }
    }
    Err(OutsideProgramError::TooManyInterpreters)
}

/// Checks a program's loader. `file` has the program's content, `path` is the program's own.
///
/// # Errors
/// Why the content must not run.
pub fn check_program(policy: &Policy, path: &[u8], file: &File) -> Result<(), OutsideProgramError> {
    match image::read(file).map_err(|error| cannot(path, error))? {
        Image::Elf { interpreter } => check_loader(policy, interpreter.as_deref()),
        Image::Script { .. } | Image::Foreign | Image::Unknown => {
            Err(OutsideProgramError::NotProgram { path: path.to_vec() })
        }
    }
}

impl OutsideProgram {
    /// The script that was called, or that the program is given.
    pub fn script(&self) -> Option<&HeldFile> {
        self.scripts.first().or(self.operand.as_ref())
    }
}

/// Adds the files that the program's arguments name.
fn operands(
    policy: &Policy,
    mut program: HeldFile,
    scripts: Vec<HeldFile>,
    mut script_at: Option<usize>,
    directory: BorrowedFd<'_>,
) -> Result<OutsideProgram, OutsideProgramError> {
    let named = script_operands(&program.path, &program.argv);
    let mentioned = mentioned_files(&program.path, &program.argv, &named);
    let mut operand = None;
    let path = named.script_path(&program.argv);
    if named.script.is_some() && script_at.is_some() && named.script != script_at {
        return Err(OutsideProgramError::OtherScript);
    }
    if let (Some(at), Some(written), true) = (named.script, path, scripts.is_empty()) {
        let fd = opened(directory, &written).map_err(|error| cannot(&written, error))?;
        let held = hold(policy, fd, &program.argv, Role::Program)?;
        // The name could lead elsewhere when the command reads it: by a link of the tree's, or by /proc/self.
        program.argv[at].clone_from(&held.path);
        operand = Some(held);
        script_at = Some(at);
    }
    let mut others = Vec::new();
    let too_many = || Err(OutsideProgramError::TooManyFiles);
    if !mentioned.more.is_empty() {
        return too_many();
    }
    for written in named.others.into_iter().chain(mentioned.words) {
        let held = opened(directory, &written).ok().and_then(|fd| {
            // A directory, a pipe, and a file that cannot be read are left out.
            hold(policy, fd, &program.argv, Role::Program).ok()
        });
        others.extend(held.filter(|held| held.is_of_tree));
        if others.len() > MAX_OTHERS {
            return too_many();
        }
    }
    Ok(OutsideProgram { program, scripts, operand, script_at, others })
}

/// Looks a command up in the operator's PATH, or in the asker's directory if its name has a slash. Relative directories
/// of PATH are left out, because they would be the tree's.
fn lookup(name: &[u8], directory: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, OutsideProgramError> {
    if name.contains(&b'/') {
        let fd = opened(directory, name).map_err(|error| cannot(name, error))?;
        return runnable(&fd).map(|()| fd).map_err(|error| cannot(name, error));
    }
    let directories = path.split(|byte| *byte == b':').filter(|dir| dir.starts_with(b"/"));
    let candidates = directories.map(|dir| [dir, b"/", name].concat());
    let mut found = candidates.filter_map(|path| opened(directory, &path).ok());
    found
        .find(|fd| runnable(fd).is_ok())
        .ok_or_else(|| OutsideProgramError::NotInPath { name: name.to_vec() })
}

fn runnable(fd: &OwnedFd) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(fd)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => requests::may(fd.as_fd(), Access::EXEC_OK),
        _ => Err(Errno::ACCESS),
    }
}

fn opened(directory: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(directory, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

fn hold(policy: &Policy, fd: OwnedFd, argv: &[Vec<u8>], role: Role) -> Result<HeldFile, OutsideProgramError> {
    let held = || {
        let path = real_path(fd.as_fd())?;
        let object = Object::from_fd(fd)?;
        if object.kind() != FileType::RegularFile || object.stat.st_nlink == 0 {
            return Err(Errno::ACCESS);
        }
        let file = object.open_to_read()?;
        let is_of_tree = policy.writable(&path);
        Ok(HeldFile { path, object, file, argv: argv.to_vec(), role, is_of_tree })
    };
    held().map_err(|error: Errno| OutsideProgramError::Unheld(error.into()))
}

/// The loader runs first. The tree must not be able to write it.
fn check_loader(policy: &Policy, loader: Option<&[u8]>) -> Result<(), OutsideProgramError> {
    let Some(loader) = loader else { return Ok(()) };
    let open = || real_path(rustix::fs::open(loader, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?.as_fd());
    let path = open().map_err(|error| cannot(loader, error))?;
    // The kernel looks up its name again: no part of it may be the tree's, or mean another file in another process. The tree
    // does not write a link such as /lib64 unasked, although no rule may name it.
    let parts = (1..=loader.len()).filter(|&end| end == loader.len() || loader[end] == b'/');
    let is_of_tree = parts.map(|end| &loader[..end]).any(|part| policy.writable_unasked(part));
    match !loader.starts_with(b"/") || loader.starts_with(b"/proc/") || is_of_tree || policy.writable(&path) {
        true => Err(OutsideProgramError::LoaderOfTree { loader: loader.to_vec() }),
        false => Ok(()),
    }
}

fn cannot(path: &[u8], error: Errno) -> OutsideProgramError {
    OutsideProgramError::Unusable { path: path.to_vec(), error: error.into() }
}
