//! From a path as the caller wrote it to the object that it names, and that object's real path.
//!
//! The kernel resolves whole stretches where it can do so without following a link; where a symbolic link or
//! /proc's own links come in, the components are walked here, one descriptor each. Nothing is looked at twice:
//! the decision is about the descriptor that the operation then uses, and its path is what the kernel says of
//! it (`/proc/self/fd/N`), not what was written.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::caller::Caller;
use crate::place;

/// MAXSYMLINKS of the kernel (include/linux/namei.h).
const MAX_LINKS: usize = 40;

/// Whether a symbolic link at the end of the path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Followed (open, chmod, truncate …).
    Follow,
    /// Itself the object, unless a slash is written behind it (lchown, O_NOFOLLOW, O_EXCL …).
    Keep,
    /// Not looked through at all: the call is about the name in its directory (unlink, rename, mkdir …).
    Name,
}

/// An object that exists.
#[derive(Debug)]
pub struct Object {
    /// An O_PATH descriptor of it; of a symbolic link itself where the link was kept.
    pub fd: OwnedFd,
    /// What it is.
    pub stat: Stat,
}

impl Object {
    /// Of a descriptor.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of(fd: OwnedFd) -> Result<Object, Errno> {
        let stat = rustix::fs::fstat(&fd)?;
        Ok(Object { fd, stat })
    }

    /// Its type.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

/// A name in a directory: what creating, removing, renaming and most opens are about.
#[derive(Debug)]
pub struct Entry {
    /// An O_PATH descriptor of the directory.
    pub parent: OwnedFd,
    /// The last component, without slashes; never empty, `.` or `..`.
    pub name: Vec<u8>,
    /// Whether a slash was written behind it: it must be a directory then.
    pub slash: bool,
    /// What is there, if anything.
    pub object: Option<Object>,
    /// The entry's real path: the directory's, and the name.
    pub path: Vec<u8>,
}

impl Entry {
    /// The name as written, for the operations whose errno depends on a slash at the end.
    pub fn written(&self) -> Vec<u8> {
        let mut name = self.name.clone();
        if self.slash {
            name.push(b'/');
        }
        name
    }
}

/// What a path leads to.
#[derive(Debug)]
pub enum Target {
    /// A name in a directory.
    Entry(Entry),
    /// An object reached without a name of its own: `/`, `.`, `..`, a descriptor, a link of /proc.
    Object {
        /// The object.
        object: Object,
        /// Its real path, or what the kernel says of an object without one (`pipe:[12]`).
        path: Vec<u8>,
        /// Whether the last component was `.` or `..`, for which rename and rmdir have errnos of their own.
        dots: Dots,
    },
}

/// How a path that names no entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dots {
    /// `/`, a descriptor, or a link of /proc.
    No,
    /// `.`
    One,
    /// `..`
    Two,
}

impl Target {
    /// What is there, with its real path.
    ///
    /// # Errors
    /// ENOENT when nothing is there.
    pub fn into_object(self) -> Result<(Object, Vec<u8>), Errno> {
        match self {
            Target::Entry(entry) => Ok((entry.object.ok_or(Errno::NOENT)?, entry.path)),
            Target::Object { object, path, .. } => Ok((object, path)),
        }
    }
}

/// Where paths start, and what of the host changes how they are walked.
#[derive(Debug)]
pub struct Resolver {
    root: OwnedFd,
    /// sysctl fs.protected_symlinks: links in sticky world-writable directories (proc_sys_fs(5)).
    protected_symlinks: bool,
    uid: u32,
}

impl Resolver {
    /// Looks at the host once.
    ///
    /// # Errors
    /// When `/` cannot be opened.
    pub fn new() -> Result<Resolver, Errno> {
        let protected = std::fs::read_to_string("/proc/sys/fs/protected_symlinks");
        Ok(Resolver {
            root: rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?,
            protected_symlinks: protected.map_or(true, |text| text.trim() != "0"),
            uid: rustix::process::geteuid().as_raw(),
        })
    }

    /// Resolves `path` of `caller` from `dirfd`.
    ///
    /// # Errors
    /// As open(2): ENOENT, ENOTDIR, ELOOP, EACCES, ENAMETOOLONG, EBADF. EACCES too for links of /proc that lead
    /// out of the caller's own process.
    pub fn resolve(&self, caller: &Caller<'_>, dirfd: i32, path: &[u8], last: Last) -> Result<Target, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let directory = if path[0] == b'/' { self.open_root()? } else { caller.directory(dirfd)? };
        Walk { resolver: self, caller, directory, pending: path.to_vec(), links: 0, last }.run()
    }

