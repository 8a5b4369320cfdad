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
