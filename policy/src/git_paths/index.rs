//! The index of a work tree (gitformat-index(5), versions 2 to 4).
//!
//! The parser is strict, because git must find the same paths: lengths that disagree, and tables that lead git to other
//! places in the file, are refused.

use super::{GitPathsError, check_path};
use crate::programs::name::basename;

/// Extensions that git skips or keeps without finding paths to write to in them. `EOIE` and `IEOT` say where entries and
/// extensions are, and are compared with where they were found.
const HARMLESS: [&[u8; 4]; 5] = [b"TREE", b"REUC", b"UNTR", b"FSMN", b"sdir"];

/// The type of a directory of a sparse index, whose path ends in a slash.
const DIRECTORY: u32 = 0o040_000;
/// The type of a symbolic link.
const LINK: u32 = 0o120_000;
/// The part of a mode that is the type.
const TYPE: u32 = 0o170_000;
/// The largest length of a path that the flags can say.
const MAX_LENGTH: usize = 0xfff;

/// Where entries begin, for the extension `IEOT`.
#[derive(Debug)]
struct EntryPlace {
    offset: usize,
    /// Whether the entry repeats nothing of the path before it.
    is_whole: bool,
}

/// Checks that every path lies in the work tree.
///
/// # Errors
/// What is wrong.
pub(super) fn check(bytes: &[u8], object_name: usize) -> Result<(), GitPathsError> {
    let content = bytes
        .len()
        .checked_sub(object_name)
        .and_then(|end| bytes.get(..end))
        .ok_or(GitPathsError::CutShort)?;
    let mut reader = IndexReader { bytes: content, at: 0 };
    if reader.bytes(4)? != b"DIRC" {
        return Err(GitPathsError::NotAnIndex);
    }
    let version = reader.number()?;
    if !matches!(version, 2..=4) {
        return Err(GitPathsError::UnknownVersion(version));
    }
    let count = reader.number()?;
    let mut path = Vec::new();
    let mut places = Vec::new();
    for _ in 0..count {
        places.push(entry(&mut reader, version, object_name, &mut path)?);
    }
    extensions(reader, &places, object_name)
}

/// Reads one entry. Before the call, `path` is that of the previous entry; afterwards, that of this one.
fn entry(
    reader: &mut IndexReader<'_>,
    version: u32,
    object_name: usize,
    path: &mut Vec<u8>,
) -> Result<EntryPlace, GitPathsError> {
    let offset = reader.at;
    // Times, device and inode number.
    reader.bytes(24)?;
    let mode = reader.number()?;
    // Owner, group and size, and the name of the object.
    reader.bytes(12 + object_name)?;
    let flags = reader.short()?;
    let is_extended = flags & 0x4000 != 0;
    if is_extended {
        if version < 3 {
            return Err(GitPathsError::UnknownFlags);
        }
        reader.bytes(2)?;
    }
    let mut is_whole = true;
    if version == 4 {
        let removed = reader.varint()?;
        let kept = path.len().checked_sub(removed).ok_or(GitPathsError::WrongLength)?;
        is_whole = kept == 0;
        path.truncate(kept);
    } else {
        path.clear();
    }
    path.extend(reader.until_nul()?);
    let length = usize::from(flags) & MAX_LENGTH;
    if length != path.len().min(MAX_LENGTH) {
        return Err(GitPathsError::WrongLength);
    }
    if version != 4 {
        // One NUL ends the path, and up to seven more follow: entries have a multiple of eight bytes.
        let rest = (reader.at - offset).next_multiple_of(8) - (reader.at - offset);
        if reader.bytes(rest)?.iter().any(|byte| *byte != 0) {
            return Err(GitPathsError::WrongLength);
        }
    }
    let is_directory = mode & TYPE == DIRECTORY;
    let named: &[u8] = path;
    check_path(if is_directory { named.strip_suffix(b"/").unwrap_or(named) } else { named })?;
    // git follows such a link when it looks for submodules (CVE-2018-11235).
    if mode & TYPE == LINK && basename(named).eq_ignore_ascii_case(b".gitmodules") {
        return Err(GitPathsError::LinkedModules);
    }
    Ok(EntryPlace { offset, is_whole })
}

