//! Files whose meaning depends on the caller: /proc, terminals, and objects without a path.
//!
//! The supervisor opens on a caller's behalf, so `/proc/self` and `/dev/tty` would be its own, and the kernel would
//! check the supervisor instead of the caller. This module decides what a caller may reach there, before the policy is
//! asked. It only ever takes rights away.
//!
//! Why: docs/decisions.md, "Devices, procfs and devpts are recognised by device number and file system, not by path."

use std::borrow::Cow;

use guard_openclaw::peer::proc::{self, Tid};
use guard_openclaw::peer::process_tree::Tree;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::caller::Caller;
use crate::resolve::Object;

/// The kind of a symbolic link of /proc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcLink {
    /// It depends on the caller: this is its text for the caller.
    Text(Vec<u8>),
    /// An ordinary link.
    Plain,
    /// It leads directly to an object, not through a path.
    Magic,
}

/// Classifies the link `name` in the directory `directory` of a procfs, for this caller.
///
/// # Errors
/// EACCES for the links of another process.
pub fn proc_link(caller: &Caller<'_>, directory: &[u8], name: &[u8]) -> Result<ProcLink, Errno> {
    if directory == b"/proc" {
        let text = match name {
            b"self" => format!("{}", caller.process()?),
            b"thread-self" => format!("{}/task/{}", caller.process()?, caller.tid()),
            _ => return Ok(ProcLink::Plain),
        };
        return Ok(ProcLink::Text(text.into_bytes()));
    }
    let Some((pid, _)) = proc_pid(directory) else {
        // A procfs mounted elsewhere may belong to another pid namespace: its numbers mean nothing here.
        return if directory.starts_with(b"/proc/") { Ok(ProcLink::Plain) } else { Err(Errno::ACCESS) };
    };
    if is_own(caller, pid)? { Ok(ProcLink::Magic) } else { Err(Errno::ACCESS) }
}

/// Splits `/proc/N` from the rest of the path.
fn proc_pid(path: &[u8]) -> Option<(Tid, &[u8])> {
    let rest = path.strip_prefix(b"/proc/")?;
    let end = rest.iter().position(|&byte| byte == b'/').unwrap_or(rest.len());
    let number = std::str::from_utf8(&rest[..end]).ok()?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((number.parse().ok()?, &rest[end..]))
}

fn is_own(caller: &Caller<'_>, pid: Tid) -> Result<bool, Errno> {
    let own = caller.process()?;
    Ok(pid == own || caller.kernel().status(pid).is_ok_and(|status| status.tgid == own))
}

/// Whether the caller's process traces process `pid`. A tracer can already read everything in the memory file of its
/// tracee.
fn is_traced(caller: &Caller<'_>, pid: Tid) -> Result<bool, Errno> {
    match caller.kernel().status(pid)?.tracer {
        0 => Ok(false),
        tracer => is_own(caller, tracer),
    }
}

