//! Reads /proc files of a caller into a fixed buffer, without allocation on the hot path.

use std::fmt::Write as _;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// A thread id in the supervisor's pid namespace.
pub type Tid = i32;

/// The fields of `/proc/TID/status` that the guard uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcStatus {
    /// The thread group (the process).
    pub tgid: Tid,
    /// The parent process.
    pub ppid: Tid,
    /// The thread that traces it, 0 for none.
    pub tracer: Tid,
    /// The file mode creation mask.
    pub umask: u32,
}

/// The fields of `/proc/PID/stat` that the guard uses; numbers are those of proc_pid_stat(5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Field 4.
    pub ppid: Tid,
    /// Field 7: the controlling terminal's device number, 0 for none.
    pub tty: u32,
    /// Fields 48 and 49: the address range of the arguments.
    pub arguments: (u64, u64),
    /// Fields 50 and 51: the address range of the environment.
    pub environment: (u64, u64),
}

/// Reads a whole small file of /proc/TID into `buffer`.
///
/// # Errors
/// ESRCH when the task is gone, EFBIG when the file does not fit.
pub fn read_into<'b>(tid: Tid, name: &str, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let mut path = Text::<48>::default();
    write!(path, "/proc/{tid}/{name}").map_err(|_| Errno::NAMETOOLONG)?;
    let file = rustix::fs::open(path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(
        |error| match error {
            Errno::NOENT => Errno::SRCH,
            other => other,
        },
    )?;
    // One read returns the whole file if it fits (fs/seq_file.c, fs/proc/base.c).
    match rustix::io::read(&file, &mut *buffer)? {
        length if length < buffer.len() => Ok(&buffer[..length]),
        _ => Err(Errno::FBIG),
    }
}

/// The text of a `/proc/TID/status`, with access to its fields by name.
pub struct Fields<'t>(pub &'t [u8]);

/// Reads the status of a thread and parses it.
///
/// # Errors
/// ESRCH when the task is gone.
pub fn fields<T>(tid: Tid, parse: impl FnOnce(&Fields<'_>) -> T) -> Result<T, Errno> {
    match read_into(tid, "status", &mut [0; 4096]) {
        Ok(text) => Ok(parse(&Fields(text))),
        // The file lists the groups, and a process may have 65,536 of them.
        Err(Errno::FBIG) => {
            let text = std::fs::read(format!("/proc/{tid}/status")).map_err(|_| Errno::SRCH)?;
            Ok(parse(&Fields(&text)))
        }
        Err(error) => Err(error),
    }
}

impl<'t> Fields<'t> {
    /// Returns the text of a field.
    pub fn text(&self, name: &str) -> Option<&'t [u8]> {
        // A command name cannot start a line of its own: the kernel escapes newlines in Name.
        let mut lines = self.0.split(|&byte| byte == b'\n');
        lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b":")).map(<[u8]>::trim_ascii)
    }

    /// Returns the number in a field.
    pub fn number(&self, name: &str, radix: u32) -> Option<u64> {
        number(self.text(name)?, radix)
    }
}

/// Reads `/proc/TID/status`.
///
/// # Errors
/// ESRCH when the task is gone, EIO when a field that must be there is not.
pub fn status(tid: Tid) -> Result<ProcStatus, Errno> {
    fields(tid, parse_status)?.ok_or(Errno::IO)
}

/// Reads `/proc/TID/stat`.
///
/// # Errors
/// ESRCH when the task is gone, EIO when the text does not match proc_pid_stat(5).
pub fn stat(tid: Tid) -> Result<Stat, Errno> {
    let mut buffer = [0; 2048];
    parse_stat(read_into(tid, "stat", &mut buffer)?).ok_or(Errno::IO)
}

/// Returns the parent of a process and the process's own command name, from `/proc/TID/stat`.
///
/// # Errors
/// ESRCH when the task is gone, EIO when the text does not match proc_pid_stat(5).
pub fn parent(tid: Tid) -> Result<(Tid, String), Errno> {
    let mut buffer = [0; 2048];
    let text = read_into(tid, "stat", &mut buffer)?;
    let ppid = parse_stat(text).ok_or(Errno::IO)?.ppid;
    Ok((ppid, String::from_utf8_lossy(parse_name(text).ok_or(Errno::IO)?).into_owned()))
}

