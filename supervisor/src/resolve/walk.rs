//! Walks a path component by component.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::proc_fd::KernelPath;
use super::real::whereabouts;
use super::removed::{OpenedFor, held_by};
use super::restrictions::{Restrictions, Up};
use super::{DirEntry, Dots, HeadCache, Last, Object, Resolver, Target, real_path};
use crate::caller::Caller;
use crate::resolve::special_files;

/// MAXSYMLINKS of the kernel (include/linux/namei.h).
const MAX_LINKS: usize = 40;

/// Opens without following any link; ELOOP if there is one.
fn open_plain(start: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(start, path, flags, Mode::empty(), plain)
}

/// The part before the last component. Returns `None` if it is empty or the last component is not a name.
fn split(path: &[u8]) -> Option<&[u8]> {
    let trimmed = trim_slashes(path);
    let at = trimmed.iter().rposition(|&byte| byte == b'/')? + 1;
    let name = &trimmed[at..];
    (!matches!(name, b"" | b"." | b"..")).then_some(&path[..at])
}

fn trim_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |at| at + 1);
    &path[..end]
}

/// The rest of the path to walk. Links can make it much longer than a written path may be.
pub struct Pending {
    path: Vec<u8>,
    at: usize,
}

impl Pending {
    /// Starts with the whole path.
    pub fn new(path: &[u8]) -> Pending {
        Pending { path: path.to_vec(), at: 0 }
    }

    fn remaining(&self) -> &[u8] {
        &self.path[self.at..]
    }

    fn advance(&mut self, length: usize) {
        self.at += length;
    }

    /// Inserts a link's text before what followed the link.
    fn put_before(&mut self, mut text: Vec<u8>) {
        text.extend_from_slice(self.remaining());
        *self = Pending { path: text, at: 0 };
    }
}

/// What a step of the walk has reached.
enum Step {
    /// A directory, or the text of a link: the walk goes on.
    On,
    /// The target.
    At(Target),
    /// The last name, in the directory that the walk has reached; `absent` is the error if nothing is there.
    Last { name: Vec<u8>, object: Option<Object>, absent: Errno },
}

/// A walk in progress.
pub struct Walk<'w, 'k> {
    /// Where absolute links lead.
    pub resolver: &'w Resolver,
    /// The caller whose path it is.
    pub caller: &'w Caller<'k>,
    /// The directory reached so far.
    pub directory: OwnedFd,
    /// The restrictions on the walk.
    pub scope: Restrictions,
    /// The rest of the path.
    pub pending: Pending,
    /// The links that were followed.
    pub links: usize,
    /// How a link at the end is treated.
    pub last: Last,
}

impl Walk<'_, '_> {
    /// Walks to the end.
    pub fn run(mut self) -> Result<Target, Errno> {
        self.enter_parent()?;
        loop {
            let left = self.pending.remaining();
            let Some(begin) = left.iter().position(|&byte| byte != b'/') else { return self.here(Dots::No) };
            let end = left[begin..].iter().position(|&byte| byte == b'/').map_or(left.len(), |at| begin + at);
            let (name, rest) = (left[begin..end].to_vec(), &left[end..]);
            let is_last = rest.iter().all(|&byte| byte == b'/');
            let slash = is_last && !rest.is_empty();
            self.pending.advance(end);
            match &name[..] {
                b"." => {
                    self.directory = self.open_directory(b".")?;
                    if is_last {
                        return self.here(Dots::One);
                    }
                }
                b".." => {
                    self.up()?;
                    if is_last {
                        return self.here(Dots::Two);
                    }
                }
                _ => match self.step(name, is_last, slash)? {
                    Step::On => {}
                    Step::At(target) => return Ok(target),
                    Step::Last { name, object, absent } => {
                        let entry = entry(self.directory, name, slash, object)?;
                        return Ok(Target::Entry(DirEntry { absent, ..entry }));
                    }
                },
            }
        }
    }

