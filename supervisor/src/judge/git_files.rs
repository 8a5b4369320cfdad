//! Files with the name `.git`, which say where the git directory of a work tree is (gitrepository-layout(5)).
//!
//! The tree may have made the directory in which the operator's git puts such a file: an empty directory for a work tree
//! or a submodule. Then the file is not the tree's. The tree's own such files are remembered like directories.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::anchored_path::AnchoredPath;
use super::made_directories::MadeDirectories;

/// What is read of such a file: a path, and what git writes before it.
const MAX_FILE: u64 = 8 << 10;

/// Whether a file has this name.
pub fn is_git_file(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// Whether the file at a place is a `.git` file that the tree has not made and that leads to a git directory which the
/// tree has not made. A file that cannot be read counts as one.
pub fn leads_to_others(place: AnchoredPath<'_>, made: &MadeDirectories) -> bool {
    if !is_git_file(place.name()) {
        return false;
    }
    let around = match place.parent() {
        Ok(around) => around,
        Err(error) => return !matches!(error, Errno::NOENT | Errno::NOTDIR),
    };
    let text = match read(around.as_fd(), place.name(), made) {
        Ok(Some(text)) => text,
        Ok(None) => return false,
        Err(_) => return true,
    };
    let Some(named) = text.strip_prefix(b"gitdir: ") else { return false };
    let end = named.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat(&around, &named[..end], flags, Mode::empty()) {
        Ok(directory) => !made.contains_open(directory.as_fd()),
        Err(error) => !matches!(error, Errno::NOENT | Errno::NOTDIR),
    }
}

/// The content of a regular file that the tree has not made; `None` if no such file is there.
fn read(around: BorrowedFd<'_>, name: &[u8], made: &MadeDirectories) -> Result<Option<Vec<u8>>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = match rustix::fs::openat2(around, name, flags, Mode::empty(), no_links) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error),
    };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if kind != FileType::RegularFile || made.contains_open(file.as_fd()) {
        return Ok(None);
    }
    let mut text = Vec::new();
    let read = File::from(file).take(MAX_FILE).read_to_end(&mut text);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_file_leads_to_others_unless_the_tree_made_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let made = MadeDirectories::default();
        for name in ["own", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        made.record(rustix::fs::open(&root, OFlags::PATH, Mode::empty()).unwrap().as_fd(), b"own");
        let file = root.join(".git");
        let leads = |text: &str| {
            std::fs::write(&file, text).unwrap();
            leads_to_others(AnchoredPath::path(file.as_os_str().as_bytes()), &made)
        };
        assert!(leads("gitdir: other\n") && leads(&format!("gitdir: {}/other", root.display())));
        assert!(!leads("gitdir: own\n") && !leads("gitdir: missing\n") && !leads("") && !leads("other\n"));
        leads("gitdir: other");
        made.record_open(File::open(&file).unwrap().as_fd());
        assert!(!leads("gitdir: other"), "the tree made the file");
        std::fs::write(root.join("git"), "gitdir: other\n").unwrap();
        assert!(
            !leads_to_others(AnchoredPath::path(root.join("git").as_os_str().as_bytes()), &made),
            "another name"
        );
        assert!(
            !leads_to_others(AnchoredPath::path(root.join("own/.git").as_os_str().as_bytes()), &made),
            "it is not there"
        );
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(!leads_to_others(AnchoredPath::path(file.as_os_str().as_bytes()), &made), "a directory");
    }
}