/// Checks what follows the entries.
fn extensions(
    mut reader: IndexReader<'_>,
    places: &[EntryPlace],
    object_name: usize,
) -> Result<(), GitPathsError> {
    let end = reader.at;
    // git looks for `EOIE` at a fixed distance from the end, even if the data of another extension is there.
    let last = reader.bytes.len().checked_sub(8 + 4 + object_name);
    let is_told = last.and_then(|last| reader.bytes.get(last..last + 4)) == Some(b"EOIE");
    let mut is_over = false;
    while !reader.is_at_end() {
        let name = reader.bytes(4)?;
        let length = reader.number()?;
        let data = reader.bytes(usize::try_from(length).map_err(|_| GitPathsError::CutShort)?)?;
        let mut data = IndexReader { bytes: data, at: 0 };
        if is_over {
            return Err(GitPathsError::AfterTheEnd);
        }
        match name {
            b"EOIE" => {
                is_over = true;
                if usize::try_from(data.number()?) != Ok(end) || data.bytes(object_name)?.len() != object_name
                {
                    return Err(GitPathsError::EndsElsewhere);
                }
                if !data.is_at_end() {
                    return Err(GitPathsError::EndsElsewhere);
                }
            }
            b"IEOT" => blocks(data, places)?,
            b"link" => {
                return Err(GitPathsError::Split);
            }
            name if HARMLESS.iter().any(|known| known.as_slice() == name) => {}
            // git skips extensions that it does not know if their names begin with a capital letter.
            name if name[0].is_ascii_uppercase() => {}
            _ => return Err(GitPathsError::UnknownExtension),
        }
    }
    if is_told && !is_over { Err(GitPathsError::HiddenEnd) } else { Ok(()) }
}

/// Checks that the table of blocks, from which threads of git read, leads to the entries that were read here.
fn blocks(mut table: IndexReader<'_>, places: &[EntryPlace]) -> Result<(), GitPathsError> {
    table.number()?;
    let mut first = 0;
    while !table.is_at_end() {
        let offset = usize::try_from(table.number()?).map_err(|_| GitPathsError::EntriesElsewhere)?;
        let count = usize::try_from(table.number()?).map_err(|_| GitPathsError::EntriesElsewhere)?;
        let place = places.get(first).ok_or(GitPathsError::EntriesElsewhere)?;
        if place.offset != offset || !place.is_whole {
            return Err(GitPathsError::EntriesElsewhere);
        }
        first += count;
    }
    if first == places.len() { Ok(()) } else { Err(GitPathsError::EntriesElsewhere) }
}

