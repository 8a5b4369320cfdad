//! Set-user-ID and set-group-ID bits: the tree gives them to no file.
//!
//! A program with such a bit runs with its owner's rights for everybody who starts it outside the guard. The bits are
//! taken off the mode, and the call succeeds with the rest: chmod(2) itself clears S_ISGID that way where the caller is
//! not in the file's group. Bits that the file has already are taken off, too: between a look at the file and the
//! change, the tree could write the file, which clears them, and the change would give them back to other contents.
//!
//! Why: docs/decisions.md, "Set-user-ID and set-group-ID bits are taken off the mode, and the call succeeds."

use rustix::fs::{FileType, Mode};

use super::Request;

/// Both bits. On a directory, S_ISGID only chooses the group of new files in it. Only a regular file can be started, so
/// the bits do no harm on any other.
const SET_ID: Mode = Mode::SUID.union(Mode::SGID);

/// Whether a file made with this mode would have one of the bits.
pub fn has_any(mode: Mode) -> bool {
    mode.intersects(SET_ID)
}

/// The mode that the file of this kind at the real path `path` gets. The guard reports the bits that it removes.
pub fn granted(request: &Request<'_, '_>, path: &[u8], kind: FileType, mode: Mode) -> Mode {
    if kind != FileType::RegularFile || !has_any(mode) || request.guard.lets_set_id(request.caller, path) {
        return mode;
    }
    mode - SET_ID
}