/// How much is read of a process's arguments, in bytes; they may be megabytes.
const MAX_ARGUMENTS: usize = 8192;

/// Returns the arguments in `/proc/PID/cmdline`, which the process itself can overwrite.
///
/// # Errors
/// ESRCH when the process is gone.
pub fn arguments(pid: Tid) -> Result<Vec<Vec<u8>>, Errno> {
    let mut buffer = [0; MAX_ARGUMENTS];
    let (shown, is_all) = match read_into(pid, "cmdline", &mut buffer) {
        Ok(shown) => (shown, true),
        Err(Errno::FBIG) => (&buffer[..], false),
        Err(error) => return Err(error),
    };
    let mut arguments: Vec<Vec<u8>> = match shown.strip_suffix(b"\0").unwrap_or(shown) {
        [] => Vec::new(),
        shown => shown.split(|&byte| byte == 0).map(<[u8]>::to_vec).collect(),
    };
    if !is_all {
        arguments.push("…".as_bytes().to_vec());
    }
    Ok(arguments)
}

/// Returns the command name in a `/proc/TID/stat`: all between the first parenthesis and the last.
pub fn parse_name(text: &[u8]) -> Option<&[u8]> {
    let (open, close) = memchr::memchr(b'(', text).zip(memchr::memrchr(b')', text))?;
    text.get(open + 1..close)
}

/// Parses a `/proc/TID/status`; returns None if a required field is missing.
pub fn parse_status(fields: &Fields<'_>) -> Option<ProcStatus> {
    Some(ProcStatus {
        tgid: fields.number("Tgid", 10)? as Tid,
        ppid: fields.number("PPid", 10)? as Tid,
        tracer: fields.number("TracerPid", 10)? as Tid,
        umask: fields.number("Umask", 8)? as u32,
    })
}

/// Parses a `/proc/TID/stat`; returns None if it does not match proc_pid_stat(5).
pub fn parse_stat(text: &[u8]) -> Option<Stat> {
    // The command name may hold anything, parentheses too: the fields start after the last one.
    let close = text.iter().rposition(|&byte| byte == b')')?;
    let mut fields =
        text[close + 1..].split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
    let mut stat = Stat::default();
    // The first field after the name is number 3.
    for at in 3..=51 {
        let field = fields.next()?;
        match at {
            4 => stat.ppid = number(field, 10)? as Tid,
            7 => stat.tty = number(field, 10)? as u32,
            48 => stat.arguments.0 = number(field, 10)?,
            49 => stat.arguments.1 = number(field, 10)?,
            50 => stat.environment.0 = number(field, 10)?,
            51 => stat.environment.1 = number(field, 10)?,
            _ => {}
        }
    }
    Some(stat)
}

fn number(text: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text).ok()?, radix).ok()
}

/// A short string on the stack.
#[derive(Clone, Copy)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Text { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> Text<N> {
    /// Returns the text written so far.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl<const N: usize> std::fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_status_reads() {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let status = status(pid).unwrap();
        assert_eq!(status.tgid, pid);
        assert_eq!(status.ppid, rustix::process::getppid().unwrap().as_raw_nonzero().get());
    }

    #[test]
    fn arguments_are_those_that_are_shown() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "echo; read x", "", "a b", ""])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The first output shows that sh runs.
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let expected = [&b"sh"[..], b"-c", b"echo; read x", b"", b"a b", b""];
        assert_eq!(arguments(child.id() as Tid).unwrap(), expected);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(arguments(i32::MAX), Err(Errno::SRCH));
    }

    #[test]
    fn a_gone_task_is_esrch() {
        assert_eq!(status(i32::MAX), Err(Errno::SRCH));
    }

    #[test]
    fn a_name_full_of_parentheses_does_not_move_the_fields() {
        let mut text = b"7 (a) 1 2 (b) ) R 42 1 1 1025 ".to_vec();
        for field in 8..=51 {
            text.extend_from_slice(format!("{field} ").as_bytes());
        }
        let stat = parse_stat(&text).unwrap();
        assert_eq!((stat.ppid, stat.tty), (42, 1025));
        assert_eq!((stat.arguments, stat.environment), ((48, 49), (50, 51)));
    }

    #[test]
    fn a_status_without_its_umask_is_refused() {
        assert_eq!(parse_status(&Fields(b"Name:\tx\nTgid:\t3\nPPid:\t1\nTracerPid:\t0\n")), None);
    }
}
