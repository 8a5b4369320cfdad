//! Lists a directory once instead of looking up each of many names. Most of the names that a policy protects are in few
//! directories, and do not exist.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use foldhash::{HashMap, HashSet, HashSetExt};
use rustix::fs::{Dir, Mode, OFlags, StatFs, fstatfs, open, statfs};

/// The number of lookups in a directory before it is listed.
const MIN_LOOKUPS: usize = 8;
/// A directory with more names is not listed: that would take longer than the lookups.
const MAX_NAMES: usize = 512;

/// File systems that list every name that a lookup finds: ext2 to ext4, xfs, btrfs, tmpfs, overlayfs (if its layers do) and
/// f2fs (statfs(2)), and bcachefs (its `bcachefs_format.h`). ZFS is none of them: it hides `.zfs`.
const LISTING_ALL: [u32; 7] =
    [0x0000_EF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0xF2F5_2010, 0xCA45_1A4E];

fn lists_all(system: &StatFs) -> bool {
    LISTING_ALL.iter().any(|listing| i64::from(*listing) == system.f_type)
}

/// Whether a directory's times show that a name came or went. On network file systems, and on file systems that
/// programs provide, the times need not show it.
pub fn shows_changes(directory: &[u8]) -> bool {
    statfs(directory).is_ok_and(|system| lists_all(&system))
}

/// What is at a name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Nothing.
    Missing,
    /// It exists and is not a link.
    Itself,
    /// A link with this text.
    Link(Vec<u8>),
}

/// What was at each name that a policy in force was compiled through, by directory.
#[derive(Debug, Default)]
pub struct EarlierNames(HashMap<Vec<u8>, HashMap<Vec<u8>, Name>>);

impl EarlierNames {
    /// Takes the names in these directories.
    pub fn new(directories: impl Iterator<Item = (Vec<u8>, HashMap<Vec<u8>, Name>)>) -> EarlierNames {
        EarlierNames(directories.collect())
    }

    /// Returns what was at a name; `None` if it was not looked up. In a directory that was not there, nothing was.
    fn read(&self, directory: &[u8], name: &[u8]) -> Option<&Name> {
        let was_there = || self.found(directory, name);
        was_there().or_else(|| self.was_missing(directory).then_some(&Name::Missing))
    }

    fn found(&self, directory: &[u8], name: &[u8]) -> Option<&Name> {
        self.0.get(directory)?.get(name)
    }

    /// Whether nothing was at this path, or at a directory on the way to it.
    fn was_missing(&self, mut path: &[u8]) -> bool {
        while let Some(at) = path.iter().rposition(|byte| *byte == b'/') {
            if let Some(found) = self.found(&path[..at], &path[at + 1..]) {
                return *found == Name::Missing;
            }
            path = &path[..at];
        }
        false
    }
}

/// The directories in which names were looked up. Each name stays what it was at its first lookup, or when its directory
/// was listed.
#[derive(Debug, Default)]
pub struct ListedDirectories {
    directories: HashMap<Vec<u8>, DirectoryNames>,
    shut: Option<Vec<u8>>,
    as_before: Option<Vec<u8>>,
    /// While a tree runs: what was found before.
    earlier: Option<Arc<EarlierNames>>,
}

/// The directory cannot be searched.
#[derive(Debug)]
pub struct Shut;

/// The names that were looked up in one directory.
#[derive(Debug, Default)]
pub struct DirectoryNames {
    looked_up: HashMap<Vec<u8>, Name>,
    listing: NamesListing,
    /// The names that the listing does not have, each with a slash at its end: a start asks for thousands, so none of them
    /// gets memory of its own.
    unlisted: Vec<u8>,
}

#[derive(Debug, Default)]
enum NamesListing {
    /// Not yet: few names were looked up.
    #[default]
    None,
    /// The names, in lower case.
    Read(HashSet<Vec<u8>>),
    /// A listing would not tell what a lookup finds.
    Useless,
}

impl ListedDirectories {
    /// Creates a list of no directories, while a tree runs. A name in a directory that cannot be searched is what it was
    /// before, if it was looked up: the tree may have taken the permission away. A link that is gone still leads where it led.
    pub fn after(earlier: Arc<EarlierNames>) -> ListedDirectories {
        ListedDirectories { earlier: Some(earlier), ..ListedDirectories::default() }
    }

