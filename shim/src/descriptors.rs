//! The descriptors of the command: 0, 1 and 2.

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::RawFd;

/// Closes every descriptor above 2 except those in `keep`, which it marks close-on-exec. Call it only in a forked process
/// that never again uses the owner of another descriptor.
///
/// # Errors
/// The kernel's error.
pub fn close_all_but(keep: &mut [RawFd]) -> io::Result<()> {
    keep.sort_unstable();
    for fd in keep.iter() {
        set_cloexec(*fd)?;
    }
    for gap in gaps(keep) {
        close(gap)?;
    }
    Ok(())
}

/// The ranges between the kept descriptors, which must be sorted.
fn gaps(keep: &[RawFd]) -> impl Iterator<Item = RangeInclusive<u32>> {
    let starts = std::iter::once(3).chain(keep.iter().map(|fd| *fd as u32 + 1));
    let ends = keep.iter().map(|fd| (*fd as u32).saturating_sub(1)).chain(std::iter::once(u32::MAX));
    starts.zip(ends).map(|(start, end)| start.max(3)..=end).filter(|gap| !gap.is_empty())
}

fn close(range: RangeInclusive<u32>) -> io::Result<()> {
    // SAFETY: no owner of these descriptors is used again: the caller keeps what it still needs, and then execs.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, *range.start(), *range.end(), 0) };
    if closed < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn set_cloexec(descriptor: RawFd) -> io::Result<()> {
    // SAFETY: F_SETFD changes a flag of the descriptor, and fails on one that is not open.
    let set = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(keep: &[RawFd]) -> Vec<(u32, u32)> {
        gaps(keep).map(|gap| gap.into_inner()).collect()
    }

    #[test]
    fn everything_between_is_closed() {
        assert_eq!(closed(&[]), [(3, u32::MAX)]);
        assert_eq!(closed(&[3]), [(4, u32::MAX)]);
        assert_eq!(closed(&[5, 6, 9]), [(3, 4), (7, 8), (10, u32::MAX)]);
    }

    #[test]
    fn descriptors_0_to_2_stay_open() {
        assert_eq!(closed(&[0, 2]), [(3, u32::MAX)]);
    }
}
