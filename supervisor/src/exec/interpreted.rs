//! The files that a program may run, by its arguments: an approval is bound to them, too.

use std::fs::File;
use std::io::Read;

use guard_approvals::{CodeInput, InputSource};
use guard_policy::analysis::{CodeOnInput, InputKind, Operands, script_operands};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::approval_subject::{input, opened, standard_input};
use super::find;
use super::script_paths::{as_text, script_paths, spelled};
use super::scripts::Named;
use super::sealed_script::MAX_BYTES;
use crate::audit::Operation;
use crate::resolve::Target;
use crate::syscall::Request;

/// How many files and inputs among the arguments are shown, beside the script.
const MAX_FILES: usize = 16;
/// How much of a file is read that names another one.
const MAX_TEXT: u64 = 256 << 10;

/// What an interpreter may run, by its arguments.
#[derive(Debug, Default)]
pub struct Interpreted {
    /// The script, where it is certain and a regular file.
    pub script: Option<Named>,
    /// The other files that it may run, where the tree may write them.
    pub others: Vec<Named>,
    /// What it runs code from and what cannot be held.
    pub inputs: Vec<CodeInput>,
}

/// The file that an argument names, which the program may run.
enum RunnableArgument {
    File(Named),
    Input(CodeInput),
    /// A directory, by its real path.
    Directory(Vec<u8>),
    /// A device.
    Nothing,
}

/// Returns the files that the program may run code from, besides the scripts of `#!` lines, which the kernel names.
/// `script_at` is the argument by which it names the last of them.
/// Other files that cannot be read, or are too long to be held, are left out: the script itself never is.
///
/// # Errors
/// EACCES if the script cannot be read now: nobody can approve what it will contain later; ESRCH if the caller is gone.
pub fn interpreted(
    request: &Request<'_, '_>,
    path: &[u8],
    argv: &[Vec<u8>],
    cwd: &[u8],
    script_at: Option<usize>,
) -> Result<Interpreted, Errno> {
    let mut operands = script_operands(path, argv);
    let policy = request.guard.policy();
    let is_of_tree = |input: &CodeInput| input.kind == InputKind::File && policy.writable(&input.path);
    let mut found = Interpreted::default();
    match operands.input {
        CodeOnInput::Runs => found.inputs.extend(standard_input(request)?),
        CodeOnInput::Unknown => found.inputs.extend(standard_input(request)?.filter(is_of_tree)),
        CodeOnInput::No => {}
    }
    if script_at.is_some() && operands.script.is_some() && operands.script != script_at {
        let text = "the options in its first line make another file the script";
        request.guard.refuse(request.caller, Operation::Exec, path, text)?;
    }
    if let Some(script) = operands.script_path(argv).filter(|_| script_at.is_none()) {
        match operand(request, &script, cwd) {
            Ok(RunnableArgument::File(named)) => {
                // Another descriptor may be there when the program follows it.
                if operands.resolves_names && script_paths(&named.name).is_none() {
                    let text =
                        "its script is named by a descriptor, which may lead elsewhere when it is read";
                    request.guard.refuse(request.caller, Operation::Exec, &named.name, text)?;
                }
                refuse_ambiguous(request, &named)?;
                found.script = Some(named);
            }
            Ok(RunnableArgument::Input(input)) => found.inputs.push(input),
            Ok(RunnableArgument::Directory(_)) if !operands.entries.is_empty() => {
                operands.others.insert(0, script);
            }
            Ok(RunnableArgument::Nothing) => {}
            Ok(RunnableArgument::Directory(_)) | Err(_) => {
                let text = "its script cannot be read, so an approval could not be bound to it";
                request.guard.refuse(request.caller, Operation::Exec, &spelled(cwd, &script), text)?;
            }
        }
    }
    for written in
        operands.argument_files.iter().flat_map(|file| words_of(request, file, cwd)).collect::<Vec<_>>()
    {
        operands.others.push(written);
    }
    for written in std::mem::take(&mut operands.others) {
        match operand(request, &written, cwd) {
            Ok(RunnableArgument::File(named)) => {
                // A program that goes up from what is written opens another file: both are bound.
                let other = as_text(&named.name).filter(|other| *other != named.path);
                found.add(request, Named { is_until_changed: true, ..named })?;
                if let Some(Ok(RunnableArgument::File(named))) =
                    other.map(|name| operand(request, &name, cwd))
                {
                    found.add(request, Named { is_until_changed: true, ..named })?;
                }
            }
            Ok(RunnableArgument::Input(input)) => found.inputs.push(input),
            Ok(RunnableArgument::Directory(path)) => {
                found.add_entries(request, &operands, (&written, path), cwd)?
            }
            Ok(RunnableArgument::Nothing) | Err(_) => {}
        }
    }
    found.inputs.truncate(MAX_FILES);
    request.caller.check()?;
    Ok(found)
}