/// The meaning of a real path for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classification<'p> {
    /// The policy decides on this path.
    Policy(Cow<'p, [u8]>),
    /// An object without a path that the caller already holds: a pipe, a socket, its own memory file.
    Own,
    /// Out of reach whatever the policy allows; the text is the reason.
    Refused(&'static str),
    /// As `Refused`, for files that programs read in passing, as ps(1) does: not worth a line on a terminal.
    Hidden(&'static str),
}

/// Files of another process of the tree that no member may open: they would expose its memory.
const PRIVATE: [&[u8]; 2] = [b"mem", b"environ"];
/// Files of a process outside the tree, and of its threads, that ps(1), top(1) and pgrep(1) read. The kernel shows them
/// to every user (proc_pid_status(5) and its neighbours).
const PUBLIC: [&[u8]; 9] =
    [b"stat", b"status", b"cmdline", b"comm", b"statm", b"cgroup", b"oom_score", b"oom_score_adj", b"wchan"];

/// Whether a device acts on the machine or on the user at it, instead of on a file. Decided by its number, whatever
/// node leads to it (Documentation/admin-guide/devices.txt).
pub fn acts_on_machine(stat: &Stat) -> bool {
    let (major, minor) = (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    match FileType::from_raw_mode(stat.st_mode) {
        // A disk contains all its files.
        FileType::BlockDevice => true,
        FileType::CharacterDevice => match major {
            // mem, kmem, port
            1 => matches!(minor, 1 | 2 | 4),
            // Virtual consoles, serial lines, screens, keyboards and mice; kvm, fuse, tun, uinput and similar.
            4 | 7 | 10 | 13 => true,
            // console
            5 => minor == 1,
            _ => false,
        },
        _ => false,
    }
}

/// Whether this is a device that the whole machine uses, and that the supervisor could remove: a caller who may write
/// to `/dev/null` may not remove it, or change its permissions. Terminals of /dev/pts belong to their users.
pub fn is_the_machines(path: &[u8], object: &Object) -> bool {
    let is_device = matches!(object.kind(), FileType::CharacterDevice | FileType::BlockDevice);
    let is_there = path.starts_with(b"/dev/") && !path.starts_with(b"/dev/pts/");
    // For other owners the kernel refuses, with its own errnos.
    is_device && is_there && object.stat.st_uid == rustix::process::geteuid().as_raw()
}

/// Whether a path does not match its file system: a second /proc or /dev/pts. The rules for these file systems go by
/// path.
fn is_displaced(path: &[u8], object: &Object) -> Result<bool, Errno> {
    /// `DEVPTS_SUPER_MAGIC` (linux/magic.h).
    const DEVPTS: i64 = 0x1cd1;
    // A file system on a disk has the disk's device number.
    if rustix::fs::major(object.stat.st_dev) != 0 {
        return Ok(false);
    }
    let system = rustix::fs::fstatfs(&object.fd)?.f_type;
    Ok(match system {
        rustix::fs::PROC_SUPER_MAGIC => path != b"/proc" && !path.starts_with(b"/proc/"),
        DEVPTS => path != b"/dev/pts" && !path.starts_with(b"/dev/pts/") && path != b"/dev/ptmx",
        _ => false,
    })
}

/// Classifies `path` for the caller, with the object there, if any.
///
/// # Errors
/// ESRCH when the caller is gone.
pub fn classify<'p>(
    caller: &Caller<'_>,
    tree: &Tree,
    path: &'p [u8],
    object: Option<&Object>,
    writes: bool,
) -> Result<Classification<'p>, Errno> {
    let unlinked = object.is_some_and(|object| object.stat.st_nlink == 0);
    if !path.starts_with(b"/") || (path.starts_with(b"/memfd:") && unlinked) {
        return Ok(Classification::Own);
    }
    if let Some(object) = object {
        if acts_on_machine(&object.stat) {
            return Ok(Classification::Refused("a device that controls the machine"));
        }
        if is_displaced(path, object)? {
            return Ok(Classification::Refused("a second /proc or /dev/pts"));
        }
    }
    if let Some((pid, rest)) = proc_pid(path) {
        return proc_entry(caller, tree, path, pid, rest, writes);
    }
    if let Some(name) = path.strip_prefix(b"/dev/pts/")
        && name != b"ptmx"
        && object.is_some_and(|object| object.kind() == FileType::CharacterDevice)
        && !terminal_is_ours(caller, tree, name)
    {
        return Ok(Classification::Refused("a terminal that the guarded programs did not open"));
    }
    Ok(Classification::Policy(Cow::Borrowed(path)))
}

fn proc_entry<'p>(
    caller: &Caller<'_>,
    tree: &Tree,
    path: &'p [u8],
    pid: Tid,
    rest: &[u8],
    writes: bool,
) -> Result<Classification<'p>, Errno> {
    let as_self = || Classification::Policy(Cow::Owned([b"/proc/self", rest].concat()));
    if is_own(caller, pid)? {
        return Ok(as_self());
    }
    if tree.contains(pid) {
        let file = rest.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        return Ok(if PRIVATE.contains(&file) && !(file == b"mem" && is_traced(caller, pid)?) {
            Classification::Hidden("memory of another process")
        } else {
            as_self()
        });
    }
    Ok(if is_public(rest) && !writes {
        Classification::Policy(Cow::Borrowed(path))
    } else if tree.is_guard(pid) {
        Classification::Hidden("a process of the guard")
    } else {
        Classification::Hidden("a process that is not guarded")
    })
}