/// Reads numbers in the order of the network.
struct IndexReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> IndexReader<'b> {
    fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn bytes(&mut self, length: usize) -> Result<&'b [u8], GitPathsError> {
        let end = self
            .at
            .checked_add(length)
            .filter(|end| *end <= self.bytes.len())
            .ok_or(GitPathsError::CutShort)?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, GitPathsError> {
        let bytes = self.bytes(4)?;
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    fn short(&mut self) -> Result<u16, GitPathsError> {
        let bytes = self.bytes(2)?;
        Ok(u16::from(bytes[0]) << 8 | u16::from(bytes[1]))
    }

    /// A number of variable length (git's varint.c).
    fn varint(&mut self) -> Result<usize, GitPathsError> {
        let mut number: usize = 0;
        loop {
            let byte = self.bytes(1)?[0];
            number = number.checked_add(usize::from(byte & 0x7f)).ok_or(GitPathsError::LargeNumber)?;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
            number = number
                .checked_add(1)
                .and_then(|number| number.checked_mul(128))
                .ok_or(GitPathsError::LargeNumber)?;
        }
    }

    /// The bytes up to a NUL, which is read, too.
    fn until_nul(&mut self) -> Result<&'b [u8], GitPathsError> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == 0).ok_or(GitPathsError::CutShort)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODE: u32 = 0o100_644;

    fn entry_of(path: &[u8], mode: u32, length: usize) -> Vec<u8> {
        let mut entry = vec![0; 24];
        entry.extend(mode.to_be_bytes());
        entry.extend([0; 32]);
        entry.extend(u16::try_from(length.min(MAX_LENGTH)).unwrap().to_be_bytes());
        entry.extend(path);
        let padded = (entry.len() + 1).next_multiple_of(8);
        entry.resize(padded, 0);
        entry
    }

    fn index_of(version: u32, entries: &[Vec<u8>], extensions: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
        let mut index = b"DIRC".to_vec();
        index.extend(version.to_be_bytes());
        index.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
        entries.iter().for_each(|entry| index.extend(entry));
        for (name, data) in extensions {
            index.extend(*name);
            index.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
            index.extend(data);
        }
        index.extend([0; 20]);
        index
    }

    fn plain(paths: &[&str]) -> Vec<Vec<u8>> {
        paths.iter().map(|path| entry_of(path.as_bytes(), MODE, path.len())).collect()
    }

    fn numbers(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    #[test]
    fn paths_outside_of_the_work_tree_are_refused() {
        let long = "a".repeat(5000);
        assert_eq!(check(&index_of(2, &plain(&[]), &[]), 20), Ok(()));
        assert_eq!(check(&index_of(2, &plain(&["a", "b/c", &long]), &[]), 20), Ok(()));
        for outside in ["../.bashrc", ".git/hooks/post-checkout", "a/.GIT/config", "/etc/passwd", "a//b", ""]
        {
            assert!(check(&index_of(2, &plain(&["a", outside]), &[]), 20).is_err(), "{outside}");
        }
        let sparse = entry_of(b"d/", DIRECTORY, 2);
        assert_eq!(check(&index_of(2, std::slice::from_ref(&sparse), &[(b"sdir", vec![])]), 20), Ok(()));
        assert!(check(&index_of(2, &[entry_of(b"d/", MODE, 2)], &[]), 20).is_err());
        assert!(check(&index_of(2, &[entry_of(b".gitmodules", LINK, 11)], &[]), 20).is_err());
        assert!(check(&index_of(2, &plain(&["a"]), &[]), 32).is_err(), "of the other format");
    }

    #[test]
    fn lengths_must_agree() {
        // git takes the length from the flags: it would read another path.
        for (path, length) in [(&b"a\0b"[..], 3), (b"abc", 2), (b"abc", 4), (b"abc", MAX_LENGTH)] {
            assert!(
                check(&index_of(2, &[entry_of(path, MODE, length)], &[]), 20).is_err(),
                "{path:?} {length}"
            );
        }
        let index = index_of(2, &plain(&["a", "b"]), &[]);
        for end in 0..index.len() - 1 {
            assert!(check(&index[..end], 20).is_err() || end == 0, "{end}");
        }
    }

    #[test]
    fn tables_that_lead_elsewhere_are_refused() {
        let entries = plain(&["a", "b"]);
        let second = 12 + u32::try_from(entries[0].len()).unwrap();
        let end = second + u32::try_from(entries[1].len()).unwrap();
        let with = |extensions: &[(&[u8; 4], Vec<u8>)]| check(&index_of(2, &entries, extensions), 20);
        let end_at = |offset: u32| [numbers(&[offset]), vec![0; 20]].concat();
        assert_eq!(with(&[(b"TREE", vec![1, 2]), (b"EOIE", end_at(end))]), Ok(()));
        assert!(with(&[(b"EOIE", end_at(end - 8))]).is_err());
        let hidden = [&b"EOIE"[..], &numbers(&[24, end + 8]), &[0; 20]].concat();
        assert!(with(&[(b"ABCD", hidden)]).is_err());
        assert!(with(&[(b"EOIE", end_at(end)), (b"TREE", vec![])]).is_err(), "git looks at the end only");
        assert_eq!(with(&[(b"IEOT", numbers(&[1, 12, 1, second, 1]))]), Ok(()));
        for blocks in [
            &[1, 12, 1, second + 8, 1][..],
            &[1, 12, 1],
            &[1, 12, 2, second, 1],
            &[1, 12, 3],
            &[1, second, 2],
        ] {
            assert!(with(&[(b"IEOT", numbers(blocks))]).is_err(), "{blocks:?}");
        }
        assert!(with(&[(b"link", vec![0; 20])]).is_err() && with(&[(b"abcd", vec![])]).is_err());
        assert_eq!(with(&[(b"ABCD", vec![])]), Ok(()));
    }

    #[test]
    fn paths_of_version_4_are_put_together() {
        let entry = |removed: u8, rest: &[u8], length: u16| {
            let mut entry = vec![0; 24];
            entry.extend(MODE.to_be_bytes());
            entry.extend([0; 32]);
            entry.extend(length.to_be_bytes());
            entry.push(removed);
            entry.extend(rest);
            entry.push(0);
            entry
        };
        let fine = [entry(0, b"dir/a", 5), entry(1, b"b", 5)];
        assert_eq!(check(&index_of(4, &fine, &[]), 20), Ok(()));
        // "a/" and then "..", or ".git" in two parts.
        assert!(check(&index_of(4, &[entry(0, b"a/.x", 4), entry(1, b"./c", 6)], &[]), 20).is_err());
        assert!(check(&index_of(4, &[entry(0, b".gi", 3), entry(0, b"t/x", 6)], &[]), 20).is_err());
        assert!(check(&index_of(4, &[entry(9, b"a", 1)], &[]), 20).is_err());
        // A thread that begins with this entry would not have the path before it.
        let second = 12 + u32::try_from(fine[0].len()).unwrap();
        assert!(check(&index_of(4, &fine, &[(b"IEOT", numbers(&[1, 12, 1, second, 1]))]), 20).is_err());
    }
}
