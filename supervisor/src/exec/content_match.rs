//! Programs that the policy withholds by name are also recognised by their content: `cp /usr/bin/curl ./x` does not
//! make it another program.
//!
//! A program about to run from where the tree may write is compared with them, by size and then by SHA-256. Nothing is
//! compared before a program starts from such a place, or if the policy withholds none by name. The digests of the
//! named programs are cached until the files change, since the tree cannot write them. What the tree can write is
//! hashed each time: a shared mapping can change a file without changing its timestamps.
//!
//! Why: docs/decisions.md, "Copies are hashed when they are about to start, never ahead."

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use guard_approvals::Digest;
use guard_policy::{Policy, WithheldProgram};
use parking_lot::Mutex;
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::resolve::{Identity, link_to};

/// The maximum number of programs to compare with.
const MAX_FILES: usize = 1000;
/// A directory that changed more recently than this may change again without a new timestamp.
const SETTLE_INTERVAL: Duration = Duration::from_secs(2);

/// The programs that one policy withholds by name.
#[derive(Debug)]
pub struct ContentMatcher {
    policy: Arc<Policy>,
    withheld: OnceLock<Vec<WithheldProgram>>,
    known: Mutex<KnownFiles>,
    /// Whether [`ContentMatcher::new_warning`] has returned its warning.
    has_warned: AtomicBool,
}

/// Cached results of scanning the disk.
#[derive(Debug, Default)]
struct KnownFiles {
    listing: Option<Listing>,
    digests: HashMap<Identity, (ContentStamp, Digest)>,
}

/// The files that the patterns name.
#[derive(Clone, Debug)]
struct Listing {
    /// The directories that contain more than one of them, each with its stamp; `None` if it must be listed again.
    directories: Vec<(Vec<u8>, Option<ContentStamp>)>,
    files: Arc<Vec<Vec<u8>>>,
    left_out: usize,
}

