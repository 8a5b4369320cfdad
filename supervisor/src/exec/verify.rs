//! The check at PTRACE_EVENT_EXEC: whether the kernel put in place what was judged.

use std::os::fd::AsFd;

use guard_approvals::Digest;
use guard_openclaw::peer::proc::{self, Tid};
use guard_shim::failpoints::{Fallible, fail_point};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::content_match::ExpectedMatch;
use super::mapped_files::{self, EntryPoint, JudgedFile, runs};
use crate::kernel::Kernel;
use crate::kernel::trace::{self, Registers};
use crate::outside::Pass;
use crate::resolve::{Identity, Object};

/// The loader that was judged.
#[derive(Debug)]
pub struct Loader {
    /// The identity of the file.
    pub identity: Identity,
    /// The file, open.
    pub object: Object,
    /// Its real path.
    pub path: Vec<u8>,
    /// Its content, if a human approved it.
    pub content: Option<Digest>,
    /// The programs that it was a copy of, if any are compared.
    pub copy: Option<ExpectedMatch>,
}

/// The judged start, in the form in which the new program must show it.
#[derive(Debug)]
pub struct Expected {
    /// /proc/PID/exe: the program, or a script's last interpreter.
    pub program: Identity,
    /// Its content, if a human approved it.
    pub content: Option<Digest>,
    /// The programs that it was a copy of, if any are compared.
    pub copy: Option<ExpectedMatch>,
    /// The file that AT_BASE points into; `None` for a program without a loader.
    pub loader: Option<Loader>,
    /// Arguments and environment, as laid out on the new stack.
    pub strings: Vec<u8>,
    /// The number of arguments and of variables.
    pub counts: (usize, usize),
    /// The current directory.
    pub cwd: Identity,
    /// The program's real path, for the log.
    pub path: Vec<u8>,
    /// The pass that the process gets, if it asks for a command outside the guard.
    pub pass: Option<Pass>,
}

/// Names the first thing that differs from what was judged. What cannot be read counts as different.
pub fn differs(kernel: &dyn Kernel, pid: Tid, expected: &Expected) -> Option<&'static str> {
    fail_point(Fallible::Verify, || &expected.path);
    let link =
        |name: &str| rustix::fs::stat(format!("/proc/{pid}/{name}")).map(|stat| Identity::from_stat(&stat));
    if link("exe") != Ok(expected.program) {
        return Some("the program");
    }
    if let Some(content) = expected.content
        && content_of(pid) != Ok(content)
    {
        return Some("the program's content");
    }
    if expected.copy.as_ref().is_some_and(|copy| !runs(pid).is_ok_and(|program| copy.holds(program.as_fd())))
    {
        return Some("the program's content");
    }
    if link("cwd") != Ok(expected.cwd) {
        return Some("the current directory");
    }
    let Some(stack) = Stack::read(kernel, pid, expected.counts) else {
        return Some("the number of arguments or variables");
    };
    let start = EntryPoint { base: stack.base, entry: stack.entry, instruction: stack.registers.instruction };
    let loader = expected.loader.as_ref();
    let loader =
        loader.map(|loader| JudgedFile { identity: loader.identity, file: loader.object.fd.as_fd() });
    if !mapped_files::are_judged(pid, &start, expected.program, loader).unwrap_or(false) {
        return Some("the loader");
    }
    if expected.loader.as_ref().is_some_and(|loader| !loader.has_judged_content()) {
        return Some("the loader's content");
    }
    if !stack.holds(kernel, pid, &expected.strings) {
        return Some("an argument or a variable");
    }
    None
}

impl Loader {
    /// Whether the file, which the process has mapped, still is a copy of the same programs, and has the content that a human
    /// approved, if one did. The file may be written while the program runs, as a library may.
    fn has_judged_content(&self) -> bool {
        let digest = || Digest::of_file(&self.object.open_to_read()?, || Ok(()));
        self.copy.as_ref().is_none_or(|copy| copy.holds(self.object.fd.as_fd()))
            && self.content.is_none_or(|content| digest() == Ok(content))
    }
}

