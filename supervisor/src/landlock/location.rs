//! Where an open object is now.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, fstat, openat2, readlink, statx};
use rustix::io::Errno;

use crate::resolve::Identity;

/// Where a granted object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// At this real path.
    At(Vec<u8>),
    /// Nowhere: it was removed, and no path leads to it.
    Gone,
    /// It has a name that is not known, for instance a second link to it.
    Unknown,
}

/// Asks the kernel where an object is (proc_pid_fd(5)), and checks the answer: the link may describe a path that
/// leads nowhere, such as that of a removed object.
pub fn locate(object: &OwnedFd, identity: Identity) -> Location {
    let link = format!("/proc/self/fd/{}", object.as_raw_fd());
    let Ok(path) = readlink(link, Vec::new()) else { return Location::Unknown };
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let there = openat2(CWD, &path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), no_links);
    if there.and_then(fstat).is_ok_and(|stat| Identity::from_stat(&stat) == identity) {
        return Location::At(path.into_bytes());
    }
    match statx(object, "", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC, StatxFlags::NLINK) {
        Ok(stat) if stat.stx_nlink == 0 => Location::Gone,
        // On NFS, a removed object can no longer be asked for.
        Err(Errno::STALE) => Location::Gone,
        _ => Location::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use rustix::fs::open;

    use super::*;

    fn held(path: &Path) -> (OwnedFd, Identity) {
        let object = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let identity = Identity::from_stat(&fstat(&object).unwrap());
        (object, identity)
    }

    #[test]
    fn an_object_is_found_wherever_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let at = |path: &Path| Location::At(path.as_os_str().as_bytes().to_vec());
        let [first, second, link, odd] =
            ["first", "second", "link", "odd (deleted)"].map(|name| root.join(name));
        for is_directory in [false, true] {
            let make =
                |path: &Path| if is_directory { std::fs::create_dir(path) } else { std::fs::write(path, "") };
            make(&first).unwrap();
            let (object, identity) = held(&first);
            assert_eq!(locate(&object, identity), at(&first));
            std::fs::rename(&first, &second).unwrap();
            make(&first).unwrap();
            assert_eq!(locate(&object, identity), at(&second));
            std::fs::rename(&second, &odd).unwrap();
            assert_eq!(locate(&object, identity), at(&odd));
            for path in [&first, &odd] {
                if is_directory { std::fs::remove_dir(path) } else { std::fs::remove_file(path) }.unwrap();
            }
            assert_eq!(locate(&object, identity), Location::Gone);
        }
        // The kernel names only the first of two links.
        std::fs::write(&first, "").unwrap();
        let (object, identity) = held(&first);
        std::fs::hard_link(&first, &link).unwrap();
        std::fs::remove_file(&first).unwrap();
        assert_eq!(locate(&object, identity), Location::Unknown);
    }
}