/// Whether `rest`, the path below `/proc/N`, is public: a directory that lists names, or a file of the process or of
/// one of its threads.
fn is_public(rest: &[u8]) -> bool {
    let of_task = rest.strip_prefix(b"/task").map(|task| match task {
        [b'/', id @ ..] => &id[id.iter().position(|&byte| byte == b'/').unwrap_or(id.len())..],
        other => other,
    });
    match of_task.unwrap_or(rest) {
        [] => true,
        [b'/', file @ ..] => PUBLIC.contains(&file),
        _ => false,
    }
}

/// Whether a member of the tree holds the master of /dev/pts/`name`, or this terminal is the caller's own or the guard's.
fn terminal_is_ours(caller: &Caller<'_>, tree: &Tree, name: &[u8]) -> bool {
    let Some(number) = std::str::from_utf8(name).ok().and_then(|name| name.parse::<u32>().ok()) else {
        return false;
    };
    // The guard's own terminal counts until it hangs up: later another terminal may have its number.
    let is_guards = tree.leader.is_some_and(|leader| controlling_terminal(leader) == Some(number));
    is_guards || controlling_terminal(caller.tid()) == Some(number) || holds_master(tree, number)
}

/// The number N of the caller's controlling terminal /dev/pts/N.
pub fn controlling_terminal(tid: Tid) -> Option<u32> {
    /// First and last of the major numbers of Unix98 pty slaves (Documentation/admin-guide/devices.txt).
    const MAJORS: std::ops::RangeInclusive<u32> = 136..=143;
    let tty = proc::stat(tid).ok()?.tty;
    let (major, minor) = (tty >> 8 & 0xfff, (tty & 0xff) | (tty >> 12 & 0xfff00));
    MAJORS.contains(&major).then(|| (major - MAJORS.start()) * 256 + minor)
}

/// Checks the descriptors of every member: the number of a closed pty is reused, so earlier opens prove nothing.
fn holds_master(tree: &Tree, number: u32) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let index = format!("tty-index:\t{number}");
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<Tid>().ok())
        .filter(|&pid| tree.contains(pid))
        .any(|pid| {
            let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return false };
            descriptors.flatten().any(|descriptor| {
                std::fs::read_to_string(descriptor.path())
                    .is_ok_and(|text| text.lines().any(|line| line == index))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_name_processes() {
        assert_eq!(proc_pid(b"/proc/12/stat"), Some((12, &b"/stat"[..])));
        assert_eq!(proc_pid(b"/proc/12"), Some((12, &b""[..])));
        assert_eq!(proc_pid(b"/proc/sys/kernel"), None);
        assert_eq!(proc_pid(b"/proc/+12"), None);
        assert_eq!(proc_pid(b"/proc/"), None);
    }

    #[test]
    fn public_files_are_those_of_a_process_and_of_its_threads() {
        for path in ["", "/stat", "/cmdline", "/task", "/task/7", "/task/7/stat"] {
            assert!(is_public(path.as_bytes()), "{path}");
        }
        for path in ["/mem", "/fd", "/taskstat", "/task/7/mem", "/fd/stat", "/task/7/fd/stat"] {
            assert!(!is_public(path.as_bytes()), "{path}");
        }
    }
}
