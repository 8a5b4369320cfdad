//! The verdict on a file of the disk: by its path, and by its size if it is to be read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::{Access, Outcome, Policy, Request, Verdict, decide};

/// The verdict on an access to the file at a real path. A file that is not there, or that cannot be looked at, is judged by
/// its path alone.
pub fn verdict<'p>(policy: &'p Policy, path: &[u8], access: Access) -> Verdict<'p> {
    let by_path = decide(policy, &Request::File { path, access });
    if by_path.outcome == Outcome::Deny || !access.contains(Access::READ) {
        return by_path;
    }
    let metadata = Path::new(OsStr::from_bytes(path)).symlink_metadata();
    let Some(file) = metadata.ok().filter(|metadata| metadata.is_file()) else { return by_path };
    let by_size = decide(policy, &Request::Sized { path, size: file.len() });
    if by_size.outcome == Outcome::Deny { by_size } else { by_path }
}