    /// The caller's descriptor as an object: AT_EMPTY_PATH and the calls that take a descriptor.
    ///
    /// # Errors
    /// EBADF.
    pub fn descriptor(&self, caller: &Caller<'_>, fd: i32) -> Result<Target, Errno> {
        let object = Object::of(caller.directory(fd)?)?;
        let path = real_path(object.fd.as_fd())?;
        Ok(Target::Object { object, path, dots: Dots::No })
    }

    /// Resolves with the restrictions of openat2(2): the kernel does all of it. A last component that is missing
    /// is an entry of the directory before it.
    ///
    /// # Errors
    /// As openat2(2); ELOOP for a dangling link at the end.
    pub fn resolve_restricted(
        &self,
        caller: &Caller<'_>,
        dirfd: i32,
        path: &[u8],
        last: Last,
        restrictions: ResolveFlags,
    ) -> Result<Target, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let start = caller.directory(dirfd)?;
        let mut flags = OFlags::PATH | OFlags::CLOEXEC;
        flags.set(OFlags::NOFOLLOW, last != Last::Follow);
        match rustix::fs::openat2(&start, path, flags, Mode::empty(), restrictions) {
            Ok(fd) => {
                let object = Object::of(fd)?;
                let path = real_path(object.fd.as_fd())?;
                Ok(Target::Object { object, path, dots: Dots::No })
            }
            Err(Errno::NOENT) => {
                let trimmed = trim_slashes(path);
                let at = trimmed.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
                let name = trimmed[at..].to_vec();
                let lead = if at == 0 { &b"."[..] } else { &trimmed[..at] };
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let parent = rustix::fs::openat2(&start, lead, flags, Mode::empty(), restrictions)?;
                if rustix::fs::statat(&parent, &name[..], AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    return Err(Errno::LOOP);
                }
                Ok(Target::Entry(entry(parent, name, trimmed.len() != path.len(), None)?))
            }
            Err(error) => Err(error),
        }
    }

    fn open_root(&self) -> Result<OwnedFd, Errno> {
        self.root.try_clone().map_err(|_| Errno::MFILE)
    }
}

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

struct Walk<'w, 'k> {
    resolver: &'w Resolver,
    caller: &'w Caller<'k>,
    directory: OwnedFd,
    /// What is still to be walked.
    pending: Vec<u8>,
    links: usize,
    last: Last,
}

impl Walk<'_, '_> {
    fn run(mut self) -> Result<Target, Errno> {
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
                    // The walk may start at something that is no directory, or may not be searched.
                    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                    self.directory = open_plain(self.directory.as_fd(), b".", flags)?;
                    if is_last {
                        return self.here(Dots::One);
                    }
                }
                b".." => {
                    self.directory =
                        open_plain(self.directory.as_fd(), b"..", OFlags::PATH | OFlags::CLOEXEC)?;
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

    /// Goes to the directory of the last component in one call, when no link is on the way there.
    fn lead(&mut self) -> Result<(), Errno> {
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
            Err(error) => return Err(error),
        };
        let object = Object::of(fd)?;
        match object.kind() {
            _ if is_last && self.last == Last::Name => {
                Ok(Some(Target::Entry(self.entry(name, slash, Some(object))?)))
            }
            FileType::Symlink if is_last && !slash && self.last == Last::Keep => {
                Ok(Some(Target::Entry(self.entry(name, slash, Some(object))?)))
            }
            FileType::Symlink => self.follow(&name, &object, rest, is_last),
            FileType::Directory if !is_last => {
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
        self.refuse_protected(link)?;
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
            self.directory = self.resolver.open_root()?;
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
    Ok(Entry { parent, name, slash, object, path })
}

/// What the kernel says a descriptor's path is. For an object that was removed: the path that it had.
///
/// # Errors
/// EACCES for an object outside the supervisor's root, whose path means nothing here.
pub fn real_path(fd: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    const DELETED: &[u8] = b" (deleted)";
    let mut path = rustix::fs::readlinkat(CWD, link_to(fd), Vec::with_capacity(256))?.into_bytes();
    if path.starts_with(b"(unreachable)") {
        return Err(Errno::ACCESS);
    }
    // A file may really be called so: then the path leads to it.
    if path.ends_with(DELETED) && path[0] == b'/' && !names(&path, fd) {
        path.truncate(path.len() - DELETED.len());
    }
    Ok(path)
}

/// A path by which the kernel finds the object behind one of our descriptors.
pub fn link_to(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn names(path: &[u8], fd: BorrowedFd<'_>) -> bool {
    let there = rustix::fs::lstat(path);
    let here = rustix::fs::fstat(fd);
    matches!((there, here), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}
