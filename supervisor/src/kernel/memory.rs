//! A caller's memory, by process_vm_readv(2) and process_vm_writev(2): unlike /proc/PID/mem
//! they respect page protection.

use std::io::{IoSlice, IoSliceMut};

use guard_openclaw::peer::proc::Tid;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use rustix::io::Errno;

use super::errno;

/// Reads up to the first unreadable byte.
///
/// # Errors
/// EFAULT if not even the first byte can be read, EPERM if the guard may not read the process, ESRCH.
pub fn read(tid: Tid, address: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
    let Ok(base) = usize::try_from(address) else { return Err(Errno::FAULT) };
    let remote = [RemoteIoVec { base, len: buffer.len() }];
    match process_vm_readv(Pid::from_raw(tid), &mut [IoSliceMut::new(buffer)], &remote) {
        Ok(0) => Err(Errno::FAULT),
        Ok(count) => Ok(count),
        Err(error) => Err(errno::from_nix(error)),
    }
}

/// Writes all of `bytes`.
///
/// # Errors
/// EFAULT if not all can be written, EPERM if the guard may not write to the process, ESRCH.
pub fn write(tid: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let Ok(base) = usize::try_from(address) else { return Err(Errno::FAULT) };
    let remote = [RemoteIoVec { base, len: bytes.len() }];
    match process_vm_writev(Pid::from_raw(tid), &[IoSlice::new(bytes)], &remote) {
        Ok(count) if count == bytes.len() => Ok(()),
        Ok(_) => Err(Errno::FAULT),
        Err(error) => Err(errno::from_nix(error)),
    }
}

/// Reads several parts, one behind the other, up to the first unreadable byte. There are at most IOV_MAX (1,024).
///
/// # Errors
/// As [`read`].
pub fn read_parts(tid: Tid, parts: &[(u64, u64)], buffer: &mut [u8]) -> Result<usize, Errno> {
    let part = |&(address, length): &(u64, u64)| {
        Ok(RemoteIoVec {
            base: usize::try_from(address).map_err(|_| Errno::FAULT)?,
            len: usize::try_from(length).map_err(|_| Errno::FAULT)?,
        })
    };
    let remote: Vec<RemoteIoVec> = parts.iter().map(part).collect::<Result<_, Errno>>()?;
    process_vm_readv(Pid::from_raw(tid), &mut [IoSliceMut::new(buffer)], &remote).map_err(errno::from_nix)
}
