//! Paths that are real as they are written, if none of their components is a link: what most programs open.

use std::borrow::Cow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::CWD;

use super::Request;
use crate::caller::PATH_MAX;
use crate::resolve::real_path;

/// A path. If none of its components is a link, it is its own real path.
pub struct PlainPath<'p> {
    /// The caller's directory, if the path is relative.
    directory: Option<OwnedFd>,
    /// The path as the caller wrote it.
    pub written: &'p [u8],
    /// The real path, if no component is a link.
    pub real: Cow<'p, [u8]>,
}

impl<'p> PlainPath<'p> {
    /// Spells a path out from the caller's `dirfd`. `None` if it is not plain.
    pub fn new(request: &Request<'_, '_>, dirfd: i32, path: &'p [u8]) -> Option<PlainPath<'p>> {
        if path.starts_with(b"/") {
            return is_plain(path).then_some(PlainPath { directory: None, written: path, real: path.into() });
        }
        if !are_plain_names(path) {
            return None;
        }
        let directory = request.caller.directory(dirfd).ok()?;
        let mut real = real_path(directory.as_fd()).ok()?;
        if !real.ends_with(b"/") {
            real.push(b'/');
        }
        real.extend_from_slice(path);
        let is_usable = real.len() < PATH_MAX && is_plain(&real);
        is_usable.then_some(PlainPath { directory: Some(directory), written: path, real: real.into() })
    }

    /// The directory from which the path as written leads on.
    pub fn start(&self) -> BorrowedFd<'_> {
        self.directory.as_ref().map_or(CWD, AsFd::as_fd)
    }

    /// The path of the directory as written, if it is not the caller's own, and the last name.
    pub fn split(&self) -> (Option<&'p [u8]>, &'p [u8]) {
        match self.written.iter().rposition(|byte| *byte == b'/') {
            None => (None, self.written),
            Some(end) => (Some(&self.written[..end.max(1)]), &self.written[end + 1..]),
        }
    }
}

/// Whether the path is a real path if none of its components is a link: it is absolute, already normalised, and not in
/// a place whose meaning depends on the caller.
fn is_plain(path: &[u8]) -> bool {
    path.len() > 1
        && path[0] == b'/'
        && !path.starts_with(b"/proc/")
        && !path.starts_with(b"/dev/")
        && are_plain_names(&path[1..])
}

fn are_plain_names(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_and_normal_paths_are_plain() {
        for plain in ["/etc/passwd", "/a", "/home/u/..x", "/procs/x"] {
            assert!(is_plain(plain.as_bytes()), "{plain}");
        }
        for other in
            ["", "/", "a", "a/b", "/a//b", "/a/./b", "/a/../b", "/a/", "/a/.", "/proc/self/mem", "/dev/tty"]
        {
            assert!(!is_plain(other.as_bytes()), "{other}");
        }
    }
}
