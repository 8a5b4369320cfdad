//! One call of a sequence: who makes it, its arguments, and its forms for people and for the player.

use std::fmt;

use super::paths::{Written, placed};

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The first process.
    First = 0,
    /// Another process.
    Other = 1,
    /// A second thread of the first.
    Thread = 2,
}

/// Calls that consist of several system calls; the player knows them by these numbers.
pub const ENTRIES: i64 = -1;
/// Sends a descriptor to the other process.
pub const SEND: i64 = -2;
/// Receives what the other process sent.
pub const RECEIVE: i64 = -3;
/// Calls getsockname, which returns a path.
pub const NAME: i64 = -4;

/// One argument.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A number.
    Int(i64),
    /// The flags of open(2).
    Flags(i32),
    /// A file mode.
    Mode(u32),
    /// A path, or the target of a symbolic link.
    Path(Written),
    /// A path that ends where readable memory ends.
    PathAtEnd(Written),
    /// `struct open_how`.
    How { flags: i32, mode: u32, resolve: u64 },
    /// `struct sockaddr_un` with this path, and its length.
    Address(Written),
    /// A structure, and its description for people.
    Bytes(Vec<u8>, &'static str),
    /// A buffer; another argument is its size.
    Out,
    /// A buffer for a `struct stat`.
    Stat,
    /// A buffer for a `struct statx`.
    Statx,
    /// A null pointer.
    Null,
}

/// One call of a sequence.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who makes it.
    pub actor: Actor,
    /// Its name.
    pub name: &'static str,
    /// Its number.
    pub number: i64,
    /// Its arguments.
    pub args: Vec<Arg>,
}

impl Call {
    /// Returns whether it makes a FIFO or a pipe, which block whoever opens them.
    pub fn makes_fifo(&self) -> bool {
        self.number == libc::SYS_pipe2
            || self
                .args
                .iter()
                .any(|arg| matches!(arg, Arg::Mode(mode) if mode & libc::S_IFMT == libc::S_IFIFO))
    }

    /// Returns whether it would wait for the other end of a FIFO, and has no flag against that.
    pub fn waits(&self) -> bool {
        self.name == "creat"
    }

    /// Adds O_NONBLOCK, so that an open does not wait for the other end of a FIFO.
    pub fn never_block(&mut self) {
        for arg in &mut self.args {
            match arg {
                Arg::Flags(flags) | Arg::How { flags, .. } => *flags |= libc::O_NONBLOCK,
                _ => {}
            }
        }
    }

    /// Returns the call as a line for the player, whose sequence runs in `directory`.
    pub fn line(&self, directory: &[u8]) -> String {
        let mut line = format!("{} {}", self.actor as i32, self.number);
        for arg in &self.args {
            line.push(' ');
            line.push_str(&arg.encoded(directory));
        }
        line
    }
}

impl Arg {
    fn encoded(&self, directory: &[u8]) -> String {
        let hex = |kind: char, bytes: &[u8]| {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{kind}{digits}")
        };
        match self {
            Arg::Int(value) => format!("i{value}"),
            Arg::Flags(flags) => format!("i{flags}"),
            Arg::Mode(mode) => format!("i{mode}"),
            Arg::Path(path) => hex('s', &placed(path, directory)),
            Arg::PathAtEnd(path) => hex('e', &placed(path, directory)),
            Arg::How { flags, mode, resolve } => {
                // The last word stands for fields that only a newer kernel knows: it is zero.
                let words = [u64::from(*flags as u32), u64::from(*mode), *resolve, 0];
                hex('b', &words.map(u64::to_ne_bytes).concat())
            }
            Arg::Address(path) => {
                let raw = address(&placed(path, directory));
                format!("{} i{}", hex('b', &raw), raw.len())
            }
            Arg::Bytes(bytes, _) => hex('b', bytes),
            Arg::Out => "o".to_owned(),
            Arg::Stat => "t".to_owned(),
            Arg::Statx => "x".to_owned(),
            Arg::Null => "i0".to_owned(),
        }
    }
}

fn address(path: &[u8]) -> Vec<u8> {
    let mut raw = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    raw.extend_from_slice(path);
    raw.push(0);
    raw
}

const FLAGS: [(i32, &str); 12] = [
    (libc::O_TMPFILE, "O_TMPFILE"),
    (libc::O_CREAT, "O_CREAT"),
    (libc::O_EXCL, "O_EXCL"),
    (libc::O_TRUNC, "O_TRUNC"),
    (libc::O_APPEND, "O_APPEND"),
    (libc::O_DIRECTORY, "O_DIRECTORY"),
    (libc::O_NOFOLLOW, "O_NOFOLLOW"),
    (libc::O_PATH, "O_PATH"),
    (libc::O_CLOEXEC, "O_CLOEXEC"),
    (libc::O_NONBLOCK, "O_NONBLOCK"),
    (libc::O_SYNC, "O_SYNC"),
    (libc::O_NOATIME, "O_NOATIME"),
];

fn flags_shown(flags: i32) -> String {
    let mut shown = ["O_RDONLY", "O_WRONLY", "O_RDWR", "3"][(flags & 3) as usize].to_owned();
    let mut left = flags & !3;
    for (bits, name) in FLAGS {
        if left & bits == bits {
            left &= !bits;
            shown.push('|');
            shown.push_str(name);
        }
    }
    if left != 0 {
        shown.push_str(&format!("|{left:#x}"));
    }
    shown
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Int(value) if *value == i64::from(libc::AT_FDCWD) => f.write_str("AT_FDCWD"),
            Arg::Int(value) => write!(f, "{value}"),
            Arg::Flags(flags) => f.write_str(&flags_shown(*flags)),
            Arg::Mode(mode) => write!(f, "{mode:#o}"),
            Arg::Path(path) => write!(f, "\"{}\"", path.escape_ascii()),
            Arg::PathAtEnd(path) => write!(f, "\"{}\" (at a page's end)", path.escape_ascii()),
            Arg::How { flags, mode, resolve } => {
                write!(f, "{{{}, {mode:#o}, resolve {resolve:#x}}}", flags_shown(*flags))
            }
            Arg::Address(path) => write!(f, "{{AF_UNIX, \"{}\"}}", path.escape_ascii()),
            Arg::Bytes(_, shown) => f.write_str(shown),
            Arg::Out | Arg::Stat | Arg::Statx => f.write_str("buffer"),
            Arg::Null => f.write_str("NULL"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:6} {}(", format!("{:?}", self.actor), self.name)?;
        for (index, arg) in self.args.iter().enumerate() {
            write!(f, "{}{arg}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}
