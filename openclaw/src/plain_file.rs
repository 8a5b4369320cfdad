//! Reads files that may have been replaced by a FIFO, a device or a directory.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

/// The largest file that is read, in bytes; any policy is smaller.
pub const MAX_BYTES: u64 = 16 << 20;

/// Returns the content of a regular file. A FIFO would block the thread that waits for changes forever, and a
/// device could fill the memory.
///
/// # Errors
/// The error of the failed system call, or a sentence if the file is not regular or is too large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_BYTES)
}

/// Does as [`read`], for a file of at most `most` bytes. A lease on the file is an error too: a program could
/// make the reader wait by it (fcntl(2)).
///
/// # Errors
/// The errors of [`read`].
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, most)
}

/// Does as [`read`], and follows no symbolic link, neither at the path nor on the way to it. A link that was made after the
/// path was found may lead to a file that somebody else may write.
///
/// # Errors
/// The errors of [`read`], and a sentence if a link is met.
pub fn read_without_links(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(file) => read_open(only_regular(file.into())?, MAX_BYTES),
        Err(Errno::LOOP) => {
            Err(io::Error::other("a symbolic link leads to it now, and only the next start follows that"))
        }
        Err(error) => Err(error.into()),
    }
}

fn read_open(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other("it is larger than any policy"));
    }
    Ok(bytes)
}

/// Opens a file to read, without waiting for a writer as a FIFO does.
///
/// # Errors
/// The errors of open(2), and an error if the file is not regular.
pub fn open(path: &Path) -> io::Result<File> {
    only_regular(OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?)
}

fn only_regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_a_plain_file_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("file"), "x").unwrap();
        assert_eq!(read(&path("file")).unwrap(), b"x");
        nix::unistd::mkfifo(&path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(read(&path("fifo")).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(directory.path()).unwrap_err().to_string().contains("not a regular file"));
        assert!(read(Path::new("/dev/zero")).is_err());
        fs::File::create(path("large")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(read(&path("large")).unwrap_err().to_string().contains("larger"));
        assert_eq!(read(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn no_link_is_followed_where_none_was() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name);
        fs::create_dir(path("d")).unwrap();
        fs::write(path("d/file"), "x").unwrap();
        std::os::unix::fs::symlink("d", path("to-d")).unwrap();
        std::os::unix::fs::symlink("d/file", path("link")).unwrap();
        std::os::unix::fs::symlink("none", path("broken")).unwrap();
        assert_eq!(read_without_links(&path("d/file")).unwrap(), b"x");
        for linked in ["to-d/file", "link", "broken"] {
            let error = read_without_links(&path(linked)).unwrap_err();
            assert!(error.to_string().contains("a symbolic link leads to it now"), "{linked}: {error}");
        }
        assert!(read_without_links(&path("d")).unwrap_err().to_string().contains("not a regular file"));
        assert_eq!(read_without_links(&path("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
