//! The files that a program may run according to its arguments. An approval is bound to them, too.
//!
//! The guard holds files up to a limit of number and size, so that the program reads what was approved. The other files
//! are compared when the program starts, and the question says that they are not held. A name without a file stays
//! without one.

use std::collections::HashSet;
use std::io::Read;
use std::sync::atomic::AtomicUsize;

use guard_approvals::{CodeInput, Digest, InputSource};
use guard_policy::analysis::{
    CodeOnInput, InputKind, MentionedFiles, Operands, mentioned_files, script_operands,
};
use rustix::io::Errno;

use super::approval_subject::standard_input;
use super::home_names::{HomeNames, is_others};
use super::naming_texts::{NamingTexts, behind_equals, main_of, parts_of, words_of};
use super::python_module::PythonStart;
use super::runnable_argument::{RunnableArgument, operand};
use super::script_paths::{as_text, script_paths, spelled};
use super::scripts::{BareName, Named};
use super::sealed_script::MAX_BYTES;
use crate::audit::Operation;
use crate::kernel::errno;
use crate::syscall::Request;
use crate::worker::share::{Share, max_descriptors};

/// How many files among the arguments are held, beside the script, while a start is judged and after a yes. Each is two
/// descriptors then. Where the supervisor may have few descriptors, fewer files are held.
const MAX_FILES: usize = 256;
/// How many bytes of one program's files are held. All programs together have a bound, too.
const MAX_HELD_BYTES: u64 = 256 << 20;
/// How many bytes of one program's files are compared. They are read at least twice.
const MAX_READ_BYTES: u64 = 4 << 30;
/// How many inputs are shown.
const MAX_INPUTS: usize = 256;
/// How many names without a file are kept. Each open of a process of the tree is compared with them.
const MAX_NAMES: usize = 1024;
/// A longer name leads to no file.
const MAX_NAME: usize = libc::PATH_MAX as usize;
/// How long a file may be that names other files.
const MAX_TEXT: u64 = 16 << 20;

/// Why a script is not asked about if its interpreter itself finds out where a name leads.
const BY_DESCRIPTOR: &str = "its script is named by a descriptor, which may lead elsewhere when it is read";

/// Why a file of names is not asked about.
const TOO_LONG: &str =
    "it names files that may run, and is too long to be approved; an allowlist entry allows it";

/// The files that starts hold while they are judged, beside their scripts.
static HELD_FILES: AtomicUsize = AtomicUsize::new(0);

/// What an interpreter may run, by its arguments.
#[derive(Debug, Default)]
pub struct Interpreted {
    /// The script, if it is certain which file it is, and that file is regular.
    pub script: Option<Named>,
    /// The other files that the interpreter may run and the tree may write.
    pub others: Vec<Named>,
    /// The part of `HELD_FILES` that `others` are.
    pub shares: Vec<Share>,
    /// Names that the interpreter may open, without a file that could be held.
    pub names: Vec<BareName>,
    /// The sources of code that the guard cannot hold.
    pub inputs: Vec<CodeInput>,
    rest: Rest,
    /// The files in which names were looked for.
    texts: NamingTexts,
    /// The names that were looked at.
    seen: HashSet<Vec<u8>>,
    held_bytes: u64,
    read_bytes: u64,
}

/// What is too much to be held one by one.
#[derive(Debug, Default)]
struct Rest {
    count: usize,
    /// Names and digests, to notice a change.
    parts: Vec<Vec<u8>>,
}

