//! Programs that would run with other privileges than their caller's, but do not under no_new_privs.

use std::fs::File;

use rustix::fs::Mode;

use crate::resolve::Object;

/// The privilege that a program loses, in words for the operator; `None` for most programs. (execve(2), prctl(2)
/// PR_SET_NO_NEW_PRIVS.)
pub fn lost(program: &Object, file: &File) -> Option<&'static str> {
    let mode = Mode::from_raw_mode(program.stat.st_mode);
    if mode.contains(Mode::SUID) && program.stat.st_uid != rustix::process::geteuid().as_raw() {
        return Some("its owner's rights (set-user-ID)");
    }
    if mode.contains(Mode::SGID | Mode::XGRP) && program.stat.st_gid != rustix::process::getegid().as_raw() {
        return Some("its group's rights (set-group-ID)");
    }
    // Only the length is read: no capability of the file takes effect, whatever the value is.
    let mut nothing: [u8; 0] = [];
    let has_capabilities =
        rustix::fs::fgetxattr(file, c"security.capability", &mut nothing).is_ok_and(|size| size > 0);
    has_capabilities.then_some("its capabilities")
}