    fn up(&mut self) -> Result<(), Errno> {
        // Opening `.` checks first that this is a directory that may be searched; that errno precedes those of `..`.
        let here = if self.scope.is_open() { None } else { Some(self.open_directory(b".")?) };
        match (self.scope.up()?, here) {
            (Up::Stay, Some(here)) => self.directory = here,
            _ => {
                let parent = open_plain(self.directory.as_fd(), b"..", OFlags::PATH | OFlags::CLOEXEC)?;
                self.scope.check_dotdot(&self.directory, &parent)?;
                self.directory = parent;
            }
        }
        Ok(())
    }

    /// Opens a directory from the current position, which may not be a directory, or not be searchable.
    fn open_directory(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        open_plain(self.directory.as_fd(), name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)
    }

    /// Goes to the parent directory of the last component in one call, if no link is on the way.
    fn enter_parent(&mut self) -> Result<(), Errno> {
        if !self.scope.is_open() {
            return Ok(());
        }
        let Some(lead) = split(self.pending.remaining()) else { return Ok(()) };
        let length = lead.len();
        match open_plain(self.directory.as_fd(), lead, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC) {
            Ok(directory) => {
                self.directory = directory;
                self.pending.advance(length);
                Ok(())
            }
            // There is a link, or links have made the path longer than PATH_MAX: walk in single steps.
            Err(Errno::LOOP | Errno::NAMETOOLONG) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns the directory that the walk has reached as the target.
    fn here(self, dots: Dots) -> Result<Target, Errno> {
        let path = real_path(self.directory.as_fd())?;
        Ok(Target::Object { object: Object::from_fd(self.directory)?, path, dots })
    }

    /// Looks up one name.
    fn step(&mut self, name: Vec<u8>, is_last: bool, slash: bool) -> Result<Step, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.directory, &name[..], flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) if is_last => {
                return Ok(Step::Last { name, object: None, absent: Errno::NOENT });
            }
            // An operation on two names may have to report another error first.
            Err(Errno::NAMETOOLONG) if is_last && self.last == Last::Name => {
                return Ok(Step::Last { name, object: None, absent: Errno::NAMETOOLONG });
            }
            Err(error) => return Err(error),
        };
        self.scope.cross(self.directory.as_fd(), fd.as_fd())?;
        let object = Object::from_fd(fd)?;
        match object.kind() {
            _ if is_last && (self.last == Last::Name || (self.last == Last::Make && slash)) => {
                Ok(Step::Last { name, object: Some(object), absent: Errno::NOENT })
            }
            FileType::Symlink if is_last && !slash && self.last == Last::Keep => {
                Ok(Step::Last { name, object: Some(object), absent: Errno::NOENT })
            }
            FileType::Symlink => self.follow(&name, &object, is_last, slash),
            FileType::Directory if !is_last => {
                self.scope.enter(&self.directory, &object.fd)?;
                self.directory = object.fd;
                Ok(Step::On)
            }
            kind if is_last && (!slash || kind == FileType::Directory) => {
                Ok(Step::Last { name, object: Some(object), absent: Errno::NOENT })
            }
            _ => Err(Errno::NOTDIR),
        }
    }

    fn follow(&mut self, name: &[u8], link: &Object, is_last: bool, slash: bool) -> Result<Step, Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        // With several links, the kernel checks this for the last one only.
        if is_last {
            self.refuse_protected(link)?;
        }
        self.scope.follow()?;
        let system = rustix::fs::fstatfs(&link.fd)?;
        if system.f_flags as u64 & ST_NOSYMFOLLOW != 0 {
            return Err(Errno::LOOP);
        }
        let target = if system.f_type == rustix::fs::PROC_SUPER_MAGIC {
            match special_files::proc_link(self.caller, &real_path(self.directory.as_fd())?, name)? {
                special_files::ProcLink::Text(text) => text,
                special_files::ProcLink::Plain => read_link(link)?,
                special_files::ProcLink::Magic => return self.jump(name, is_last && !slash),
            }
        } else {
            read_link(link)?
        };
        if target.is_empty() {
            return Err(Errno::NOENT);
        }
        if target[0] == b'/' {
            let root = self.resolver.open_root()?;
            self.directory = self.scope.enter_root(&self.directory, &root)?.unwrap_or(root);
        }
        self.pending.put_before(target);
        self.enter_parent()?;
        Ok(Step::On)
    }

    /// Follows a /proc link that leads directly to an object.
    fn jump(&mut self, name: &[u8], is_end: bool) -> Result<Step, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let mut object = Object::from_fd(rustix::fs::openat(&self.directory, name, flags, Mode::empty())?)?;
        self.scope.jump(self.directory.as_fd(), object.fd.as_fd())?;
        self.caller.check()?;
        if is_end {
            let KernelPath { path, is_removed } = whereabouts(object.fd.as_fd())?;
            if is_removed {
                object.held = self.held_by_link(name, &object);
            }
            return Ok(Step::At(Target::Object { object, path, dots: Dots::No }));
        }
        if object.kind() != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        self.directory = object.fd;
        Ok(Step::On)
    }

    /// What is held of a removed object by a link of /proc. The program that the caller runs, it may read.
    fn held_by_link(&self, name: &[u8], object: &Object) -> Option<OpenedFor> {
        match std::str::from_utf8(name).ok().and_then(|name| name.parse().ok()) {
            Some(number) => held_by(self.caller, number, object),
            None if object.kind() == FileType::Directory => None,
            None => Some(OpenedFor::READING),
        }
    }

    /// fs.protected_symlinks: a link in a sticky world-writable directory is followed only if its owner is the caller
    /// or the directory's owner. The kernel enforces this when *it* follows links; here the walk does.
    fn refuse_protected(&self, link: &Object) -> Result<(), Errno> {
        if !self.resolver.protected_symlinks || link.stat.st_uid == self.resolver.uid {
            return Ok(());
        }
        let directory = rustix::fs::fstat(&self.directory)?;
        let open_to_all = libc::S_ISVTX | libc::S_IWOTH;
        if directory.st_mode & open_to_all == open_to_all && directory.st_uid != link.stat.st_uid {
            return Err(Errno::ACCESS);
        }
        Ok(())
    }
}