/// Refuses a script whose name means one file to the kernel and another to a program that takes `..` as text.
///
/// # Errors
/// EACCES; ESRCH if the caller is gone.
pub fn refuse_ambiguous(request: &Request<'_, '_>, named: &Named) -> Result<(), Errno> {
    match as_text(&named.name) {
        Some(other) if other != named.path => {
            let text = "its name goes up from a link, so it is not certain which file runs";
            request.guard.refuse(request.caller, Operation::Exec, &named.name, text)
        }
        _ => Ok(()),
    }
}

impl Interpreted {
    fn add(&mut self, request: &Request<'_, '_>, named: Named) -> Result<(), Errno> {
        let is_short = rustix::fs::fstat(&named.file)?.st_size as u64 <= MAX_BYTES;
        let is_new = self.others.iter().all(|other| other.path != named.path)
            && self.script.as_ref().is_none_or(|script| script.path != named.path);
        if is_short && is_new && self.others.len() < MAX_FILES && request.guard.policy().writable(&named.path)
        {
            self.others.push(named);
        }
        Ok(())
    }

    /// Adds what runs if a directory does. Python may also run a compiled copy of it, and more files may appear, so the
    /// directory is shown as something that is not held.
    fn add_entries(
        &mut self,
        request: &Request<'_, '_>,
        operands: &Operands,
        (written, path): (&[u8], Vec<u8>),
        cwd: &[u8],
    ) -> Result<(), Errno> {
        let inside = |name: &[u8]| [written, b"/", name].concat();
        let mut names: Vec<Vec<u8>> = operands.entries.iter().map(|name| inside(name.as_bytes())).collect();
        names.extend(main_of(request, &inside(b"package.json"), cwd).iter().flat_map(|main| {
            ["", ".js", ".json", "/index.js"].map(|ending| inside(&[main, ending.as_bytes()].concat()))
        }));
        let mut is_program = false;
        for name in names {
            if let Ok(RunnableArgument::File(named)) = operand(request, &name, cwd) {
                is_program = true;
                self.add(request, named)?;
            }
        }
        if is_program && request.guard.policy().writable(&path) {
            let source = InputSource::Argument(spelled(cwd, written));
            self.inputs.push(CodeInput { source, kind: InputKind::Directory, path, sha256: None });
        }
        Ok(())
    }
}

/// The words of a file of arguments, without quotes.
fn words_of(request: &Request<'_, '_>, written: &[u8], cwd: &[u8]) -> Vec<Vec<u8>> {
    let Some(text) = text_of(request, written, cwd) else { return Vec::new() };
    let words = text.split(u8::is_ascii_whitespace).map(|word| word.trim_ascii());
    let plain = words.map(|word| word.iter().copied().filter(|byte| !matches!(byte, b'"' | b'\'')).collect());
    plain.filter(|word: &Vec<u8>| !word.is_empty()).take(MAX_FILES).collect()
}

/// The main file that a package names, relative to its directory.
fn main_of(request: &Request<'_, '_>, written: &[u8], cwd: &[u8]) -> Option<Vec<u8>> {
    let value: serde_json::Value = serde_json::from_slice(&text_of(request, written, cwd)?).ok()?;
    Some(value.get("main")?.as_str()?.as_bytes().to_vec())
}

fn text_of(request: &Request<'_, '_>, written: &[u8], cwd: &[u8]) -> Option<Vec<u8>> {
    let Ok(RunnableArgument::File(Named { file, .. })) = operand(request, written, cwd) else { return None };
    let mut text = Vec::new();
    File::take(file, MAX_TEXT).read_to_end(&mut text).ok()?;
    Some(text)
}

/// What an argument names: a regular file is opened to read.
fn operand(request: &Request<'_, '_>, written: &[u8], cwd: &[u8]) -> Result<RunnableArgument, Errno> {
    let (object, path) = find(request, libc::AT_FDCWD, written, 0).and_then(Target::into_object)?;
    let name = spelled(cwd, written);
    Ok(match object.kind() {
        FileType::RegularFile => {
            RunnableArgument::File(Named { path, name, file: opened(&object)?, is_until_changed: false })
        }
        FileType::Fifo | FileType::Socket => RunnableArgument::Input(CodeInput {
            source: InputSource::Argument(name),
            ..input(request, &object, path)?
        }),
        FileType::Directory => RunnableArgument::Directory(path),
        _ => RunnableArgument::Nothing,
    })
}