    /// Returns what is at a name. The path of its directory has no links, and no slash at the end. `by_trees_link` says whether
    /// the tree may have made a link that has led to the directory: no rule follows such a link, so it does not matter where
    /// names in the directory lead.
    pub fn read(&mut self, directory: &[u8], name: &[u8], by_trees_link: impl FnOnce() -> bool) -> Name {
        if !self.directories.contains_key(directory) {
            self.directories.insert(directory.to_vec(), DirectoryNames::default());
        }
        let Some(names) = self.directories.get_mut(directory) else { return Name::Missing };
        let found = names.read(directory, name);
        let earlier = || self.earlier.as_ref().and_then(|earlier| earlier.read(directory, name));
        let counts = match &found {
            Ok(Name::Missing) => earlier().filter(|earlier| matches!(earlier, Name::Link(_))),
            Ok(_) => None,
            Err(Shut) => earlier(),
        };
        if found.is_err() && is_of_user(directory) {
            let is_known = counts.is_some() || by_trees_link();
            let shut = if is_known { &mut self.as_before } else { &mut self.shut };
            shut.get_or_insert_with(|| directory.to_vec());
        }
        match counts {
            Some(counts) => names.retain(name, counts.clone()),
            None => found.unwrap_or(Name::Missing),
        }
    }

    /// Returns the first directory of this user's in which a name could not be looked up for want of permission, and was not
    /// looked up before. A guarded program may have taken the permission away, and give it back later.
    pub fn shut(&self) -> Option<&[u8]> {
        self.shut.as_deref()
    }

    /// Returns the first directory of this user's that cannot be searched, and of which a name is what it was before.
    pub fn as_before(&self) -> Option<&[u8]> {
        self.as_before.as_deref()
    }

    /// Returns each directory in which a name was looked up, with the names and what they were.
    pub fn into_names(self) -> impl Iterator<Item = (Vec<u8>, HashMap<Vec<u8>, Name>)> {
        self.directories.into_iter().map(|(path, names)| (path, names.into_names()))
    }
}

impl DirectoryNames {
    /// Returns what is at a name of this directory. Always call it with the same directory.
    ///
    /// # Errors
    /// If the directory cannot be searched.
    pub fn read(&mut self, path: &[u8], name: &[u8]) -> Result<Name, Shut> {
        if let Some(found) = self.looked_up.get(name) {
            return Ok(found.clone());
        }
        if matches!(self.listing, NamesListing::None) && self.looked_up.len() >= MIN_LOOKUPS {
            self.listing = list(path).map_or(NamesListing::Useless, NamesListing::Read);
        }
        if let NamesListing::Read(names) = &self.listing
            && name.is_ascii()
            && !names.contains(&*name.to_ascii_lowercase())
        {
            self.unlisted.extend_from_slice(name);
            self.unlisted.push(b'/');
            return Ok(Name::Missing);
        }
        let found = looked_up(&[path, name].join(&b'/'))?;
        self.looked_up.insert(name.to_vec(), found.clone());
        Ok(found)
    }

    /// Has a name count as this from now on.
    fn retain(&mut self, name: &[u8], counts: Name) -> Name {
        self.looked_up.insert(name.to_vec(), counts.clone());
        counts
    }

    fn into_names(self) -> HashMap<Vec<u8>, Name> {
        let mut names = self.looked_up;
        for name in self.unlisted.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            names.entry(name.to_vec()).or_insert(Name::Missing);
        }
        names
    }
}

/// Returns the names in a directory, in lower case, because a directory may ignore case. `None` if the directory may
/// hold a name that the listing does not tell.
fn list(directory: &[u8]) -> Option<HashSet<Vec<u8>>> {
    // What is not a directory, for instance a FIFO, must not be opened.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = if directory.is_empty() { b"/" } else { directory };
    let file = open(Path::new(OsStr::from_bytes(path)), flags, Mode::empty()).ok()?;
    if !lists_all(&fstatfs(&file).ok()?) {
        return None;
    }
    let mut names = HashSet::new();
    for entry in Dir::new(file).ok()? {
        let name = entry.ok()?.file_name().to_bytes().to_ascii_lowercase();
        // Where case is ignored, a name that is not ASCII may be a spelling of one that is: the sign of kelvin is a `k`.
        if !name.is_ascii() || names.len() == MAX_NAMES {
            return None;
        }
        names.insert(name);
    }
    Some(names)
}

