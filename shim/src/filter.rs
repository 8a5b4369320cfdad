//! The seccomp filter: from the table to the program that the kernel runs before every system call.
//!
//! libseccomp turns the numbers into a search tree. It has no way to say "otherwise" within one system call, and its
//! comparisons are of 64 bits; so a call whose arguments matter gets a mark, and the mark is replaced by
//! the tests that `blocks` writes for it.

use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};

use libc::sock_filter;
use libseccomp::{ScmpAction, ScmpFilterContext, ScmpSyscall};

use crate::blocks::{self, Instruction};
use crate::table::{self, Action, Decision, Switch};

/// What the filter depends on, apart from the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// AF_UNIX datagram sockets may be made; every `sendto`, `sendmsg` and `sendmmsg` is then judged.
    pub unix_datagram: bool,
    /// `ptrace` may be used within the tree.
    pub allow_ptrace: bool,
    /// Landlock keeps signals inside the tree (ABI 6), so that `kill` and its kin need not be judged.
    pub scoped_signals: bool,
    /// The floor decides as the policy does what is read: what opens files only to read them is not held.
    pub kernel_reads: bool,
    /// The same of what is written: what opens files only to write them, or removes names, is not held.
    pub kernel_writes: bool,
}

impl Options {
    /// Whether the option of a switch is set.
    #[must_use]
    pub fn is_set(&self, switch: Switch) -> bool {
        match switch {
            Switch::UnixDatagram => self.unix_datagram,
            Switch::AllowPtrace => self.allow_ptrace,
            Switch::ScopedSignals => self.scoped_signals,
            Switch::KernelReads => self.kernel_reads,
            Switch::KernelWrites => self.kernel_writes,
        }
    }
}

/// Why there is no filter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// libseccomp refused a part of it.
    #[error("libseccomp cannot build the filter")]
    Seccomp(#[from] libseccomp::error::SeccompError),
    /// The program could not be fetched from libseccomp.
    #[error("the filter cannot be read back from libseccomp")]
    Export(#[from] io::Error),
    /// The kernel takes 4096 instructions, and a conditional jump spans 255.
    #[error("the filter is too long: {0} instructions")]
    TooLong(usize),
}

/// A filter that kills whatever is not x86_64.
///
/// The check is written by the only constructor, so that there is no filter without it: numbers mean other calls
/// on another architecture, and with the bit of x32.
#[derive(Clone, Debug)]
pub struct Program {
    instructions: Vec<sock_filter>,
}

impl Program {
    /// The longest program that the kernel takes.
    const LONGEST: usize = 4096;

    fn guarded(body: Vec<sock_filter>) -> Result<Program, Error> {
        let mut instructions = blocks::architecture_check();
        instructions.extend(body);
        if instructions.len() > Self::LONGEST {
            return Err(Error::TooLong(instructions.len()));
        }
        Ok(Program { instructions })
    }

    /// The instructions, as the kernel gets them.
    #[must_use]
    pub fn instructions(&self) -> &[sock_filter] {
        &self.instructions
    }

    /// Put the filter on the calling thread, for good, and return its listener.
    ///
    /// A notification that the supervisor has received is not taken back for a signal that does not kill
    /// (Linux 5.19): otherwise the call would start over while its first run is being judged.
    pub fn load(&self) -> io::Result<OwnedFd> {
        const FLAGS: libc::c_ulong =
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        let program = libc::sock_fprog {
            len: self.instructions.len() as u16,
            filter: self.instructions.as_ptr().cast_mut(),
        };
        // SAFETY: the kernel copies `len` instructions from `filter`, which outlives the call, and writes nothing.
        let listener = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, FLAGS, &raw const program)
        };
        if listener < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: with NEW_LISTENER the kernel returns a new descriptor, which nothing else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(listener as i32) })
    }
}

/// Build the filter of the table.
pub fn build(options: &Options) -> Result<Program, Error> {
    let mut conditional: Vec<Decision> = Vec::new();
    let mut context = ScmpFilterContext::new(ScmpAction::Errno(libc::ENOSYS))?;
    context.set_act_badarch(ScmpAction::KillProcess)?;
    context.set_ctl_optimize(2)?;
    for row in table::entries() {
        let action = match row.decision.under(options) {
            Decision::Always(Action::Errno(libc::ENOSYS)) => continue,
            Decision::Always(action) => seccomp_action(action),
            tested => {
                let mark = conditional.iter().position(|known| *known == tested).unwrap_or_else(|| {
                    conditional.push(tested);
                    conditional.len() - 1
                });
                ScmpAction::Trace(mark as u16)
            }
        };
        context.add_rule(action, ScmpSyscall::from_raw_syscall(row.number as i32))?;
    }
    let mut body = export(&context)?;
    blocks::replace_marks(&mut body, &conditional).map_err(Error::TooLong)?;
    Program::guarded(body)
}

fn seccomp_action(action: Action) -> ScmpAction {
    match action {
        Action::Allow => ScmpAction::Allow,
        Action::Notify => ScmpAction::Notify,
        Action::Errno(errno) => ScmpAction::Errno(errno),
        Action::Answer0 => ScmpAction::Errno(0),
    }
}

fn export(context: &ScmpFilterContext) -> Result<Vec<sock_filter>, Error> {
    // A pipe, for a file would end where RLIMIT_FSIZE says, and libseccomp does not look how much was written.
    let (mut reader, writer) = io::pipe()?;
    let bytes = std::thread::scope(|scope| {
        let read = scope.spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes)
        });
        let exported = context.export_bpf(&writer);
        drop(writer);
        let bytes = read.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        exported.map_err(Error::from).and(bytes.map_err(Error::from))
    })?;
    Ok(bytes.chunks_exact(size_of::<sock_filter>()).map(Instruction::parse).collect())
}

#[cfg(test)]
mod tests;
