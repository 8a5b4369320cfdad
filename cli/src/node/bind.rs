//! Finds the files that a command runs first, and hashes them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_approvals::Digest;
use guard_openclaw::node::{Denied, FileOperand};
use guard_policy::analysis::script_operands;
use guard_policy::environment::Variable;
use guard_supervisor::config::node_run::ApprovedFile;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::judge::CallPolicy;
use crate::check::lookup;

/// How much the kernel reads of a `#!` line, in bytes (include/uapi/linux/binfmts.h).
const LINE: usize = 256;

/// The largest file that is hashed, in bytes: a call must not keep the node busy.
const MAX_HASHED: u64 = 1 << 30;

/// What runs first.
#[derive(Clone, Debug)]
pub struct BoundFiles {
    /// The program, its script, and what interprets a script.
    pub files: Vec<ApprovedFile>,
    /// The file that is reported to the gateway: the script, or else the program.
    pub operand: FileOperand,
}

/// Finds what a command runs first, and hashes it.
///
/// # Errors
/// If the guard cannot tell for certain which files those are.
pub fn bind(argv: &[String], rules: &CallPolicy, cwd: &Path, env: &[Variable]) -> Result<BoundFiles, Denied> {
    let program = program(argv, cwd, env)?;
    // The digest of a file reveals its content, so the gateway gets no digest of a file that the run could not
    // read.
    let hashed = |path: &Path| if rules.hides(path) { Err(Denied::Unbindable) } else { hashed(path) };
    let mut files = vec![hashed(&program)?];
    let interpreter = interpreter(&program)?;
    if let Some(interpreter) = &interpreter {
        // An interpreter that is itself a script is rare. The guard asks about it when it starts.
        if !interpreter.is_absolute() || self::interpreter(&real(interpreter)?)?.is_some() {
            return Err(Denied::Unbindable);
        }
        files.push(hashed(&real(interpreter)?)?);
    }
    let words: Vec<Vec<u8>> = argv.iter().map(|word| word.clone().into_bytes()).collect();
    let operands = script_operands(program.as_os_str().as_bytes(), &words);
    let mut operand = at(0, &files[0]);
    if let Some(index) = operands.script.filter(|_| interpreter.is_none()) {
        let script = hashed(&real(&cwd.join(OsStr::from_bytes(&words[index])))?)?;
        operand = at(index, &script);
        files.push(script);
    }
    Ok(BoundFiles { files, operand })
}

/// The real path of the program that a command starts.
///
/// # Errors
/// If it is not found.
pub fn program(argv: &[String], cwd: &Path, env: &[Variable]) -> Result<PathBuf, Denied> {
    let found = argv.first().and_then(|name| lookup::program(OsStr::new(name), env, cwd));
    real(&found.ok_or(Denied::Unbindable)?)
}

fn at(argv_index: usize, file: &ApprovedFile) -> FileOperand {
    FileOperand { argv_index, path: file.path.clone(), sha256: file.sha256.clone() }
}

fn real(path: &Path) -> Result<PathBuf, Denied> {
    path.canonicalize().map_err(|_| Denied::Unbindable)
}

/// Opens a regular file by its real path, without waiting for any other kind of file. It is an error if a link has
/// come into the path since it was resolved.
fn open(path: &Path) -> Result<File, Denied> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let file = File::from(file.map_err(|_| Denied::Unbindable)?);
    let stat = file.metadata().map_err(|_| Denied::Unbindable)?;
    if stat.is_file() && stat.len() <= MAX_HASHED { Ok(file) } else { Err(Denied::Unbindable) }
}

fn hashed(path: &Path) -> Result<ApprovedFile, Denied> {
    let file = open(path)?;
    let digest = Digest::of_file(&file, || Ok(())).map_err(|_| Denied::Unbindable)?;
    let path = path.to_str().ok_or(Denied::Unbindable)?.to_owned();
    Ok(ApprovedFile { path, sha256: digest.to_string() })
}

/// The interpreter in a script's first line, as written.
fn interpreter(program: &Path) -> Result<Option<PathBuf>, Denied> {
    let mut line = Vec::new();
    let file = open(program)?;
    file.take(LINE as u64).read_to_end(&mut line).map_err(|_| Denied::Unbindable)?;
    let Some(rest) = line.strip_prefix(b"#!") else { return Ok(None) };
    let rest = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let name = rest.trim_ascii().split(|byte| b" \t".contains(byte)).next().unwrap_or_default();
    Ok(Some(PathBuf::from(OsStr::from_bytes(name))))
}
