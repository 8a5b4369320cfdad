//! Whether a path that the kernel gives leads to its object.
//!
//! After `umount -l` the tree may still have a directory or a descriptor of the mount. The kernel's path of what lies there
//! begins at the root of that mount: the mount point is missing, and the path means something else here. The same holds for
//! an object of another mount namespace. Most objects are on mounts that are attached here. For any other object, the
//! guard follows the path: it must lead back to the object.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::LazyLock;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;

use super::restrictions::mount_of;

/// The mounts of the supervisor's namespace. No other process may use the open file, because it would take the kernel's
/// mark away.
static MOUNTS: LazyLock<Mutex<Mounts>> = LazyLock::new(|| Mutex::new(Mounts::open()));

/// The mounts that were attached when the kernel was last asked.
#[derive(Debug, Default)]
struct Mounts {
    /// /proc/self/mountinfo, which the kernel marks when something is mounted or unmounted (proc_pid_mounts(5)). `None` if it
    /// cannot be read: then no mount counts as attached.
    table: Option<File>,
    attached: HashSet<u64>,
}

impl Mounts {
    fn open() -> Mounts {
        let mut mounts = Mounts { table: File::open("/proc/self/mountinfo").ok(), attached: HashSet::new() };
        mounts.read();
        mounts
    }

    /// Whether a mount is attached. The caller has asked for the path before: an unmount that changed the path has marked
    /// the table by now.
    fn has(&mut self, mount: u64) -> bool {
        if self.has_changed() {
            self.read();
        }
        self.attached.contains(&mount)
    }

    fn has_changed(&self) -> bool {
        let Some(table) = &self.table else { return false };
        let mut polled = [PollFd::new(table.as_fd(), PollFlags::POLLPRI)];
        match poll(&mut polled, PollTimeout::ZERO) {
            Ok(0) => false,
            // An interrupting signal counts as a change, too: it is cheap to look again.
            Ok(_) | Err(_) => true,
        }
    }

    fn read(&mut self) {
        let mut text = String::new();
        let read = self.table.as_mut().is_some_and(|table| {
            table.seek(SeekFrom::Start(0)).is_ok() && table.read_to_string(&mut text).is_ok()
        });
        self.attached = if read { mount_ids(&text) } else { HashSet::new() };
    }
}

/// The first field of each line.
fn mount_ids(table: &str) -> HashSet<u64> {
    table.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect()
}

/// Checks the path that the kernel has given for an object. What has no path, such as a pipe, is left as it is.
///
/// # Errors
/// EACCES if the path means something else here.
pub(super) fn check(path: &[u8], object: BorrowedFd<'_>) -> Result<(), Errno> {
    if path.first() != Some(&b'/') || MOUNTS.lock().has(mount_of(object)?) {
        return Ok(());
    }
    let is_there = is_memory(path, object) || leads_back(path, object);
    if is_there { Ok(()) } else { Err(Errno::ACCESS) }
}

/// Whether the object is a file of memfd_create(2), which is on no mount and whose path is only a label.
fn is_memory(path: &[u8], object: BorrowedFd<'_>) -> bool {
    path.starts_with(b"/memfd:") && rustix::fs::fstat(object).is_ok_and(|stat| stat.st_nlink == 0)
}

fn leads_back(path: &[u8], object: BorrowedFd<'_>) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let identity = |file: BorrowedFd<'_>| {
        let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::INO)?;
        Ok::<_, Errno>((stat.stx_dev_major, stat.stx_dev_minor, stat.stx_ino))
    };
    let there = rustix::fs::openat2(CWD, path, flags, Mode::empty(), no_links);
    let there = there.and_then(|there| identity(there.as_fd()));
    matches!((there, identity(object)), (Ok(there), Ok(here)) if there == here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mounts_are_the_first_fields() {
        let text = "21 1 8:1 / / rw - ext4 /dev/a rw\n35 21 0:3 / /a\\040b rw - tmpfs none rw\nx\n";
        assert_eq!(mount_ids(text), HashSet::from([21, 35]));
        let mut mounts = Mounts::open();
        let root = rustix::fs::open("/", OFlags::PATH, Mode::empty()).unwrap();
        assert!(mounts.has(mount_of(root.as_fd()).unwrap()));
        assert!(!mounts.has(u64::MAX) && !Mounts::default().has(mount_of(root.as_fd()).unwrap()));
    }

    #[test]
    fn a_path_leads_back_to_its_own_object_only() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("file", root.join("link")).unwrap();
        let open = |name: &str| rustix::fs::open(root.join(name), OFlags::PATH, Mode::empty()).unwrap();
        let path = |name: &str| root.join(name).into_os_string().into_encoded_bytes();
        assert!(leads_back(&path("file"), open("file").as_fd()));
        assert!(
            !leads_back(&path("file"), open(".").as_fd()) && !leads_back(&path("x"), open("file").as_fd())
        );
        assert!(!leads_back(&path("link"), open("file").as_fd()), "a link is no real path");
    }

    #[test]
    fn what_is_on_no_mount_here_has_no_path() {
        let (pipe, _other) = rustix::pipe::pipe().unwrap();
        assert_eq!(check(b"pipe:[1]", pipe.as_fd()), Ok(()));
        assert_eq!(check(b"/pipe:[1]", pipe.as_fd()), Err(Errno::ACCESS));
        let memory = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        assert_eq!(check(b"/memfd:x (deleted)", memory.as_fd()), Ok(()));
        assert_eq!(check(b"/x", memory.as_fd()), Err(Errno::ACCESS));
    }
}
