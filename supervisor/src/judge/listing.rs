//! The names in a directory.

use std::os::fd::BorrowedFd;

use rustix::fs::{Dir, FileType};

/// A name in a directory, with its type.
pub type ListedName = (Vec<u8>, FileType);

/// The names in an open directory; `None` if it cannot be listed.
pub fn names(directory: BorrowedFd<'_>) -> Option<Vec<ListedName>> {
    names_if(directory, |_| true)
}

/// The names in an open directory that are `wanted`; `None` if it cannot be listed.
pub fn names_if(directory: BorrowedFd<'_>, wanted: impl Fn(&ListedName) -> bool) -> Option<Vec<ListedName>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory).ok()? {
        let entry = entry.ok()?;
        let named = (entry.file_name().to_bytes().to_vec(), entry.file_type());
        if !matches!(&*named.0, b"." | b"..") && wanted(&named) {
            names.push(named);
        }
    }
    Some(names)
}
