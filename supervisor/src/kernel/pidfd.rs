//! The exit status of a process that is not a child of ours.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use guard_approvals::Ending;
use guard_openclaw::peer::proc::Tid;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A process, held by a descriptor.
#[derive(Debug)]
pub struct ProcessHandle {
    pid: Tid,
    held: OwnedFd,
}

mod ioctl {
    nix::ioctl_readwrite!(pidfd_get_info, 0xFF, 11, libc::pidfd_info);
}

impl ProcessHandle {
    /// Opens a process that is known to be alive.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(pid: Tid) -> Result<ProcessHandle, Errno> {
        let held = pidfd_open(Pid::from_raw(pid).ok_or(Errno::SRCH)?, PidfdFlags::NONBLOCK)?;
        Ok(ProcessHandle { pid, held })
    }

    /// Waits for the process to end, in an async runtime; if that is impossible, the status is unknown at once.
    pub async fn ended(self) -> Ending {
        let Ok(held) = self.held.try_clone() else { return Ending::Unknown };
        // SAFETY: the registered value owns the descriptor, so nobody closes it before it is deregistered.
        let Ok(held) = (unsafe { AsyncFd::register_with_interest(held, Interest::READABLE) }) else {
            return Ending::Unknown;
        };
        // The descriptor becomes readable when the process has ended (pidfd_open(2)).
        match held.readable().await {
            Ok(_) => self.ending(),
            Err(_) => Ending::Unknown,
        }
    }

    /// How the process has ended.
    pub fn ending(&self) -> Ending {
        self.reaped().or_else(|| self.unreaped()).or_else(|| self.reaped()).map_or(Ending::Unknown, of_status)
    }

    /// The status that the kernel keeps for holders of a pidfd, from Linux 6.15 on.
    fn reaped(&self) -> Option<i32> {
        let mask = u64::from(libc::PIDFD_INFO_EXIT);
        // SAFETY: the structure has only integers, for which zero is a valid value.
        let mut info: libc::pidfd_info = unsafe { std::mem::zeroed() };
        info.mask = mask;
        // SAFETY: the structure is initialised, has the size that the request's number states, and outlives the call.
        unsafe { ioctl::pidfd_get_info(self.held.as_raw_fd(), &raw mut info) }.ok()?;
        (info.mask & mask != 0).then_some(info.exit_code)
    }

    /// Field 52 of proc_pid_stat(5), as long as the parent has not taken the status.
    fn unreaped(&self) -> Option<i32> {
        let stat = procfs::process::Process::new(self.pid).ok()?.stat().ok()?;
        // Another process can have the number only once this one has lost it.
        stat.exit_code.filter(|_| stat.state == 'Z' && self.is_there())
    }

    /// Whether the process still has its number (`Pid:` of a pidfd's fdinfo, proc(5); -1 afterwards).
    fn is_there(&self) -> bool {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", self.held.as_raw_fd()));
        let info = info.unwrap_or_default();
        let pid = info.lines().find_map(|line| line.strip_prefix("Pid:"));
        pid.is_some_and(|pid| pid.trim().parse() == Ok(self.pid))
    }
}

/// Converts a status of wait(2).
fn of_status(status: i32) -> Ending {
    match status & 0x7f {
        0 => Ending::Code(status >> 8 & 0xff),
        signal => Ending::Signal(signal),
    }
}

impl AsFd for ProcessHandle {
    /// Readable when the process has ended (pidfd_open(2)).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn ended(script: &str, is_reaped: bool) -> Ending {
        let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let process = ProcessHandle::open(child.id() as i32).unwrap();
        if is_reaped {
            let _ = child.wait().unwrap();
        }
        poll(&mut [PollFd::new(process.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE).unwrap();
        let ending = process.ending();
        let _ = child.wait();
        ending
    }

    #[test]
    fn the_status_is_seen_before_the_parent_takes_it() {
        assert_eq!(ended("exit 3", false), Ending::Code(3));
        assert_eq!(ended("kill -TERM $$", false), Ending::Signal(15));
    }

    #[test]
    fn and_afterwards_where_the_kernel_keeps_it() {
        assert!([Ending::Code(3), Ending::Unknown].contains(&ended("exit 3", true)));
    }
}