/// The stack of a program that has not run yet (fs/binfmt_elf.c, create_elf_tables): the number of arguments, a pointer
/// to each, 0, a pointer to each variable, 0, the auxiliary vector. The strings lie further up, in the same order and
/// without a gap.
struct Stack {
    registers: Registers,
    bytes: Vec<u8>,
    /// The address of the first string.
    strings: u64,
    /// AT_BASE of the auxiliary vector (getauxval(3)): the address of the loader, 0 without one.
    base: u64,
    /// AT_ENTRY: where the program itself begins.
    entry: u64,
}

impl Stack {
    /// The least number of bytes that are read. Most stacks are shorter.
    const READ: usize = 8192;

    /// Returns `None` if the counts differ, or the stack cannot be read.
    fn read(kernel: &dyn Kernel, pid: Tid, (arguments, variables): (usize, usize)) -> Option<Stack> {
        const AT_NULL: u64 = 0;
        const AT_BASE: u64 = 7;
        const AT_ENTRY: u64 = 9;
        /// More entries than any vector has (AT_VECTOR_SIZE of the kernel).
        const MAX_ENTRIES: usize = 64;
        let registers = trace::registers(pid).ok()?;
        let auxiliary = 8 * (3 + arguments + variables);
        let mut bytes = vec![0; Stack::READ.max(auxiliary + 16 * MAX_ENTRIES)];
        // A short read means that the stack ends there.
        let length = kernel.read(pid, registers.stack, &mut bytes).ok()?;
        bytes.truncate(length);
        let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let ends = (word(8 * (1 + arguments))?, word(8 * (2 + arguments + variables))?);
        if word(0)? != arguments as u64 || arguments == 0 || ends != (0, 0) {
            return None;
        }
        let pair = |number: usize| word(auxiliary + 16 * number).zip(word(auxiliary + 16 * number + 8));
        let pairs = || (0..MAX_ENTRIES).map_while(pair).take_while(|(kind, _)| *kind != AT_NULL);
        let value = |wanted| pairs().find_map(|(kind, value)| (kind == wanted).then_some(value));
        let (base, entry) = (value(AT_BASE)?, value(AT_ENTRY)?);
        Some(Stack { registers, strings: word(8)?, bytes, base, entry })
    }

    /// Whether exactly these strings are on the stack.
    fn holds(&self, kernel: &dyn Kernel, pid: Tid, expected: &[u8]) -> bool {
        let at = self.strings.checked_sub(self.registers.stack).and_then(|at| usize::try_from(at).ok());
        let read = at.and_then(|at| self.bytes.get(at..)).unwrap_or_default();
        let known = read.len().min(expected.len());
        read[..known] == expected[..known]
            && holds(kernel, pid, self.strings + known as u64, &expected[known..])
    }
}

/// The digest of the program. While it runs nobody can open it for writing (ETXTBSY).
fn content_of(pid: Tid) -> Result<Digest, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(format!("/proc/{pid}/exe"), flags, Mode::empty())?;
    Digest::of_file(&file.into(), || Ok(()))
}

/// Whether the process, which this thread has stopped, was killed: then it is no longer stopped, or has no memory. A
/// living process has a stack, even without arguments.
pub fn is_dead(pid: Tid) -> bool {
    if trace::registers(pid) == Err(Errno::SRCH) {
        return true;
    }
    proc::stat(pid).map_or_else(|error| error == Errno::SRCH, |stat| stat.arguments.0 == 0)
}

/// Whether exactly these bytes are at `start`.
fn holds(kernel: &dyn Kernel, pid: Tid, start: u64, expected: &[u8]) -> bool {
    let mut buffer = [0; 8192];
    let mut at = 0;
    while at < expected.len() {
        let length = buffer.len().min(expected.len() - at);
        match kernel.read(pid, start + at as u64, &mut buffer[..length]) {
            Ok(count) if buffer[..count] == expected[at..at + count] => at += count,
            _ => return false,
        }
    }
    true
}
