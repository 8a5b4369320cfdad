//! One walk, component by component.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::scope::{Scope, Up};
use super::{Dots, Entry, Last, Object, Resolver, Target, real_path};
use crate::caller::Caller;
use crate::place;

/// MAXSYMLINKS of the kernel (include/linux/namei.h).
const MAX_LINKS: usize = 40;

/// Opens without following any link. ELOOP when there is one.
fn open_plain(start: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(start, path, flags, Mode::empty(), plain)
}

/// Splits into what is before the last component, and that component with the slashes behind it.
/// None when there is nothing before it or it is no name.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let trimmed = trim_slashes(path);
    let at = trimmed.iter().rposition(|&byte| byte == b'/')? + 1;
    let name = &trimmed[at..];
    let lead = &path[..at];
    (!matches!(name, b"" | b"." | b"..")).then_some((lead, &path[at..]))
}

fn trim_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |at| at + 1);
    &path[..end]
}

/// A path, partly walked.
pub struct Walk<'w, 'k> {
    /// Where absolute links lead.
    pub resolver: &'w Resolver,
    /// Whose path it is.
    pub caller: &'w Caller<'k>,
    /// The directory that was reached.
    pub directory: OwnedFd,
    /// Where the walk may go.
    pub scope: Scope,
    /// What is still to be walked.
    pub pending: Vec<u8>,
    /// The links that were followed.
    pub links: usize,
    /// What becomes of a link at the end.
    pub last: Last,
}

