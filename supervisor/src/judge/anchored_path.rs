//! The object of a call: its real path, and the descriptor by which the call will act.
//!
//! The guard finds the directories around the object by going up from that descriptor. A lookup by path could find
//! another directory: the tree could exchange two directories, so that the guard judges the tree's own while the call
//! acts in the operator's.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, statat};
use rustix::io::Errno;

use crate::resolve::{DirEntry, HeadCache, Identity, Object, Target};

/// How many levels the guard goes up in one call, so that the path of that call stays below PATH_MAX.
const LEVELS: usize = 1000;
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);

/// An object, or a name in a directory.
#[derive(Clone, Copy, Debug)]
pub struct AnchoredPath<'a> {
    /// Its real path.
    pub path: &'a [u8],
    /// What is there, if anything is.
    pub object: Option<&'a Object>,
    /// The directory that has the name, if the call acts by a name.
    parent: Option<BorrowedFd<'a>>,
    /// What the call already knows about which directories around the name have a `HEAD`.
    heads: Option<&'a HeadCache>,
}

impl<'a> AnchoredPath<'a> {
    /// A name in a directory, with the object that has it.
    pub fn from_entry(entry: &'a DirEntry) -> AnchoredPath<'a> {
        let (object, parent) = (entry.object.as_ref(), Some(entry.parent.as_fd()));
        AnchoredPath { path: &entry.path, object, parent, heads: Some(&entry.heads) }
    }

    /// What a path led to.
    pub fn from_target(target: &'a Target) -> AnchoredPath<'a> {
        match target {
            Target::Entry(entry) => AnchoredPath::from_entry(entry),
            Target::Object { object, path, .. } => AnchoredPath::object(path, object),
        }
    }

    /// A free name in a directory.
    pub fn named(path: &'a [u8], parent: BorrowedFd<'a>) -> AnchoredPath<'a> {
        AnchoredPath { path, object: None, parent: Some(parent), heads: None }
    }

    /// An object that was found without the directory that it is in.
    pub fn object(path: &'a [u8], object: &'a Object) -> AnchoredPath<'a> {
        AnchoredPath { path, object: Some(object), parent: None, heads: None }
    }

    /// A path alone, for a question that belongs to no call.
    pub fn path(path: &'a [u8]) -> AnchoredPath<'a> {
        AnchoredPath { path, object: None, parent: None, heads: None }
    }

    /// The same place by another path.
    pub fn at<'b>(self, path: &'b [u8]) -> AnchoredPath<'b>
    where
        'a: 'b,
    {
        AnchoredPath { path, ..self }
    }

    /// The directory that has the object, if it is not known yet and can be found.
    pub fn parent_of_object(&self) -> Option<OwnedFd> {
        (self.parent.is_none() && self.object.is_some()).then(|| self.parent().ok()).flatten()
    }

    /// The same place, with the directory that has the name.
    pub fn in_directory<'b>(self, parent: Option<&'b OwnedFd>) -> AnchoredPath<'b>
    where
        'a: 'b,
    {
        AnchoredPath { parent: parent.map(AsFd::as_fd).or(self.parent), ..self }
    }

    /// The same name, without the object that has it now.
    pub fn without_object(self) -> AnchoredPath<'a> {
        AnchoredPath { object: None, ..self }
    }

    /// The last name of the path.
    pub fn name(&self) -> &'a [u8] {
        last_name(self.path)
    }

    /// Opens a directory that the path goes through, as O_PATH.
    ///
    /// # Errors
    /// The kernel's; ESTALE if something else has the path by now.
    pub fn above(&self, directory: &[u8]) -> Result<OwnedFd, Errno> {
        if self.parent.is_none() && self.object.is_none() {
            return open_directory(CWD, directory);
        }
        up(self.parent()?, self.levels(directory)?)
    }

    /// Looks at a name in a directory that the path goes through.
    ///
    /// # Errors
    /// As [`AnchoredPath::above`].
    pub fn stat_in(&self, directory: &[u8], name: &[u8]) -> Result<Stat, Errno> {
        let at = AtFlags::SYMLINK_NOFOLLOW;
        if self.parent.is_none() && self.object.is_none() {
            return statat(CWD, &*[directory, b"/", name].concat(), at);
        }
        let levels = self.levels(directory)?;
        match self.parent {
            // One call instead of three: for each file that is written, the guard asks every directory on the way.
            Some(parent) if levels <= LEVELS => {
                statat(parent, &*[&*b"../".repeat(levels), name].concat(), at)
            }
            _ => statat(self.above(directory)?, name, at),
        }
    }

    /// What this call knows about which directories around the name have a `HEAD`, and how many levels up `directory`
    /// is.
    pub(super) fn heads(&self, directory: &[u8]) -> Option<(&'a HeadCache, usize)> {
        self.heads.zip(self.levels(directory).ok())
    }

    /// Returns how many levels a directory is above the one that has the last name.
    fn levels(&self, directory: &[u8]) -> Result<usize, Errno> {
        let below = self.path.strip_prefix(directory).unwrap_or_default();
        names(below).count().checked_sub(1).ok_or(Errno::INVAL)
    }

    /// Opens the directory that the object is in, as O_PATH.
    ///
    /// # Errors
    /// As [`AnchoredPath::above`].
    pub fn parent(&self) -> Result<OwnedFd, Errno> {
        if let Some(parent) = self.parent {
            return parent.try_clone_to_owned().map_err(|_| Errno::MFILE);
        }
        let by_path = || open_directory(CWD, parent_of(self.path));
        match self.object {
            Some(object) if object.kind() == FileType::Directory => open_directory(object.fd.as_fd(), b".."),
            // No directory has an object that has lost its name.
            Some(object) if !object.has_name() => by_path(),
            // Only a directory knows where it is. For a file, the directory at the path must have this file by this name.
            Some(object) => {
                let parent = by_path()?;
                let there = statat(&parent, self.name(), AtFlags::SYMLINK_NOFOLLOW)?;
                let is_it = Identity::from_stat(&there) == Identity::from_stat(&object.stat);
                if is_it { Ok(parent) } else { Err(Errno::STALE) }
            }
            None => by_path(),
        }
    }
}

