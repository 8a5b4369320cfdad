//! What a path spells, if no link is on the way: a look that costs one system call, before a walk that costs many.
//!
//! Nothing is held open here, so nothing may be done by what is found: it says what the kernel is about to find, where it
//! does not matter if that is something else.

use std::os::fd::AsFd;

use arrayvec::ArrayVec;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, readlinkat_raw};
use rustix::io::Errno;

use super::proc_fd::short_link_to;
use crate::caller::{Caller, PATH_MAX};
use crate::landlock::LandlockPlan;

/// From a directory with a longer path the walk starts.
const MAX_DIRECTORY_LEN: usize = 1024;

/// On the stack: this is done for every open.
type Bytes = ArrayVec<u8, PATH_MAX>;

/// An absolute path of a caller.
///
/// Large: best not moved.
#[derive(Debug, Default)]
pub struct FastPath {
    /// With the caller's directory before it, and a top-level link (`/lib`) replaced.
    written: Bytes,
    /// The same without empty components, `.` and `..`; empty where it has none of them.
    clean: Bytes,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastLookup {
    /// Something, and no link on the way to it: the path without `.` and `..` is its real path.
    There,
    /// Nothing, and no link on the way that exists.
    Missing,
    /// A link, somewhere.
    Link,
    /// What the kernel says of it needs a closer look.
    Unclear,
}

impl FastPath {
    /// Takes what `path` means from `dirfd`. None where that cannot be told in short.
    pub fn spell(
        &mut self,
        caller: &Caller<'_>,
        dirfd: i32,
        path: &[u8],
        floor: &LandlockPlan,
    ) -> Option<()> {
        let written = &mut self.written;
        match path.first()? {
            b'/' => match floor.top_link(path) {
                Some((target, length)) => {
                    written.try_extend_from_slice(target).ok()?;
                    written.try_extend_from_slice(&path[length..]).ok()?;
                }
                None => written.try_extend_from_slice(path).ok()?,
            },
            _ => {
                let mut directory = [0; MAX_DIRECTORY_LEN];
                let length = caller.kernel().directory_path(caller.tid(), dirfd, &mut directory).ok()?;
                let directory = &directory[..length];
                // One that was removed still has a path, at which something else may be by now.
                let is_removed = directory.ends_with(b" (deleted)");
                if directory.first() != Some(&b'/') || length == MAX_DIRECTORY_LEN || is_removed {
                    return None;
                }
                written.try_extend_from_slice(directory).ok()?;
                written.try_push(b'/').ok()?;
                written.try_extend_from_slice(path).ok()?;
            }
        }
        if !is_clean(written) {
            clean_into(written, &mut self.clean);
        }
        Some(())
    }

    /// The real path, if no link was found.
    pub fn real(&self) -> &[u8] {
        if self.clean.is_empty() { &self.written } else { &self.clean }
    }

    /// Looks at what is there, in one call that opens nothing.
    pub fn lookup(&self) -> FastLookup {
        // No directory is opened for writing, and nothing else as a directory: this fails whatever is there, and what it
        // fails with says what that is.
        let never = OFlags::DIRECTORY | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, &self.written[..], never, Mode::empty(), no_links) {
            Err(Errno::ISDIR | Errno::NOTDIR) => FastLookup::There,
            Err(Errno::NOENT) => FastLookup::Missing,
            Err(Errno::LOOP) => FastLookup::Link,
            Ok(_) | Err(_) => FastLookup::Unclear,
        }
    }

    /// Takes the path to which the links lead, as the kernel follows them. None where one leads through an open file, or
    /// to nothing.
    pub fn follow(&mut self) -> Option<()> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file =
            rustix::fs::openat2(CWD, &self.written[..], flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
                .ok()?;
        let mut real = [0; PATH_MAX];
        let length = readlinkat_raw(CWD, short_link_to(file.as_fd()).as_str(), &mut real[..]).ok()?;
        let real = &real[..length];
        if real.first() != Some(&b'/') || length == PATH_MAX {
            return None;
        }
        self.clean.clear();
        self.written.clear();
        self.written.try_extend_from_slice(real).ok()
    }
}

/// Whether a path has nothing in it that a real path has not.
fn is_clean(path: &[u8]) -> bool {
    path == b"/" || path[1..].split(|&byte| byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

/// A path as it is where no link is on the way, into an empty one.
fn clean_into(path: &[u8], clean: &mut Bytes) {
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                let end = clean.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                clean.truncate(end);
            }
            name => {
                // No longer than what it was made of.
                let _ = clean.try_push(b'/');
                let _ = clean.try_extend_from_slice(name);
            }
        }
    }
    if clean.is_empty() {
        clean.push(b'/');
    }
}