/// statfs(2): the mount follows no links.
const ST_NOSYMFOLLOW: u64 = 0x2000;

fn read_link(link: &Object) -> Result<Vec<u8>, Errno> {
    Ok(rustix::fs::readlinkat(&link.fd, c"", Vec::with_capacity(256))?.into_bytes())
}

fn entry(parent: OwnedFd, name: Vec<u8>, slash: bool, object: Option<Object>) -> Result<DirEntry, Errno> {
    let mut path = real_path(parent.as_fd())?;
    if path != b"/" {
        path.push(b'/');
    }
    path.extend_from_slice(&name);
    Ok(DirEntry { parent, name, slash, object, absent: Errno::NOENT, path, heads: HeadCache::default() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::io::Errno;

    use super::super::{Last, Resolver};
    use crate::caller::Caller;
    use crate::kernel::fake::Fake;

    #[test]
    fn links_may_make_a_path_longer_than_can_be_written() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        // 40 links, the maximum, each with a long text that goes nowhere.
        let long = "./".repeat(2000);
        for number in 1..=40 {
            let next = if number == 1 { "file".to_owned() } else { (number - 1).to_string() };
            symlink(format!("{long}{next}"), root.join(number.to_string())).unwrap();
            symlink(format!("{number}/{long}"), root.join(format!("d{number}"))).unwrap();
        }
        symlink("40", root.join("41")).unwrap();
        symlink(format!("loop/{long}"), root.join("loop")).unwrap();
        let kernel = Fake::new(&root, &[]);
        let caller = Caller::new(&kernel, Fake::call(0, &[]));
        let resolver = Resolver::new().unwrap();
        let resolve = |path: &[u8]| {
            let target = resolver.resolve(&caller, libc::AT_FDCWD, path, Last::Follow)?;
            target.into_object().map(|(_, path)| path)
        };
        let file = root.join("file").into_os_string().into_encoded_bytes();
        assert_eq!(resolve(b"40"), Ok(file.clone()));
        assert_eq!(resolve(b"././40"), Ok(file));
        for (path, errno) in [("41", Errno::LOOP), ("loop", Errno::LOOP), ("d39", Errno::NOTDIR)] {
            assert_eq!(resolve(path.as_bytes()), Err(errno), "{path}");
            let native = std::fs::metadata(root.join(path)).unwrap_err().raw_os_error();
            assert_eq!(native, Some(errno.raw_os_error()), "{path}");
        }
    }
}