/// Returns the files that the program may run code from, besides the scripts of `#!` lines, which the kernel names.
/// `script_at` is the argument by which the kernel names the last of these scripts.
///
/// # Errors
/// EACCES if the script cannot be read now: nobody can approve what it will contain later; or if there is too much to
/// compare; ESRCH if the caller is gone.
pub fn interpreted(
    request: &Request<'_, '_>,
    path: &[u8],
    argv: &[Vec<u8>],
    cwd: &[u8],
    script_at: Option<usize>,
    environment: &[Vec<u8>],
) -> Result<Interpreted, Errno> {
    let mut operands = script_operands(path, argv);
    let mut mentioned = mentioned_files(path, argv, &operands);
    let policy = request.guard.policy();
    let is_of_tree = |input: &CodeInput| input.kind == InputKind::File && policy.writable(&input.path);
    let mut found = Interpreted::default();
    match operands.input {
        CodeOnInput::Runs => found.inputs.extend(standard_input(request)?),
        CodeOnInput::Unknown => found.inputs.extend(standard_input(request)?.filter(is_of_tree)),
        CodeOnInput::No => {}
    }
    if script_at.is_some() && operands.script.is_some() && operands.script != script_at {
        let text =
            "an option of its #! line takes the script's name, so another file would run as the script";
        request.guard.refuse(request.caller, Operation::Exec, path, text)?;
    }
    // The kernel names a script by a descriptor if it was started by one.
    let by_kernel = script_at.and_then(|at| argv.get(at));
    if let Some(name) = by_kernel.filter(|name| operands.follows_descriptors && script_paths(name).is_none())
    {
        request.guard.refuse(request.caller, Operation::Exec, name, BY_DESCRIPTOR)?;
    }
    if let Some(script) = operands.script_path(argv).filter(|_| script_at.is_none()) {
        match operand(request, &script, cwd) {
            Ok(RunnableArgument::File(named)) => {
                // The name may mean another descriptor when the program opens it.
                if operands.follows_descriptors && script_paths(&named.name).is_none() {
                    request.guard.refuse(request.caller, Operation::Exec, &named.name, BY_DESCRIPTOR)?;
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
    for file in std::mem::take(&mut operands.argument_files) {
        let words = words_of(&found.text_of(request, &file, cwd)?);
        if words.len() > MAX_NAMES {
            request.guard.refuse(request.caller, Operation::Exec, &spelled(cwd, &file), TOO_LONG)?;
        }
        operands.others.extend(words.iter().flat_map(|word| [word.clone(), behind_equals(word)]));
        mentioned.words.extend(words.iter().flat_map(|word| parts_of(word)));
    }
    operands.others.retain(|word| !word.is_empty());
    let home = HomeNames { environment, home: policy.home() };
    mentioned.words.extend(home.own(&mentioned.words));
    operands.others.extend(home.own(&operands.others));
    for name in operands.others.iter().filter(|name| is_others(name)) {
        found.add_unheld(name, InputKind::Other, name);
    }
    for written in std::mem::take(&mut operands.others) {
        found.add_operand(request, &operands, &written, cwd)?;
        found.add_listed(request, &written, cwd)?;
    }
    found.add_mentioned(request, &mentioned, cwd)?;
    let python = PythonStart { program: path, argv, cwd, environment };
    if let Some(module) = operands.module.filter(|module| !python.is_certain(policy, module)) {
        let source = InputSource::Argument(format!("-m {module}").into_bytes());
        let (kind, path) = (InputKind::Module, module.into_bytes());
        found.inputs.push(CodeInput { source, kind, path, sha256: None });
    }
    found.end(request)?;
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
            let text =
                "the script's name has .. after a link, so it is unclear which file runs: name it without ..";
            request.guard.refuse(request.caller, Operation::Exec, &named.name, text)
        }
        _ => Ok(()),
    }
}

impl Interpreted {
    fn add_operand(
        &mut self,
        request: &Request<'_, '_>,
        operands: &Operands,
        written: &[u8],
        cwd: &[u8],
    ) -> Result<(), Errno> {
        let name = spelled(cwd, written);
        let other = as_text(&name);
        match operand(request, written, cwd) {
            Ok(RunnableArgument::File(named)) => {
                // Some programs look themselves where such a name leads by then.
                if script_paths(&named.name).is_none() {
                    self.add_unheld(&named.name, InputKind::File, &named.path);
                }
                self.add_file(request, named, cwd)?;
            }
            Ok(RunnableArgument::Input(input)) => self.inputs.push(input),
            Ok(RunnableArgument::Directory(path)) => {
                self.add_entries(request, operands, (written, path), cwd)?;
                self.add_name(request, name, true);
            }
            Ok(RunnableArgument::Nothing) => self.add_name(request, name, true),
            // The guard opens no files of other processes, but the program may.
            Err(_) if script_paths(&name).is_none() => self.add_unheld(&name, InputKind::Other, &name),
            Err(_) => {
                self.add_name(request, name, false);
                other.into_iter().for_each(|name| self.add_name(request, name, false));
            }
        }
        Ok(())
    }

    /// Adds the files of a list, such as java's class path.
    fn add_listed(&mut self, request: &Request<'_, '_>, written: &[u8], cwd: &[u8]) -> Result<(), Errno> {
        for part in written.split(|byte| *byte == b':').filter(|part| !part.is_empty()).take(MAX_NAMES) {
            // Each archive in a directory (the java command, "Class Path"), except where `*` is a file's name.
            if part == b"*" || part.ends_with(b"/*") {
                self.add_archives(request, part, cwd);
            }
            if part.len() == written.len() {
                return Ok(());
            }
            if let Ok(RunnableArgument::File(named)) = operand(request, part, cwd) {
                self.add_file(request, named, cwd)?;
            }
        }
        Ok(())
    }

    /// Adds the directory of a pattern such as `DIR/*`, as something that is not held.
    fn add_archives(&mut self, request: &Request<'_, '_>, pattern: &[u8], cwd: &[u8]) {
        let directory = match pattern.strip_suffix(b"*") {
            Some(directory) if !directory.is_empty() => directory,
            _ => b".",
        };
        if let Ok(RunnableArgument::Directory(path)) = operand(request, directory, cwd)
            && request.guard.policy().writable(&path)
        {
            self.add_unheld(&spelled(cwd, directory), InputKind::Directory, &path);
        }
    }

    /// Adds what is shown and not held.
    fn add_unheld(&mut self, name: &[u8], kind: InputKind, path: &[u8]) {
        let source = InputSource::Argument(name.to_vec());
        self.inputs.push(CodeInput { source, kind, path: path.to_vec(), sha256: None });
    }

    /// Adds a file by its name. A program that takes `..` as text opens another file by that name, so both files are
    /// bound.
    fn add_file(&mut self, request: &Request<'_, '_>, named: Named, cwd: &[u8]) -> Result<(), Errno> {
        let other = as_text(&named.name).filter(|other| *other != named.path);
        self.add(request, Named { is_until_changed: true, ..named })?;
        match other.map(|name| (operand(request, &name, cwd), name)) {
            Some((Ok(RunnableArgument::File(named)), _)) => {
                self.add(request, Named { is_until_changed: true, ..named })
            }
            Some((_, name)) => {
                self.add_name(request, name, false);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Adds each word of a command that is a file's name. Words beyond the limit are not looked up, but compared as a
    /// whole.
    fn add_mentioned(
        &mut self,
        request: &Request<'_, '_>,
        mentioned: &MentionedFiles,
        cwd: &[u8],
    ) -> Result<(), Errno> {
        for written in &mentioned.words {
            if let Ok(RunnableArgument::File(named)) = operand(request, written, cwd) {
                self.add_file(request, named, cwd)?;
            }
        }
        self.rest.count += mentioned.more.len();
        self.rest.parts.extend(mentioned.more.iter().cloned());
        Ok(())
    }

    /// Adds a file, if the tree may change what is found by its name: the file itself, or a link on the way.
    fn add(&mut self, request: &Request<'_, '_>, named: Named) -> Result<(), Errno> {
        let is_script =
            self.script.as_ref().is_some_and(|script| script.path == named.path && script.name == named.name);
        let policy = request.guard.policy();
        if is_script
            || !policy.writable(&named.path) && !is_led_by_the_tree(request, &named.name)
            || !self.seen.insert(named.name.clone())
        {
            return Ok(());
        }
        let length = rustix::fs::fstat(&named.file)?.st_size as u64;
        self.read_bytes = self.read_bytes.saturating_add(length);
        if self.read_bytes > MAX_READ_BYTES {
            let text = "its arguments name more than 4 GiB of files that may run, too much to be approved; an allowlist entry allows it";
            request.guard.refuse(request.caller, Operation::Exec, &named.path, text)?;
        }
        let is_short = length <= MAX_BYTES && self.held_bytes + length <= MAX_HELD_BYTES;
        if is_short && self.others.len() < MAX_FILES.min(max_descriptors() / 8) {
            // Without a bound for all starts together, the tree could leave the supervisor no descriptor to look with.
            match Share::acquire(&HELD_FILES, 1, max_descriptors() / 4) {
                Some(share) => self.shares.push(share),
                None => {
                    let text = "too many programs with files among their arguments start at once: try again";
                    request.guard.refuse(request.caller, Operation::Exec, &named.path, text)?;
                }
            }
            self.held_bytes += length;
            self.others.push(named);
            return Ok(());
        }
        let sha256 = Digest::of_file(&named.file, || request.caller.check())?;
        self.check_text(request, &named, sha256)?;
        if length > MAX_BYTES && self.inputs.len() < MAX_INPUTS {
            let (source, path) = (InputSource::Argument(named.name), named.path);
            self.inputs.push(CodeInput { source, kind: InputKind::File, path, sha256: Some(sha256) });
        } else {
            self.rest.count += 1;
            self.rest.parts.extend([named.name, named.path, sha256.0.to_vec()]);
        }
        Ok(())
    }

    /// The text of a file that names other files; empty if there is no such file.
    ///
    /// # Errors
    /// The kernel's; EACCES if the text is too long; ESRCH if the caller is gone.
    fn text_of(&mut self, request: &Request<'_, '_>, written: &[u8], cwd: &[u8]) -> Result<Vec<u8>, Errno> {
        let Ok(RunnableArgument::File(named)) = operand(request, written, cwd) else {
            self.texts.add_absent(spelled(cwd, written));
            return Ok(Vec::new());
        };
        let mut text = Vec::new();
        (&named.file).take(MAX_TEXT + 1).read_to_end(&mut text).map_err(errno::from_io)?;
        if text.len() as u64 > MAX_TEXT {
            request.guard.refuse(request.caller, Operation::Exec, &named.path, TOO_LONG)?;
        }
        let digest = Digest::of_bytes(&text);
        self.check_text(request, &named, digest)?;
        self.texts.add(named.name, named.path, digest);
        Ok(text)
    }

    /// Refuses the start if a file, of which a human sees this content, was another or had another content when names were
    /// looked for in it.
    ///
    /// # Errors
    /// EACCES; ESRCH if the caller is gone.
    pub fn check_text(&self, request: &Request<'_, '_>, named: &Named, content: Digest) -> Result<(), Errno> {
        if self.texts.agrees(&named.name, &named.path, content) {
            return Ok(());
        }
        let why = "it changed while the guard read it: start the program again";
        request.guard.refuse(request.caller, Operation::Exec, &named.path, why)
    }

    /// Adds a name without a file that could be bound, if the tree may put one there.
    fn add_name(&mut self, request: &Request<'_, '_>, name: Vec<u8>, is_there: bool) {
        let is_possible = name.len() < MAX_NAME && !name.contains(&0);
        if !is_possible || !is_led_by_the_tree(request, &name) || !self.seen.insert(name.clone()) {
            return;
        }
        if self.names.len() < MAX_NAMES {
            self.names.push(BareName { name, is_there });
        } else {
            self.rest.count += 1;
            self.rest.parts.extend([name, Vec::new(), vec![u8::from(is_there)]]);
        }
    }

    /// Counts what is neither shown nor held.
    fn end(&mut self, request: &Request<'_, '_>) -> Result<(), Errno> {
        for input in self.inputs.drain(self.inputs.len().min(MAX_INPUTS)..) {
            self.rest.count += 1;
            self.rest
                .parts
                .extend([input.path, input.sha256.map_or_else(Vec::new, |digest| digest.0.to_vec())]);
        }
        if self.rest.count > 0 {
            let sha256 = Some(Digest::of_parts(self.rest.parts.iter().map(Vec::as_slice)));
            let source = InputSource::Arguments(self.rest.count);
            let rest = CodeInput { source, kind: InputKind::MoreFiles, path: Vec::new(), sha256 };
            self.inputs.insert(0, rest);
        }
        request.caller.check()
    }

    /// Adds the files that run if a directory is run. Python may also run compiled copies, and more files may appear,
    /// so the directory is shown as something that is not held.
    fn add_entries(
        &mut self,
        request: &Request<'_, '_>,
        operands: &Operands,
        (written, path): (&[u8], Vec<u8>),
        cwd: &[u8],
    ) -> Result<(), Errno> {
        let inside = |name: &[u8]| [written, b"/", name].concat();
        let mut names: Vec<Vec<u8>> = operands.entries.iter().map(|name| inside(name.as_bytes())).collect();
        if operands.resolves_names {
            let package = inside(b"package.json");
            let Ok(main) = main_of(&self.text_of(request, &package, cwd)?) else {
                let why = "it cannot be read as JSON, so it is unclear which file runs: name the file itself";
                return request.guard.refuse(request.caller, Operation::Exec, &spelled(cwd, &package), why);
            };
            let endings = ["", ".js", ".json", ".node", "/index.js", "/index.json", "/index.node"];
            let with_ending = |main: &Vec<u8>, ending: &str| inside(&[main, ending.as_bytes()].concat());
            names.extend(main.iter().flat_map(|main| endings.map(|ending| with_ending(main, ending))));
            // node's modules API, "All together": a file beside the directory comes first.
            if !written.ends_with(b"/") {
                names.extend([".js", ".json", ".node"].map(|ending| [written, ending.as_bytes()].concat()));
            }
        }
        let mut is_program = false;
        for name in names {
            match operand(request, &name, cwd) {
                Ok(RunnableArgument::File(named)) => {
                    is_program = true;
                    self.add(request, named)?;
                }
                Ok(_) => {}
                Err(_) => self.add_name(request, spelled(cwd, &name), false),
            }
        }
        if is_program && request.guard.policy().writable(&path) {
            self.add_unheld(&spelled(cwd, written), InputKind::Directory, &path);
        }
        Ok(())
    }
}

/// Whether the tree may change where a name leads: a link on the way, or what stands there.
fn is_led_by_the_tree(request: &Request<'_, '_>, name: &[u8]) -> bool {
    script_paths(name).is_some_and(|ways| ways.iter().any(|way| request.guard.policy().writable(way)))
}