fn looked_up(entry: &[u8]) -> Result<Name, Shut> {
    let path = Path::new(OsStr::from_bytes(entry));
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Shut),
        Err(_) => Ok(Name::Missing),
        Ok(meta) if meta.is_symlink() => Ok(std::fs::read_link(path)
            .map_or(Name::Missing, |target| Name::Link(target.into_os_string().into_vec()))),
        Ok(_) => Ok(Name::Itself),
    }
}

/// Whether a directory belongs to this user, who can change its mode.
fn is_of_user(directory: &[u8]) -> bool {
    let path = if directory.is_empty() { b"/" } else { directory };
    let user = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(OsStr::from_bytes(path)).is_ok_and(|meta| meta.uid() == user)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Looks so many names up that the directory is listed, if it can be.
    fn directory_of(root: &Path) -> ListedDirectories {
        let mut listed = ListedDirectories::default();
        for number in 0..=MIN_LOOKUPS {
            let name = number.to_string();
            assert_eq!(listed.read(root.as_os_str().as_bytes(), name.as_bytes(), || false), Name::Missing);
        }
        listed
    }

    fn is_listed(listed: &ListedDirectories, root: &Path) -> bool {
        matches!(listed.directories[root.as_os_str().as_bytes()].listing, NamesListing::Read(_))
    }

    #[test]
    fn a_listed_directory_says_what_a_lookup_finds() {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let root = directory.path();
        fs::write(root.join("File"), "").unwrap();
        symlink("File", root.join("link")).unwrap();
        let mut listed = directory_of(root);
        assert!(is_listed(&listed, root));
        let mut read = |name: &str| listed.read(root.as_os_str().as_bytes(), name.as_bytes(), || false);
        assert_eq!(read("File"), Name::Itself);
        // Another spelling is looked up, because the directory may ignore case.
        assert_eq!(read("file"), Name::Missing);
        assert_eq!(read("link"), Name::Link(b"File".to_vec()));
        assert_eq!(read("none"), Name::Missing);
        // The name stays what it was when the directory was listed.
        fs::write(root.join("none"), "").unwrap();
        assert_eq!(read("none"), Name::Missing);
    }

    #[test]
    fn below_what_was_missing_nothing_was() {
        let names = |names: &[(&str, Name)]| -> HashMap<Vec<u8>, Name> {
            names.iter().map(|(name, found)| (name.as_bytes().to_vec(), found.clone())).collect()
        };
        let home = names(&[("none", Name::Missing), ("there", Name::Itself)]);
        let there = names(&[("link", Name::Link(b"x".to_vec()))]);
        let earlier = EarlierNames::new([(b"/h".to_vec(), home), (b"/h/there".to_vec(), there)].into_iter());
        assert_eq!(earlier.read(b"/h/there", b"link"), Some(&Name::Link(b"x".to_vec())));
        for (directory, found) in [
            ("/h/none", Some(&Name::Missing)),
            ("/h/none/deep/er", Some(&Name::Missing)),
            ("/h/there", None),
            ("/h/there/deep", None),
            ("/h/other", None),
            ("/elsewhere", None),
        ] {
            assert_eq!(earlier.read(directory.as_bytes(), b"name"), found, "{directory}");
        }
    }

    #[test]
    fn a_directory_that_might_hide_a_name_is_not_listed() {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        // The sign of kelvin is a spelling of `k` where case is ignored.
        fs::write(directory.path().join("\u{212a}"), "").unwrap();
        assert!(!is_listed(&directory_of(directory.path()), directory.path()));
        let full = tempfile::tempdir_in("/dev/shm").unwrap();
        for number in 0..=MAX_NAMES {
            fs::write(full.path().join(format!("{number}x")), "").unwrap();
        }
        assert!(!is_listed(&directory_of(full.path()), full.path()));
        // The listing of `/proc` need not have all names.
        assert!(!is_listed(&directory_of(Path::new("/proc/self")), Path::new("/proc/self")));
    }
}
