//! Moves what was judged, and looks at what has arrived. The kernel moves whatever has the name, and processes outside
//! the tree may give the name to something else between judgement and call.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, RenameFlags, fstat, statat};
use rustix::io::Errno;

use crate::resolve::{DirEntry, Identity, Object, real_path};

/// A judged move of `old` to the name of `new`.
pub struct Move<'e> {
    old: &'e DirEntry,
    new: &'e DirEntry,
    flags: RenameFlags,
}

impl<'e> Move<'e> {
    /// Closes what is replaced: NFS would rename an open file. What is moved stays open, so that the move can find out
    /// whether it has arrived.
    pub fn new(old: &'e DirEntry, new: &'e mut DirEntry, flags: RenameFlags) -> Move<'e> {
        if !flags.contains(RenameFlags::EXCHANGE) {
            new.object = None;
        }
        Move { old, new, flags }
    }

    /// The old path and the new one.
    pub fn paths(&self) -> [&'e [u8]; 2] {
        [&self.old.path, &self.new.path]
    }

    /// Performs the move.
    ///
    /// # Errors
    /// The kernel's; ENOENT if something else had the name, as if what was judged had been removed before.
    pub fn run(&self) -> Result<(), Errno> {
        let Move { old, new, flags } = *self;
        rustix::fs::renameat_with(&old.parent, old.written(), &new.parent, new.written(), flags)?;
        let is_other_right = !flags.contains(RenameFlags::EXCHANGE) || has_arrived(new.object.as_ref(), old);
        if has_arrived(old.object.as_ref(), new) && is_other_right { Ok(()) } else { self.undo() }
    }

    /// Moves back what was not judged. A directory goes back even if its name is taken by now. If it cannot be moved back,
    /// what is no directory is removed from the new name.
    fn undo(&self) -> Result<(), Errno> {
        let Move { old, new, flags } = *self;
        let back = |flags| rename(new, old, flags);
        if flags.contains(RenameFlags::EXCHANGE) {
            if back(flags) == Err(Errno::NOENT) {
                self.undo_half();
            }
            return Err(Errno::NOENT);
        }
        let undone = match back(RenameFlags::NOREPLACE) {
            // Some file systems have no flags (NFS). A directory replaces no file, and no directory with something in it.
            Err(Errno::INVAL | Errno::OPNOTSUPP) if is_directory(old) => back(RenameFlags::empty()),
            undone => undone,
        };
        if undone.is_err() {
            // This call removes no directory.
            let is_removed = rustix::fs::unlinkat(&new.parent, &new.name[..], AtFlags::empty()).is_ok();
            if !is_removed && is_directory(old) {
                let _ = back(RenameFlags::EXCHANGE);
            }
        }
        Err(Errno::NOENT)
    }

    /// Moves one side of an exchange back, because somebody has taken the other away meanwhile.
    fn undo_half(&self) {
        let Move { old, new, .. } = *self;
        let (from, to) = if has_arrived(old.object.as_ref(), new) { (old, new) } else { (new, old) };
        let _ = rename(from, to, RenameFlags::NOREPLACE);
    }
}

fn rename(from: &DirEntry, to: &DirEntry, flags: RenameFlags) -> Result<(), Errno> {
    rustix::fs::renameat_with(&from.parent, &from.name[..], &to.parent, &to.name[..], flags)
}

/// Whether what was judged is a directory.
fn is_directory(entry: &DirEntry) -> bool {
    entry.object.as_ref().is_some_and(|object| object.kind() == FileType::Directory)
}

/// Whether what has the name `to` now is what was judged: a link would have needed more checks, and what is in a directory was
/// judged, too. Of other kinds, the inode is not compared, because some file systems give another one to what they move
/// (overlayfs, FUSE). An object that another call has moved, removed or replaced since counts as arrived, too: what is there
/// now may be the operator's, and stays there. For a directory that takes two calls of others at this moment.
fn has_arrived(judged: Option<&Object>, to: &DirEntry) -> bool {
    let there = match statat(&to.parent, &to.name[..], AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => there,
        Err(error) => return error == Errno::NOENT,
    };
    let Some(judged) = judged else { return false };
    let is_of_kind = FileType::from_raw_mode(there.st_mode) == judged.kind();
    if is_of_kind && judged.kind() != FileType::Directory {
        return true;
    }
    // Where names differ in case only, the kernel may report another spelling.
    let is_same =
        || fstat(&judged.fd).is_ok_and(|judged| Identity::from_stat(&judged) == Identity::from_stat(&there));
    // This was its last name, if something has replaced it since.
    real_path(judged.fd.as_fd()).is_ok_and(|path| path == to.path) || is_same()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags, openat};

    use super::*;
    use crate::resolve::HeadCache;

    fn entry(directory: &Path, name: &str) -> DirEntry {
        let path = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let parent = openat(CWD, directory, path, Mode::empty()).unwrap();
        let object = openat(&parent, name, path, Mode::empty()).ok().map(|fd| Object::from_fd(fd).unwrap());
        DirEntry {
            parent,
            name: name.into(),
            slash: false,
            object,
            absent: Errno::NOENT,
            path: directory.join(name).as_os_str().as_bytes().to_vec(),
            heads: HeadCache::default(),
        }
    }

    /// Moves `own` to `new`, with what somebody else does between judgement and move.
    fn moved(between: impl Fn(&Path)) -> (tempfile::TempDir, Result<(), Errno>) {
        let ground = tempfile::tempdir().unwrap();
        let at = ground.path().canonicalize().unwrap();
        ["own", "theirs", "own/mine"].iter().for_each(|name| fs::create_dir(at.join(name)).unwrap());
        fs::write(at.join("theirs/file"), "").unwrap();
        let (old, mut new) = (entry(&at, "own"), entry(&at, "new"));
        let done = Move::new(&old, &mut new, RenameFlags::empty());
        between(&at);
        let done = done.run();
        (ground, done)
    }

    #[test]
    fn a_directory_that_was_judged_arrives() {
        let (ground, done) = moved(|_| ());
        assert_eq!(done, Ok(()));
        assert!(ground.path().join("new/mine").exists() && !ground.path().join("own").exists());
    }

    #[test]
    fn another_directory_goes_back() {
        let (ground, done) = moved(|at| {
            fs::rename(at.join("own"), at.join("elsewhere")).unwrap();
            fs::rename(at.join("theirs"), at.join("own")).unwrap();
        });
        assert_eq!(done, Err(Errno::NOENT));
        assert!(ground.path().join("own/file").exists() && !ground.path().join("new").exists());
        let (ground, done) = moved(|at| {
            fs::remove_dir_all(at.join("own")).unwrap();
            fs::rename(at.join("theirs"), at.join("own")).unwrap();
        });
        assert_eq!(done, Err(Errno::NOENT));
        assert!(ground.path().join("own/file").exists() && !ground.path().join("new").exists());
    }

    #[test]
    fn a_directory_goes_back_although_its_name_is_taken() {
        let ground = tempfile::tempdir().unwrap();
        let at = ground.path().canonicalize().unwrap();
        fs::create_dir(at.join("own")).unwrap();
        let (old, mut new) = (entry(&at, "own"), entry(&at, "new"));
        let judged = Move::new(&old, &mut new, RenameFlags::empty());
        fs::create_dir_all(at.join("new/theirs")).unwrap();
        assert_eq!(judged.undo(), Err(Errno::NOENT));
        assert!(at.join("own/theirs").exists() && !at.join("new/theirs").exists());
    }
}
