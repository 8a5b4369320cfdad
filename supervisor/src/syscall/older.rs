//! Calls that newer architectures do not have, because a call with more arguments does the same.

use rustix::io::Errno;

use super::{Request, attributes, namespace, open, rename, watched};
use crate::reply::HandlerResult;

/// As [`super::handle`], for these calls.
///
/// # Errors
/// As there.
pub(super) fn handle(request: &Request<'_, '_>) -> HandlerResult {
    let here = libc::AT_FDCWD;
    let int = |index| request.caller.int(index);
    let word = |index| request.caller.word(index);
    match request.caller.call().number {
        libc::SYS_open => open::openat(request, here, word(0), int(1), int(2)),
        libc::SYS_creat => {
            open::openat(request, here, word(0), libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, int(1))
        }
        libc::SYS_mkdir => namespace::mkdir(request, here, word(0), int(1)),
        libc::SYS_mknod => namespace::mknod(request, here, word(0), int(1), word(2)),
        libc::SYS_symlink => namespace::symlink(request, word(0), here, word(1)),
        libc::SYS_unlink => namespace::unlink(request, here, word(0), 0),
        libc::SYS_rmdir => namespace::unlink(request, here, word(0), libc::AT_REMOVEDIR),
        libc::SYS_rename => rename::rename(request, (here, word(0)), (here, word(1)), 0),
        libc::SYS_link => rename::link(request, (here, word(0)), (here, word(1)), 0),
        libc::SYS_chmod => attributes::chmod(request, here, word(0), int(1), 0),
        libc::SYS_chown => attributes::chown(request, here, word(0), (int(1), int(2)), 0),
        libc::SYS_lchown => {
            attributes::chown(request, here, word(0), (int(1), int(2)), libc::AT_SYMLINK_NOFOLLOW)
        }
        libc::SYS_utime => attributes::utime(request, word(0), word(1)),
        libc::SYS_utimes => attributes::utimes(request, here, word(0), word(1)),
        libc::SYS_futimesat => attributes::utimes(request, int(0), word(1), word(2)),
        libc::SYS_inotify_init => watched(),
        _ => Err(Errno::NOSYS),
    }
}
