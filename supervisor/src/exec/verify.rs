//! The check at PTRACE_EVENT_EXEC: is what the kernel put in place what was judged?

use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::approval::Digest;
use crate::kernel::{Kernel, Tid, proc, requests};
use crate::resolve::Object;

/// A file, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Of a stat.
    pub fn of(stat: &Stat) -> Identity {
        Identity { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// The loader that was judged.
#[derive(Debug)]
pub struct Loader {
    /// Which file.
    pub identity: Identity,
    /// The same, open.
    pub object: Object,
}

/// What was judged, as the new program must show it.
#[derive(Debug)]
pub struct Expected {
    /// /proc/PID/exe: the program, or a script's last interpreter.
    pub program: Identity,
    /// What it holds, where a human has approved that.
    pub content: Option<Digest>,
    /// What AT_BASE points into; None for a program without a loader.
    pub loader: Option<Loader>,
    /// The arguments on the new stack.
    pub arguments: Vec<u8>,
    /// The environment on the new stack.
    pub environment: Vec<u8>,
    /// The current directory.
    pub cwd: Identity,
    /// The program's real path, for the log.
    pub path: Vec<u8>,
}

/// Says what is not as judged. What cannot be read is not as judged.
pub fn differs(kernel: &dyn Kernel, pid: Tid, expected: &Expected) -> Option<&'static str> {
    let link = |name: &str| rustix::fs::stat(format!("/proc/{pid}/{name}")).map(|stat| Identity::of(&stat));
    if link("exe") != Ok(expected.program) {
        return Some("the program");
    }
    if let Some(content) = expected.content
        && content_of(pid) != Ok(content)
    {
        return Some("the program's content");
    }
    if link("cwd") != Ok(expected.cwd) {
        return Some("the current directory");
    }
    if !loader_is(pid, expected.loader.as_ref()).unwrap_or(false) {
        return Some("the loader");
    }
    let Ok(stat) = proc::stat(pid) else { return Some("the process") };
    if !holds(kernel, pid, stat.arguments, &expected.arguments) {
        return Some("an argument");
    }
    if !holds(kernel, pid, stat.environment, &expected.environment) {
        return Some("the environment");
    }
    None
}

/// What the program holds. While it runs nobody can open it to write (ETXTBSY).
fn content_of(pid: Tid) -> Result<Digest, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(format!("/proc/{pid}/exe"), flags, Mode::empty())?;
    Digest::of_file(&file.into(), || Ok(()))
}

/// Whether the process has no memory any more. A living one has a stack, even without arguments.
pub fn is_dead(pid: Tid) -> bool {
    proc::stat(pid).map_or_else(|error| error == Errno::SRCH, |stat| stat.arguments.0 == 0)
}

/// Whether exactly these bytes lie there.
fn holds(kernel: &dyn Kernel, pid: Tid, (start, end): (u64, u64), expected: &[u8]) -> bool {
    if end.checked_sub(start) != Some(expected.len() as u64) {
        return false;
    }
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

fn loader_is(pid: Tid, expected: Option<&Loader>) -> Result<bool, Errno> {
    let base = base(pid)?;
    let Some(expected) = expected else { return Ok(base == 0) };
    if base == 0 {
        return Ok(false);
    }
    let maps =
        rustix::fs::open(format!("/proc/{pid}/maps"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let found = match requests::mapping(maps.as_fd(), base) {
        Ok(mapping) => (mapping.device, mapping.inode),
        // Before Linux 6.11.
        Err(Errno::NOTTY) => by_text(pid, base)?,
        Err(error) => return Err(error),
    };
    let device = expected.identity.device;
    let same = ((rustix::fs::major(device), rustix::fs::minor(device)), expected.identity.inode);
    if found == same {
        return Ok(true);
    }
    // On overlayfs, btrfs and the like a mapping shows another device than stat does: so is asked what a mapping of
    // the judged file shows.
    let own = requests::mapping_of(expected.object.fd.as_fd())?;
    Ok(found == (own.device, own.inode))
}

/// AT_BASE of the auxiliary vector (getauxval(3)): where the loader lies, 0 without one.
fn base(pid: Tid) -> Result<u64, Errno> {
    const AT_BASE: u64 = 7;
    let mut buffer = [0; 4096];
    let vector = proc::read_into(pid, "auxv", &mut buffer)?;
    let (words, _) = vector.as_chunks::<8>();
    let word = |at: usize| u64::from_ne_bytes(words[at]);
    (0..words.len() / 2)
        .find(|&pair| word(2 * pair) == AT_BASE)
        .map(|pair| word(2 * pair + 1))
        .ok_or(Errno::IO)
}

fn by_text(pid: Tid, address: u64) -> Result<((u32, u32), u64), Errno> {
    let maps =
        procfs::process::Process::new(pid).and_then(|process| process.maps()).map_err(|_| Errno::SRCH)?;
    maps.into_iter()
        .find(|map| (map.address.0..map.address.1).contains(&address))
        .map(|map| ((map.dev.0 as u32, map.dev.1 as u32), map.inode))
        .ok_or(Errno::NOENT)
}
