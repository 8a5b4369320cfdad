//! The names in a directory.

use std::os::fd::BorrowedFd;

use rustix::fs::{Dir, FileType};

/// The names in an open directory with their types; `None` if it cannot be listed.
pub fn names(directory: BorrowedFd<'_>) -> Option<Vec<(Vec<u8>, FileType)>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push((name.to_vec(), entry.file_type()));
        }
    }
    Some(names)
}