/// The fields of a stat that change when the file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContentStamp {
    file: Identity,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl ContentStamp {
    fn from_stat(stat: &Stat) -> ContentStamp {
        ContentStamp {
            file: Identity::from_stat(stat),
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }

    /// The stamp of a directory; `None` if it does not exist, or may change again within the same timestamp.
    fn settled(directory: &[u8]) -> Option<ContentStamp> {
        let stat = rustix::fs::stat(directory).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs() as i64;
        (stat.st_ctime + (SETTLE_INTERVAL.as_secs() as i64) < now).then(|| ContentStamp::from_stat(&stat))
    }
}

/// The programs that a file was a copy of when it was judged.
#[derive(Debug)]
pub struct ExpectedMatch {
    copies: Arc<ContentMatcher>,
    path: Vec<u8>,
    originals: Vec<Vec<u8>>,
}

impl ExpectedMatch {
    /// Whether the file behind this descriptor, which was judged, still has the same originals.
    pub fn holds(&self, fd: BorrowedFd<'_>) -> bool {
        self.copies.originals(&self.path, fd, &|| Ok(())).as_ref() == Ok(&self.originals)
    }
}

impl ContentMatcher {
    /// Creates a matcher for a policy. Does not read any file yet.
    pub fn new(policy: Arc<Policy>) -> ContentMatcher {
        ContentMatcher {
            policy,
            withheld: OnceLock::new(),
            known: Mutex::default(),
            has_warned: AtomicBool::new(false),
        }
    }

    /// Whether a program at this real path is compared: the tree could have put it there, and there is something to
    /// compare it with. The right to write the name itself counts, whatever the directory around it grants.
    fn concerns(&self, path: &[u8]) -> bool {
        !self.withheld().is_empty() && self.policy.writable(path)
    }

    fn withheld(&self) -> &[WithheldProgram] {
        self.withheld.get_or_init(|| self.policy.withheld())
    }

    /// The real paths of the named programs with the same content as this file: the file is judged as them, too.
    /// `go_on` is called between reads.
    ///
    /// # Errors
    /// The kernel's, if one of the files cannot be read to its end; the error of `go_on`.
    pub fn originals(
        &self,
        path: &[u8],
        fd: BorrowedFd<'_>,
        go_on: &dyn Fn() -> Result<(), Errno>,
    ) -> Result<Vec<Vec<u8>>, Errno> {
        let mut found = Vec::new();
        if !self.concerns(path) {
            return Ok(found);
        }
        let stat = rustix::fs::fstat(fd)?;
        let mut own = None;
        for named in self.files().iter() {
            let Ok(there) = rustix::fs::lstat(&named[..]) else { continue };
            if there.st_size != stat.st_size || !is_program(&there) || !is_real(named) {
                continue;
            }
            if Identity::from_stat(&there) == Identity::from_stat(&stat) {
                found.push(named.clone());
                continue;
            }
            let Some(digest) = self.digest(named, go_on)? else { continue };
            let own = match own {
                Some(own) => own,
                None => *own.insert(Digest::of_file(&opened(link_to(fd).as_bytes())?, go_on)?),
            };
            if own == digest {
                found.push(named.clone());
            }
        }
        Ok(found)
    }

    /// The originals to find again before the program's first instruction; `None` if nothing is compared.
    pub fn expected(self: &Arc<Self>, path: &[u8], originals: &[Vec<u8>]) -> Option<ExpectedMatch> {
        let compare =
            || ExpectedMatch { copies: Arc::clone(self), path: path.to_vec(), originals: originals.to_vec() };
        self.concerns(path).then(compare)
    }

    /// A warning if there are more programs than are compared.
    pub fn warning(&self) -> Option<String> {
        let left_out = if self.withheld().is_empty() { 0 } else { self.listing().left_out };
        (left_out > 0).then(|| {
            format!(
                "permissions.filesystem: more than {MAX_FILES} programs are denied by name, and copies of {left_out} of \
                 them are not recognised"
            )
        })
    }

    /// Returns the warning once, when it first applies.
    pub fn new_warning(&self) -> Option<String> {
        let is_short = self.known.lock().listing.as_ref().is_some_and(|listing| listing.left_out > 0);
        if is_short && !self.has_warned.swap(true, Ordering::Relaxed) { self.warning() } else { None }
    }

    fn files(&self) -> Arc<Vec<Vec<u8>>> {
        self.listing().files
    }

    /// The list of files, refreshed if a directory has changed.
    fn listing(&self) -> Listing {
        if let Some(listing) = &self.known.lock().listing
            && listing
                .directories
                .iter()
                .all(|(path, stamp)| stamp.is_some() && ContentStamp::settled(path) == *stamp)
        {
            return listing.clone();
        }
        let listing = self.list();
        self.known.lock().listing = Some(listing.clone());
        listing
    }

    fn list(&self) -> Listing {
        let mut files: Vec<Vec<u8>> = Vec::new();
        let mut directories = Vec::new();
        let globs = self.withheld().iter().filter(|pattern| pattern.file().is_none());
        for directory in distinct(globs.map(WithheldProgram::directory)) {
            let directory = if directory.is_empty() { b"/" } else { directory };
            // Stamp it before it is listed, so that a later change is noticed the next time.
            directories.push((directory.to_vec(), ContentStamp::settled(directory)));
            let Ok(entries) = std::fs::read_dir(OsStr::from_bytes(directory)) else { continue };
            for path in entries.flatten().map(|entry| entry.path().into_os_string().into_vec()) {
                let is_named = || self.withheld().iter().any(|pattern| pattern.names(&path));
                if is_named()
                    && self.policy.withholds(&path)
                    && rustix::fs::lstat(&path[..]).is_ok_and(|stat| is_program(&stat))
                {
                    files.push(path);
                }
            }
        }
        // A stable order, with fully named files first.
        files.sort();
        let literal = self.withheld().iter().filter_map(WithheldProgram::file);
        let literal = distinct(literal.filter(|path| self.policy.withholds(path)));
        let mut all: Vec<Vec<u8>> = literal.into_iter().map(<[u8]>::to_vec).collect();
        files.retain(|path| !all.contains(path));
        all.append(&mut files);
        let left_out = all.len().saturating_sub(MAX_FILES);
        all.truncate(MAX_FILES);
        Listing { directories, files: Arc::new(all), left_out }
    }

    /// The digest of a named program. Returns `None` if it is gone or cannot be read: the tree cannot have copied what
    /// the guard may not read.
    fn digest(&self, path: &[u8], go_on: &dyn Fn() -> Result<(), Errno>) -> Result<Option<Digest>, Errno> {
        let file = match opened(path) {
            Err(Errno::NOENT | Errno::ACCESS | Errno::PERM | Errno::LOOP) => return Ok(None),
            opened => opened?,
        };
        let stamp = ContentStamp::from_stat(&rustix::fs::fstat(&file)?);
        if let Some((_, digest)) =
            self.known.lock().digests.get(&stamp.file).filter(|(known, _)| *known == stamp)
        {
            return Ok(Some(*digest));
        }
        // Not under the lock: other programs start meanwhile.
        let digest = Digest::of_file(&file, go_on)?;
        self.known.lock().digests.insert(stamp.file, (stamp, digest));
        Ok(Some(digest))
    }
}

fn distinct<'p>(paths: impl Iterator<Item = &'p [u8]>) -> Vec<&'p [u8]> {
    let mut paths: Vec<_> = paths.collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

fn opened(path: &[u8]) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::open(path, flags, Mode::empty()).map(File::from)
}

/// Whether this file could start.
fn is_program(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_mode & 0o111 != 0
        && stat.st_size > 0
}

/// Whether the path contains no link. Patterns also have a form for the real path.
fn is_real(path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    path.canonicalize().is_ok_and(|real| real == path)
}
