//! The files that the kernel has mapped for a program that has not run yet, and where it begins to run.
//!
//! Who may write a program chooses by its headers where its segments and its entry lie, and can change the headers while the
//! kernel reads them. So no single address tells which loader the kernel took: with headers that fit each other, AT_BASE of one
//! loader lies in another file, and it is 0 for a loader with fixed addresses. But a loader's code comes from a mapping of its
//! file, and each such mapping is looked at.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guard_openclaw::peer::proc::Tid;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::kernel::maps;
use crate::kernel::requests::{self, Mapping};
use crate::resolve::Identity;

/// Where a program that has not run yet begins.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint {
    /// AT_BASE: what the addresses in the loader's file are counted from, 0 without one (fs/binfmt_elf.c, load_elf_binary).
    pub base: u64,
    /// AT_ENTRY: where the program itself begins.
    pub entry: u64,
    /// The address of the first instruction: the loader's, or the program's without one.
    pub instruction: u64,
}

/// A file of a judged start.
#[derive(Clone, Copy, Debug)]
pub struct JudgedFile<'f> {
    /// Its identity.
    pub identity: Identity,
    /// The file, open.
    pub file: BorrowedFd<'f>,
}

/// Whether the process has mapped no other file than the judged program and loader, and begins in the loader, if it has one, or
/// else where the program says.
///
/// # Errors
/// ESRCH and EACCES from the kernel.
pub fn are_judged(
    pid: Tid,
    start: &EntryPoint,
    program: Identity,
    loader: Option<JudgedFile<'_>>,
) -> Result<bool, Errno> {
    let mapped = maps::files(pid)?;
    let at = |address: u64| mapped.iter().find(|(range, _)| range.contains(&address)).map(|(_, file)| *file);
    // On overlayfs, btrfs and others, a mapping shows another device than stat(2). A loader with fixed addresses may lie over the
    // whole program, so no address tells which file the program is.
    let mut program = shown(program);
    if !mapped.iter().any(|(_, file)| *file == program) {
        program = requests::mapping_of(runs(pid)?.as_fd())?;
    }
    let Some(judged) = loader else {
        let begins = start.base == 0 && start.instruction == start.entry;
        return Ok(begins && mapped.iter().all(|(_, file)| *file == program));
    };
    let found = at(start.instruction);
    let mut loader = shown(judged.identity);
    if found != Some(loader) {
        loader = requests::mapping_of(judged.file)?;
    }
    Ok(found == Some(loader) && mapped.iter().all(|(_, file)| [program, loader].contains(file)))
}

/// The running program, as an O_PATH descriptor.
pub fn runs(pid: Tid) -> Result<OwnedFd, Errno> {
    rustix::fs::open(format!("/proc/{pid}/exe"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// What a mapping of the file shows on most file systems.
fn shown(Identity { device, inode }: Identity) -> Mapping {
    Mapping { device: (rustix::fs::major(device), rustix::fs::minor(device)), inode }
}
