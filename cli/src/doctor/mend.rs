//! `doctor --fix`: closes this user's own files to others, where doctor would say `chmod`.
//!
//! It changes only modes, and only takes bits away. Doctor's other proposals change what programs may do, or
//! concern files of somebody else.

use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::finding::Findings;
use super::owners::word;

/// The bits of a mode that give others access, and should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExcessBits(pub u32);

/// Takes the bits from the file at a path, and adds what was done to the findings. A file of somebody else's stays as it is.
pub fn close(path: &Path, excess: ExcessBits, findings: &mut Findings) {
    match clear_bits(path, excess) {
        Ok(Some((from, to))) => {
            findings.ok("mended", format!("{from:04o} -> {to:04o}: {}", word(path)));
        }
        Ok(None) => {}
        Err(error) => {
            let mode = format!("chmod a-{:o} {}", excess.0, word(path));
            findings.problem("mended", format!("cannot change the mode of {}: {error}", word(path)), mode);
        }
    }
}

/// Clears these bits of a file's mode. Returns the mode before and after; `None` if none of them is set, or the file is
/// somebody else's.
fn clear_bits(path: &Path, excess: ExcessBits) -> Result<Option<(u32, u32)>, Errno> {
    // By the descriptor, the file that is examined is the file that is changed, wherever its name leads by
    // then.
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    let mode = stat.st_mode & 0o7777;
    if stat.st_uid != geteuid().as_raw() || mode & excess.0 == 0 {
        return Ok(None);
    }
    let left = mode & !excess.0;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::chmod(link, Mode::from_raw_mode(left))?;
    Ok(Some((mode, left)))
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, metadata, set_permissions, write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::super::finding::Section;
    use super::*;

    #[test]
    fn only_the_bits_of_others_go() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        for (mode, excess, left) in [(0o666, 0o022, 0o644), (0o4777, 0o077, 0o4700), (0o600, 0o077, 0o600)] {
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let mut findings = Findings::about(Section::Policy);
            close(&link, ExcessBits(excess), &mut findings);
            assert_eq!(metadata(&file).unwrap().mode() & 0o7777, left);
            assert_eq!(findings.all().len(), usize::from(mode != left));
        }
        let mut findings = Findings::about(Section::Policy);
        close(&directory.path().join("missing"), ExcessBits(0o022), &mut findings);
        assert!(findings.has_problem());
    }
}
