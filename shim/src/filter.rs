//! The seccomp filter: the program that the kernel runs before every system call.
//!
//! There is one program for each combination of options. All are compiled from the table when the crate is built
//! (`build/`), because compiling with libseccomp takes longer than the rest of starting a command.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::sock_filter;

pub use crate::table::FilterOptions;

/// The compiled programs, indexed by [`FilterOptions::number`].
static PROGRAMS: [&[sock_filter]; FilterOptions::CHOICES] =
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// An instruction, as written in the included file.
const fn i(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// A filter. It kills any process that makes a call of another architecture or of x32, where the same numbers mean
/// other calls.
///
/// It can only be created from the table.
#[derive(Clone, Copy, Debug)]
pub struct FilterProgram {
    instructions: &'static [sock_filter],
}

/// A part of the filter that a test can switch off.
#[cfg(feature = "test-layers")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterPart {
    /// The calls that the filter fails or kills without asking the supervisor.
    Refusals,
    /// The calls that wait for the supervisor.
    Holds,
}

impl FilterProgram {
    /// The table's filter for these options.
    #[must_use]
    pub fn new(options: FilterOptions) -> FilterProgram {
        FilterProgram { instructions: PROGRAMS[options.number()] }
    }

    /// The instructions as passed to the kernel.
    #[must_use]
    pub fn instructions(&self) -> &'static [sock_filter] {
        self.instructions
    }

    /// The same filter with one kind of action made harmless.
    #[cfg(feature = "test-layers")]
    #[must_use]
    pub fn letting(self, part: FilterPart) -> FilterProgram {
        let lets = |answer: u32| match part {
            FilterPart::Refusals => matches!(
                answer & libc::SECCOMP_RET_ACTION_FULL,
                libc::SECCOMP_RET_ERRNO | libc::SECCOMP_RET_KILL_PROCESS | libc::SECCOMP_RET_KILL_THREAD
            ),
            FilterPart::Holds => answer == libc::SECCOMP_RET_USER_NOTIF,
        };
        let is_answer = |code| u32::from(code) == libc::BPF_RET | libc::BPF_K;
        let instructions = self.instructions.iter().map(|&instruction| match instruction {
            sock_filter { code, k, .. } if is_answer(code) && lets(k) => {
                sock_filter { k: libc::SECCOMP_RET_ALLOW, ..instruction }
            }
            other => other,
        });
        FilterProgram { instructions: instructions.collect::<Vec<_>>().leak() }
    }

    /// Installs the filter on the calling thread for good, and returns its listener.
    ///
    /// Once the supervisor has received a notification, only a fatal signal interrupts the call (Linux 5.19). Otherwise
    /// the call could restart while the supervisor is still judging it.
    pub fn load(&self) -> io::Result<OwnedFd> {
        load(
            self.instructions,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
        )
    }
}

/// Installs a filter that allows everything on the calling thread for good, and returns its listener. Used to find out
/// whether a listener is available.
///
/// # Errors
/// EBUSY if an inherited filter already has a listener; EACCES without no_new_privs or CAP_SYS_ADMIN.
pub fn try_listener() -> io::Result<OwnedFd> {
    const LET_THROUGH: [sock_filter; 1] =
        [i((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, libc::SECCOMP_RET_ALLOW)];
    load(&LET_THROUGH, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)
}

fn load(instructions: &[sock_filter], flags: libc::c_ulong) -> io::Result<OwnedFd> {
    let program =
        libc::sock_fprog { len: instructions.len() as u16, filter: instructions.as_ptr().cast_mut() };
    // SAFETY: the kernel copies `len` instructions from `filter`, which outlives the call, and writes nothing.
    let listener =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    if listener < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: with NEW_LISTENER the kernel returns a new descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(listener as i32) })
}

#[cfg(test)]
mod tests;
