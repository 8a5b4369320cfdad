//! Programs that the policy withholds by name are known by what they hold, too: `cp /usr/bin/curl ./x` makes no other
//! program of it.
//!
//! What is about to run from where the tree may write is compared with them, by size and then by SHA-256. Nothing of
//! this is done before a program starts from such a place, and nothing at all under a policy that names none. What the
//! named programs hold is kept until they change: the tree cannot write them. What the tree can write is hashed each
//! time, for a shared mapping changes a file without a new time of change.

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

/// So many programs are compared with, at most.
const MAX_FILES: usize = 1000;
/// A directory that was changed more recently may change again without a new time of change.
const SETTLE_INTERVAL: Duration = Duration::from_secs(2);

/// The programs that one policy withholds by name.
#[derive(Debug)]
pub struct ContentMatcher {
    policy: Arc<Policy>,
    withheld: OnceLock<Vec<WithheldProgram>>,
    known: Mutex<KnownFiles>,
    /// Whether [`ContentMatcher::new_warning`] has been told.
    told: AtomicBool,
}

/// What was found on the disk.
#[derive(Debug, Default)]
struct KnownFiles {
    listing: Option<Listing>,
    digests: HashMap<Identity, (ContentStamp, Digest)>,
}

/// The files that the patterns name.
#[derive(Clone, Debug)]
struct Listing {
    /// The directories with more than one of them, as they were; `None` for one that must be looked at again.
    directories: Vec<(Vec<u8>, Option<ContentStamp>)>,
    files: Arc<Vec<Vec<u8>>>,
    left_out: usize,
}

/// What is another for a file that was changed.
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

    /// Of a directory; none where it is not there, or may change again within one time.
    fn settled(directory: &[u8]) -> Option<ContentStamp> {
        let stat = rustix::fs::stat(directory).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs() as i64;
        (stat.st_ctime + (SETTLE_INTERVAL.as_secs() as i64) < now).then(|| ContentStamp::from_stat(&stat))
    }
}

/// What a file was a copy of when it was judged.
#[derive(Debug)]
pub struct ExpectedMatch {
    copies: Arc<ContentMatcher>,
    path: Vec<u8>,
    originals: Vec<Vec<u8>>,
}

impl ExpectedMatch {
    /// Whether the file behind this descriptor, which is the one that was judged, is still just that.
    pub fn holds(&self, fd: BorrowedFd<'_>) -> bool {
        self.copies.originals(&self.path, fd, &|| Ok(())).as_ref() == Ok(&self.originals)
    }
}

impl ContentMatcher {
    /// Of a policy. Nothing is looked at yet.
    pub fn new(policy: Arc<Policy>) -> ContentMatcher {
        ContentMatcher {
            policy,
            withheld: OnceLock::new(),
            known: Mutex::default(),
            told: AtomicBool::new(false),
        }
    }

    /// Whether a program at this real path is compared: the tree could have put it there, and there is something to
    /// compare it with. A name is made by who may write that name, whatever the directory around it grants.
    fn concerns(&self, path: &[u8]) -> bool {
        !self.withheld().is_empty() && self.policy.writable(path)
    }

    fn withheld(&self) -> &[WithheldProgram] {
        self.withheld.get_or_init(|| self.policy.withheld())
    }

    /// The real paths of the named programs that hold what this file holds, to be judged as them. `go_on` is asked between
    /// reads.
    ///
    /// # Errors
    /// The kernel's, when one of the files cannot be read to its end; that of `go_on`.
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

    /// What is to be found again before the program's first instruction; none where nothing is compared.
    pub fn expected(self: &Arc<Self>, path: &[u8], originals: &[Vec<u8>]) -> Option<ExpectedMatch> {
        let stand =
            || ExpectedMatch { copies: Arc::clone(self), path: path.to_vec(), originals: originals.to_vec() };
        self.concerns(path).then(stand)
    }

    /// What the operator should know: that there are more than are compared with.
    pub fn warning(&self) -> Option<String> {
        let left_out = if self.withheld().is_empty() { 0 } else { self.listing().left_out };
        (left_out > 0).then(|| {
            format!(
                "permissions.filesystem: of the programs that are withheld by name, {left_out} are not recognised where \
                 they are copied: at most {MAX_FILES} are"
            )
        })
    }

    /// The warning, once, when it has become known.
    pub fn new_warning(&self) -> Option<String> {
        let is_short = self.known.lock().listing.as_ref().is_some_and(|listing| listing.left_out > 0);
        if is_short && !self.told.swap(true, Ordering::Relaxed) { self.warning() } else { None }
    }

    fn files(&self) -> Arc<Vec<Vec<u8>>> {
        self.listing().files
    }

    /// The files, listed again where a directory has changed.
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
            // Before it is listed: what comes meanwhile is found the next time.
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
        // The same files each time, and what is named in full first.
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

    /// What a named program holds; none where it is gone, or cannot be read: what the guard may not read the tree has not
    /// copied.
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
        // Not under the lock: others start programs meanwhile.
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

/// A file that could start.
fn is_program(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_mode & 0o111 != 0
        && stat.st_size > 0
}

/// Whether a path leads through no link: a pattern has a form for the real path, too.
fn is_real(path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    path.canonicalize().is_ok_and(|real| real == path)
}
