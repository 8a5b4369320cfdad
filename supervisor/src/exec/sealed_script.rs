//! Sealed copies of scripts.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

use guard_approvals::Digest;
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::caller::Caller;
use crate::kernel::errno;
use crate::resolve::link_to;

/// The maximum length of a script that can be approved.
pub const MAX_BYTES: u64 = 64 << 20;

/// The content of a script, sealed so that nobody can change it.
#[derive(Debug)]
pub(super) struct SealedScript {
    /// The digest of the content.
    pub(super) sha256: Digest,
    /// Its length.
    pub(super) length: u64,
    /// The copy.
    pub(super) file: File,
}

impl SealedScript {
    /// Copies a script, if its content is what was approved.
    ///
    /// # Errors
    /// EACCES if the content differs; the kernel's; ESRCH if the caller is gone.
    pub(super) fn copy(caller: &Caller<'_>, script: &File, approved: Digest) -> Result<SealedScript, Errno> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create(c"script", flags)?);
        let source =
            rustix::fs::open(link_to(script.as_fd()), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        // A script that grows meanwhile is not the approved one.
        let length =
            std::io::copy(&mut File::from(source).take(MAX_BYTES), &mut file).map_err(errno::from_io)?;
        file.flush().map_err(errno::from_io)?;
        fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
        if Digest::of_file(&file, || caller.check())? != approved {
            return Err(Errno::ACCESS);
        }
        Ok(SealedScript { sha256: approved, length, file })
    }
}