impl Walk<'_, '_> {
    /// Walks to the end.
    pub fn run(mut self) -> Result<Target, Errno> {
        self.lead()?;
        loop {
            let begin = self.pending.iter().position(|&byte| byte != b'/');
            let Some(begin) = begin else { return self.here(Dots::No) };
            let end = self.pending[begin..].iter().position(|&byte| byte == b'/').map(|at| begin + at);
            let end = end.unwrap_or(self.pending.len());
            let name = self.pending[begin..end].to_vec();
            let rest = self.pending[end..].to_vec();
            let is_last = rest.iter().all(|&byte| byte == b'/');
            let slash = is_last && !rest.is_empty();
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
                _ => {
                    if let Some(target) = self.step(name, rest, is_last, slash)? {
                        return Ok(target);
                    }
                    continue;
                }
            }
            self.pending = rest;
        }
    }

    fn up(&mut self) -> Result<(), Errno> {
        // That this is a directory and may be searched comes before where `..` leads.
        let here = if self.scope.is_open() { None } else { Some(self.open_directory(b".")?) };
        match (self.scope.up()?, here) {
            (Up::Stay, Some(here)) => self.directory = here,
            _ => {
                let parent = open_plain(self.directory.as_fd(), b"..", OFlags::PATH | OFlags::CLOEXEC)?;
                self.scope.leave(&self.directory, &parent)?;
                self.directory = parent;
            }
        }
        Ok(())
    }

    /// The walk may be at something that is no directory, or may not be searched.
    fn open_directory(&self, name: &[u8]) -> Result<OwnedFd, Errno> {
        open_plain(self.directory.as_fd(), name, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)
    }

    /// Goes to the directory of the last component in one call, when no link is on the way there.
    fn lead(&mut self) -> Result<(), Errno> {
        if !self.scope.is_open() {
            return Ok(());
        }
        let Some((lead, rest)) = split(&self.pending) else { return Ok(()) };
        match open_plain(self.directory.as_fd(), lead, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC) {
            Ok(directory) => {
                self.directory = directory;
                self.pending = rest.to_vec();
                Ok(())
            }
            // A link, or links that have grown the path beyond PATH_MAX: walked by single steps.
            Err(Errno::LOOP | Errno::NAMETOOLONG) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The directory that the walk has reached, as the target.
    fn here(self, dots: Dots) -> Result<Target, Errno> {
        let path = real_path(self.directory.as_fd())?;
        Ok(Target::Object { object: Object::of(self.directory)?, path, dots })
    }

    /// Looks at one name. None: the walk goes on.
    fn step(
        &mut self,
        name: Vec<u8>,
        rest: Vec<u8>,
        is_last: bool,
        slash: bool,
    ) -> Result<Option<Target>, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.directory, &name[..], flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) if is_last => {
                return Ok(Some(Target::Entry(self.entry(name, slash, None)?)));
            }
            // An operation on two names may have to say something else first.
            Err(Errno::NAMETOOLONG) if is_last && self.last == Last::Name => {
                let entry = self.entry(name, slash, None)?;
                return Ok(Some(Target::Entry(Entry { absent: Errno::NAMETOOLONG, ..entry })));
            }
            Err(error) => return Err(error),
        };
        self.scope.cross(self.directory.as_fd(), fd.as_fd())?;
        let object = Object::of(fd)?;
        match object.kind() {
            _ if is_last && (self.last == Last::Name || (self.last == Last::Make && slash)) => {
                Ok(Some(Target::Entry(self.entry(name, slash, Some(object))?)))
            }
            FileType::Symlink if is_last && !slash && self.last == Last::Keep => {
                Ok(Some(Target::Entry(self.entry(name, slash, Some(object))?)))
            }
            FileType::Symlink => self.follow(&name, &object, rest, is_last),
            FileType::Directory if !is_last => {
                self.scope.enter(&self.directory, &object.fd)?;
                self.directory = object.fd;
                self.pending = rest;
                Ok(None)
            }
            kind if is_last && (!slash || kind == FileType::Directory) => {
                Ok(Some(Target::Entry(self.entry(name, slash, Some(object))?)))
            }
            _ => Err(Errno::NOTDIR),
        }
    }

    fn entry(&self, name: Vec<u8>, slash: bool, object: Option<Object>) -> Result<Entry, Errno> {
        entry(self.directory.try_clone().map_err(|_| Errno::MFILE)?, name, slash, object)
    }

    fn follow(
        &mut self,
        name: &[u8],
        link: &Object,
        rest: Vec<u8>,
        is_last: bool,
    ) -> Result<Option<Target>, Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        // Of several links, the kernel asks this of the last one only.
        if is_last {
            self.refuse_protected(link)?;
        }
        self.scope.follow()?;
        let system = rustix::fs::fstatfs(&link.fd)?;
        if system.f_flags as u64 & ST_NOSYMFOLLOW != 0 {
            return Err(Errno::LOOP);
        }
        let target = if system.f_type == rustix::fs::PROC_SUPER_MAGIC {
            match place::proc_link(self.caller, &real_path(self.directory.as_fd())?, name)? {
                place::ProcLink::Text(text) => text,
                place::ProcLink::Plain => read_link(link)?,
                place::ProcLink::Magic => return self.jump(name, rest, is_last),
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
        let mut pending = target;
        pending.extend_from_slice(&rest);
        if pending.len() >= 2 * crate::caller::PATH_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        self.pending = pending;
        self.lead()?;
        Ok(None)
    }

    /// Follows a link of /proc that leads to an object and not to a path.
    fn jump(&mut self, name: &[u8], rest: Vec<u8>, is_last: bool) -> Result<Option<Target>, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let object = Object::of(rustix::fs::openat(&self.directory, name, flags, Mode::empty())?)?;
        self.scope.jump(self.directory.as_fd(), object.fd.as_fd())?;
        self.caller.check()?;
        if is_last && rest.is_empty() {
            let path = real_path(object.fd.as_fd())?;
            return Ok(Some(Target::Object { object, path, dots: Dots::No }));
        }
        if object.kind() != FileType::Directory {
            return Err(Errno::NOTDIR);
        }
        self.directory = object.fd;
        self.pending = rest;
        Ok(None)
    }

    /// fs.protected_symlinks: a link in a sticky world-writable directory is followed only by its owner, or
    /// where the directory's owner made it. The kernel enforces this when *it* follows; here we do.
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

fn entry(parent: OwnedFd, name: Vec<u8>, slash: bool, object: Option<Object>) -> Result<Entry, Errno> {
    let mut path = real_path(parent.as_fd())?;
    if path != b"/" {
        path.push(b'/');
    }
    path.extend_from_slice(&name);
    Ok(Entry { parent, name, slash, object, absent: Errno::NOENT, path })
}