fn up(mut directory: OwnedFd, mut levels: usize) -> Result<OwnedFd, Errno> {
    while levels > 0 {
        let step = levels.min(LEVELS);
        directory = open_directory(directory.as_fd(), &b"../".repeat(step))?;
        levels -= step;
    }
    Ok(directory)
}

/// Opens a directory as O_PATH, if no name on the way is a link.
pub fn open_directory(start: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat2(start, path, flags, Mode::empty(), NO_LINKS)
}

/// The names in a path.
pub fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

/// The last name of a path.
pub fn last_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// The path of the directory that a path is in.
pub fn parent_of(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(0) | None => b"/",
        Some(at) => &path[..at],
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::*;

    fn inode(directory: Result<OwnedFd, Errno>) -> Result<u64, Errno> {
        Ok(rustix::fs::fstat(directory?)?.st_ino)
    }

    fn object(path: &Path) -> Object {
        Object::from_fd(rustix::fs::open(path, OFlags::PATH, Mode::empty()).unwrap()).unwrap()
    }

    #[test]
    fn what_is_above_is_found_from_the_descriptor() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let bytes = |path: &str| root.join(path).into_os_string().into_encoded_bytes();
        for path in ["a/x/y", "b/x/y"] {
            fs::create_dir_all(root.join(path)).unwrap();
            fs::write(root.join(path).join("file"), "").unwrap();
        }
        let numbers = ["a", "b"].map(|name| {
            fs::metadata(root.join(name)).map(|stat| std::os::unix::fs::MetadataExt::ino(&stat)).unwrap()
        });
        let parent = object(&root.join("a/x/y"));
        let file = object(&root.join("a/x/y/file"));
        let (path, top, dir) = (bytes("a/x/y/file"), bytes("a"), bytes("a/x/y"));
        let named = AnchoredPath::named(&path, parent.fd.as_fd());
        let is_at = |place: AnchoredPath<'_>, number: u64| inode(place.above(&top)) == Ok(number);
        assert!(is_at(named, numbers[0]) && is_at(AnchoredPath::object(&path, &file), numbers[0]));
        assert!(
            is_at(AnchoredPath::object(&dir, &parent), numbers[0])
                && is_at(AnchoredPath::path(&path), numbers[0])
        );
        assert_eq!(
            inode(named.above(root.as_os_str().as_bytes())),
            inode(AnchoredPath::path(&path).above(root.as_os_str().as_bytes()))
        );
        rustix::fs::renameat_with(CWD, &*top, CWD, &*bytes("b"), rustix::fs::RenameFlags::EXCHANGE).unwrap();
        assert!(is_at(named, numbers[0]) && is_at(AnchoredPath::object(&dir, &parent), numbers[0]));
        assert!(is_at(AnchoredPath::path(&path), numbers[1]));
        assert_eq!(inode(AnchoredPath::object(&path, &file).above(&top)), Err(Errno::STALE));
        assert_eq!(inode(named.above(&path)), Err(Errno::INVAL));
    }
}
