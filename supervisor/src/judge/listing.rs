//! The names in a directory.

use std::os::fd::BorrowedFd;

use rustix::fs::{Dir, FileType};

/// A name in a directory, with its type.
pub type ListedName = (Vec<u8>, FileType);

/// The names in an open directory; `None` if there are more than `most`, or if it cannot be listed.
pub fn names_at_most(directory: BorrowedFd<'_>, most: usize) -> Option<Vec<ListedName>> {
    let names: Vec<ListedName> = listed(directory)?.take(most.saturating_add(1)).collect::<Option<_>>()?;
    (names.len() <= most).then_some(names)
}

/// The names in an open directory that are `wanted`; `None` if it cannot be listed.
pub fn names_if(directory: BorrowedFd<'_>, wanted: impl Fn(&ListedName) -> bool) -> Option<Vec<ListedName>> {
    listed(directory)?.filter(|named| named.as_ref().is_none_or(&wanted)).collect()
}

/// Lists an open directory; an item is `None` if the directory cannot be read.
fn listed(directory: BorrowedFd<'_>) -> Option<impl Iterator<Item = Option<ListedName>>> {
    let names = Dir::read_from(directory).ok()?.map(|entry| {
        let entry = entry.ok()?;
        Some((entry.file_name().to_bytes().to_vec(), entry.file_type()))
    });
    Some(names.filter(|named| named.as_ref().is_none_or(|(name, _)| !matches!(&**name, b"." | b".."))))
}
