//! Programs that the policy withholds by name are also recognised by their content: `cp /usr/bin/curl ./x` does not
//! make it another program.
//!
//! A program about to run from where the tree may write is compared with these programs, by size and then by SHA-256.
//! Nothing is compared until a program starts from such a place, and nothing at all if the policy withholds none by
//! name. The digests of the named programs are cached until the files change, since the tree cannot write them. What
//! the tree can write is hashed each time: a shared mapping can change a file without changing its timestamps.
//!
//! Why: docs/decisions.md, "Copies are hashed when they are about to start, never ahead."

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use guard_approvals::Digest;
use guard_policy::{Policy, WithheldProgram};
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::withheld_files::{ContentStamp, MAX_FILES, WithheldFiles, is_program};
use crate::resolve::{Identity, link_to};

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
    files: Option<WithheldFiles>,
    digests: HashMap<Identity, (ContentStamp, Digest)>,
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

    /// The real paths of the named programs with the same content as this file: the file is judged as each of them,
    /// too. `go_on` is called between reads.
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
        for named in self.with_files(WithheldFiles::files).iter() {
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
        let left_out = if self.withheld().is_empty() { 0 } else { self.with_files(WithheldFiles::left_out) };
        (left_out > 0).then(|| {
            format!(
                "permissions.filesystem: more than {MAX_FILES} programs are denied by name, and copies of {left_out} of \
                 them are not recognised"
            )
        })
    }

    /// Returns the warning once, when it first applies.
    pub fn new_warning(&self) -> Option<String> {
        let is_short = self.known.lock().files.as_ref().is_some_and(|files| files.left_out() > 0);
        if is_short && !self.has_warned.swap(true, Ordering::Relaxed) { self.warning() } else { None }
    }

    /// Calls `read` with the files, after directories that have changed are listed again.
    fn with_files<T>(&self, read: impl FnOnce(&WithheldFiles) -> T) -> T {
        let mut known = self.known.lock();
        let files = known.files.get_or_insert_with(|| WithheldFiles::new(&self.policy, self.withheld()));
        files.refresh(&self.policy);
        read(files)
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
        // The lock is free meanwhile, because other programs start.
        let digest = Digest::of_file(&file, go_on)?;
        self.known.lock().digests.insert(stamp.file, (stamp, digest));
        Ok(Some(digest))
    }
}

fn opened(path: &[u8]) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::open(path, flags, Mode::empty()).map(File::from)
}

/// Whether the path contains no link. Patterns also have a form for the real path.
fn is_real(path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    path.canonicalize().is_ok_and(|real| real == path)
}
