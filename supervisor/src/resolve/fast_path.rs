//! Fast path for paths without links: one system call, tried before a walk that costs many.
//!
//! Nothing is held open here, so no operation may rely on the result. It only predicts what the kernel is about to
//! find, for calls where it does not matter if that turns out to be something else.

use std::os::fd::AsFd;

use arrayvec::ArrayVec;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, readlinkat_raw};
use rustix::io::Errno;

use super::proc_fd::short_link_to;
use crate::caller::{Caller, PATH_MAX};
use crate::landlock::LandlockPlan;

/// Paths relative to a directory with a longer path are walked instead.
const MAX_DIRECTORY_LEN: usize = 1024;

/// On the stack, because every open needs it.
type Bytes = ArrayVec<u8, PATH_MAX>;

/// A caller's path, made absolute.
///
/// It is large: avoid moving it.
#[derive(Debug, Default)]
pub struct FastPath {
    /// The path as written, prefixed with the caller's directory, and with a top-level link (`/lib`) replaced.
    written: Bytes,
    /// The same path without empty components, `.` and `..`; empty if `written` has none of them.
    clean: Bytes,
}

/// What the lookup found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastLookup {
    /// An object, and no link on the way to it: the path without `.` and `..` is its real path.
    There,
    /// Nothing; no existing component is a link.
    Missing,
    /// A link somewhere on the way.
    Link,
    /// An errno that needs the full walk.
    Unclear,
}

impl FastPath {
    /// Sets this to the absolute form of `path` from `dirfd`. Returns `None` if the full walk is needed.
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
                // A removed directory still has a path, where something else may be by now.
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

    /// Looks up the path, in one call that opens nothing.
    pub fn lookup(&self) -> FastLookup {
        // O_DIRECTORY with O_WRONLY always fails: a directory cannot be opened for writing, and anything else cannot be
        // opened as a directory. The errno shows what is there.
        let never = OFlags::DIRECTORY | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(CWD, &self.written[..], never, Mode::empty(), no_links) {
            Err(Errno::ISDIR | Errno::NOTDIR) => FastLookup::There,
            Err(Errno::NOENT) => FastLookup::Missing,
            Err(Errno::LOOP) => FastLookup::Link,
            Ok(_) | Err(_) => FastLookup::Unclear,
        }
    }

    /// Resolves the links as the kernel does. Returns `None` if a link leads through an open file, or to nothing.
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

/// Whether a path is already normalised.
fn is_clean(path: &[u8]) -> bool {
    path == b"/" || path[1..].split(|&byte| byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

/// Appends the normalised path to an empty `clean`, assuming that no link is on the way.
fn clean_into(path: &[u8], clean: &mut Bytes) {
    for name in path.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => {
                let end = clean.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                clean.truncate(end);
            }
            name => {
                // The result is never longer than the input.
                let _ = clean.try_push(b'/');
                let _ = clean.try_extend_from_slice(name);
            }
        }
    }
    if clean.is_empty() {
        clean.push(b'/');
    }
}
