//! Which file a question is about, whatever has its name later.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_approvals::WhichFile;
use rustix::fs::{AtFlags, Stat, Statx, StatxFlags, fstat, lstat, stat, statx};
use rustix::io::Errno;

use crate::judge::anchored_path::AnchoredPath;
use crate::resolve::{Identity, Object};

/// The file at a place, and the directory that has its name, by the descriptors with which the call will act.
pub fn which_file(place: AnchoredPath<'_>) -> WhichFile {
    let directory = place.parent().ok().and_then(|parent| fstat(parent).ok());
    WhichFile {
        directory: directory.map(|stat| numbers(&stat)),
        file: place.object.map(|object| numbers(&object.stat)),
        born_ms: place.object.and_then(born_ms),
    }
}

/// Whether another file, or another directory, has the name by now. If nothing has the name any more, the file still
/// counts as the one that was asked about.
pub fn is_replaced(path: &[u8], asked: &WhichFile) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    let is_other = |found: Result<Stat, Errno>, asked: Option<(u64, u64)>| {
        found.is_ok_and(|stat| Some(numbers(&stat)) != asked)
    };
    let directory = path.parent().map_or(Err(Errno::NOENT), stat);
    asked.directory.is_some() && (is_other(directory, asked.directory) || is_other(lstat(path), asked.file))
}

fn numbers(stat: &Stat) -> (u64, u64) {
    let Identity { device, inode } = Identity::from_stat(stat);
    (device, inode)
}

fn born_ms(object: &Object) -> Option<u64> {
    born_ms_of(&statx(object.fd.as_fd(), c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?)
}

/// When a file was made, in milliseconds since 1970, if its file system says so.
pub fn born_ms_of(stat: &Statx) -> Option<u64> {
    let has_time = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
    let seconds = u64::try_from(stat.stx_btime.tv_sec).ok().filter(|_| has_time)?;
    Some(seconds.saturating_mul(1000).saturating_add(u64::from(stat.stx_btime.tv_nsec / 1_000_000)))
}
