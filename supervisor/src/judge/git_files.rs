//! Files with the name `.git`, which say where the git directory of a work tree is (gitrepository-layout(5)).
//!
//! The tree may have made the directory in which the operator's git puts such a file: an empty directory for a work
//! tree or a submodule. Then the file is not the tree's. The guard decides by the path in the file, and by who made the
//! very file that is there: the tree may have given that name to a file before, which the operator's git then overwrote
//! or replaced.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, statat};
use rustix::io::Errno;

use super::anchored_path::AnchoredPath;
use super::made_directories::MadeDirectories;
use crate::resolve::{Identity, link_to};

/// How much the guard reads of such a file: a path, and git's text before it.
const MAX_FILE: u64 = 8 << 10;
/// How many files of the tree's are held open. Of further files, only those that lead to the tree's own git directory
/// count as the tree's.
const MAX_FILES: usize = 128;

/// Whether a file has the name `.git`.
pub fn is_git_file(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// The `.git` files that the tree has made. The guard holds them open with O_PATH, so that no other file gets their
/// inode numbers.
#[derive(Debug, Default)]
pub struct GitFiles(Mutex<Vec<(Identity, OwnedFd)>>);

impl GitFiles {
    /// Remembers the very file that the tree has just made with the name `.git`, or is about to give that name.
    pub fn record(&self, made: BorrowedFd<'_>) {
        let Ok(held) = rustix::fs::open(link_to(made), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
            return;
        };
        let Ok(stat) = rustix::fs::fstat(&held) else { return };
        let mut files = self.0.lock();
        // A removed file that is held open would keep its file system busy.
        files.retain(|(_, file)| rustix::fs::fstat(file).is_ok_and(|stat| stat.st_nlink > 0));
        let identity = Identity::from_stat(&stat);
        if files.len() < MAX_FILES && !files.iter().any(|(file, _)| *file == identity) {
            files.push((identity, held));
        }
    }

    fn contains(&self, file: Identity) -> bool {
        self.0.lock().iter().any(|(held, _)| *held == file)
    }
}

/// Whether the file at a place is a `.git` file of somebody else's. If it leads to a git directory that the tree has made,
/// it is the tree's, whoever wrote it. If it leads elsewhere, it is the tree's if the tree has made it and git has not
/// put it there. A file that cannot be read counts as somebody else's.
pub fn is_of_others(place: AnchoredPath<'_>, made: &MadeDirectories, own: &GitFiles) -> bool {
    if !is_git_file(place.name()) {
        return false;
    }
    let around = match place.parent() {
        Ok(around) => around,
        Err(error) => return !is_missing(error),
    };
    let (file, text) = match read(around.as_fd(), place.name()) {
        Ok(Some(read)) => read,
        Ok(None) => return false,
        Err(_) => return true,
    };
    let is_own = own.contains(file);
    // A file without a path is about to be written by whoever has made it.
    let Some(named) = text.strip_prefix(b"gitdir: ") else { return !is_own };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(&around, without_newline(named), flags, Mode::empty()) {
        Ok(directory) if made.contains_open(directory.as_fd()) => false,
        Ok(directory) => !is_own || names(directory.as_fd(), file),
        // The operator may have moved the repository away for a while.
        Err(error) if is_missing(error) => !is_own,
        Err(_) => true,
    }
}

/// Whether the git directory of a work tree says that this file leads to it, or may say so: its `gitdir` has the path
/// of that file. This is false for a copy of the file, for instance if the tree copies a whole work tree.
fn names(git_directory: BorrowedFd<'_>, file: Identity) -> bool {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut text = Vec::new();
    let back = rustix::fs::openat(git_directory, "gitdir", flags, Mode::empty()).map(File::from);
    if back.is_err() || back.is_ok_and(|back| back.take(MAX_FILE).read_to_end(&mut text).is_err()) {
        // The git directory of a submodule has no such file.
        return true;
    }
    let path = OsStr::from_bytes(without_newline(&text));
    match statat(git_directory, path, AtFlags::empty()) {
        Ok(stat) => Identity::from_stat(&stat) == file,
        Err(error) => !is_missing(error),
    }
}

fn is_missing(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR)
}

/// A path that git has written, without the end of its line.
fn without_newline(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    &text[..end]
}

/// A regular file and its content; `None` if no such file is there.
fn read(around: BorrowedFd<'_>, name: &[u8]) -> Result<Option<(Identity, Vec<u8>)>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = match rustix::fs::openat2(around, name, flags, Mode::empty(), no_links) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error),
    };
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(None);
    }
    let mut text = Vec::new();
    let read = File::from(file).take(MAX_FILE).read_to_end(&mut text);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(Some((Identity::from_stat(&stat), text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_and_who_made_it_decide() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let made = MadeDirectories::default();
        for name in ["own", "other", "wt"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        made.record_open(File::open(root.join("own")).unwrap().as_fd());
        let path = root.join("wt/.git");
        let own = GitFiles::default();
        let is_theirs = || is_of_others(AnchoredPath::path(path.as_os_str().as_bytes()), &made, &own);
        let write = |text: &str| {
            std::fs::write(&path, text).unwrap();
            is_theirs()
        };
        assert!(!is_theirs(), "it is not there");
        // The file is somebody else's, unless it leads to the tree's directory. That holds even if it leads nowhere, or
        // has no path yet.
        assert!(write("gitdir: ../other\n") && write(&format!("gitdir: {}/other", root.display())));
        assert!(write("gitdir: ../missing\n") && write("") && write("other\n"));
        assert!(!write("gitdir: ../own\n"));
        // The file is the tree's, unless git has put it there.
        own.record(File::open(&path).unwrap().as_fd());
        assert!(
            !write("gitdir: ../missing\n") && !write("") && !write("other\n") && !write("gitdir: ../own")
        );
        assert!(write("gitdir: ../other"), "of a submodule");
        std::fs::write(root.join("other/gitdir"), format!("{}\n", path.display())).unwrap();
        assert!(is_theirs(), "the directory names the file");
        std::fs::write(root.join("other/gitdir"), "../wt/.git\n").unwrap();
        assert!(is_theirs(), "by a relative path");
        std::fs::write(root.join("original"), "gitdir: other\n").unwrap();
        for elsewhere in ["original", "gone"] {
            std::fs::write(root.join("other/gitdir"), root.join(elsewhere).as_os_str().as_bytes()).unwrap();
            assert!(!is_theirs(), "a copy: {elsewhere}");
        }
        // Another file of that name is not the tree's, whatever its inode number is.
        std::fs::remove_file(&path).unwrap();
        assert!(write("gitdir: ../other") && write("gitdir: ../missing"));
        let other_name = root.join("wt/git");
        std::fs::write(&other_name, "gitdir: ../other\n").unwrap();
        assert!(!is_of_others(AnchoredPath::path(other_name.as_os_str().as_bytes()), &made, &own));
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(!is_theirs(), "a directory");
    }

    #[test]
    fn files_that_are_gone_make_room() {
        let directory = tempfile::tempdir().unwrap();
        let own = GitFiles::default();
        let make = |number: usize| {
            let path = directory.path().join(format!("{number}"));
            let file = File::create(&path).unwrap();
            own.record(file.as_fd());
            (path, Identity::from_stat(&rustix::fs::fstat(&file).unwrap()))
        };
        let (first, identity) = make(0);
        (1..MAX_FILES).for_each(|number| drop(make(number)));
        assert!(!own.contains(make(MAX_FILES).1) && own.contains(identity));
        std::fs::remove_file(first).unwrap();
        let (_, identity) = make(MAX_FILES + 1);
        assert!(own.contains(identity));
    }
}
