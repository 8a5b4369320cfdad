//! The ioctl requests that the filter does not know to be harmless.

use std::os::fd::AsFd;

use guard_policy::Access;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::{Request, process};
use crate::audit::Operation;
use crate::judge::anchored_path::AnchoredPath;
use crate::kernel::requests;
use crate::reply::{ContinueReason, HandlerResult, Reply, SupervisorCopy};
use crate::resolve::{Object, real_path};

/// `TIOCGPTPEER`: opens the slave of a pty through its master.
const TIOCGPTPEER: u32 = 0x5441;
/// `FS_IOC_SETFLAGS`, `FS_IOC32_SETFLAGS` and `FS_IOC_FSSETXATTR` (linux/fs.h): they set a file's attributes.
const SET_ATTRIBUTES: [u32; 3] = [0x4008_6602, 0x4004_6602, 0x401c_5820];

pub fn ioctl(request: &Request<'_, '_>, fd: i32, number: u32, argument: u64) -> HandlerResult {
    let file = Object::from_fd(request.caller.descriptor(fd)?)?;
    if number == TIOCGPTPEER && is_master(&file) {
        let flags = argument as i32;
        let slave = requests::pty_peer(file.fd.as_fd(), flags | libc::O_NOCTTY | libc::O_CLOEXEC)?;
        return Ok(Reply::Descriptor {
            file: slave,
            cloexec: flags & libc::O_CLOEXEC != 0,
            copy: SupervisorCopy::CloseBeforeReply,
        });
    }
    let kind = file.kind();
    let plain = matches!(kind, FileType::RegularFile | FileType::Directory);
    if plain && SET_ATTRIBUTES.contains(&number) {
        let path = real_path(file.fd.as_fd())?;
        let place = AnchoredPath::object(&path, &file);
        request.guard.judge(request.caller, Operation::Write, place, Access::WRITE)?;
        // For the flags the kernel reads an int, whatever size the request number carries.
        let size = (number >> 16 & 0x3fff) as usize;
        let read = if number == SET_ATTRIBUTES[2] { size } else { 4 };
        let mut bytes = vec![0; size];
        request.caller.bytes(argument, &mut bytes[..read])?;
        requests::ioctl_write(file.fd.as_fd(), number, &bytes)?;
        return Ok(Reply::Value(0));
    }
    if is_driven(&file) {
        let path = real_path(file.fd.as_fd())?;
        request.guard.refuse(
            request.caller,
            Operation::Ioctl,
            &path,
            format!("request {number:#x} is not known"),
        )?;
    }
    // A file that does not know the request has this errno, and programs then do without the request. The guard does
    // not perform the request.
    Err(Errno::NOTTY)
}

/// Whether the file is a device whose driver may know requests that the filter does not. Terminals are not among these,
/// because the filter's list has their dangerous requests, and neither are `/dev/null`, `/dev/zero` and the like
/// (Documentation/admin-guide/devices.txt). For such a device, a line tells the operator which request failed.
fn is_driven(file: &Object) -> bool {
    let (major, minor) = (rustix::fs::major(file.stat.st_rdev), rustix::fs::minor(file.stat.st_rdev));
    match file.kind() {
        FileType::BlockDevice => true,
        FileType::CharacterDevice => {
            !matches!((major, minor), (1, 3 | 5 | 7..=9) | (5, 0 | 2) | (136..=143, _))
        }
        _ => false,
    }
}

/// Whether the file is /dev/ptmx, character device 5:2. Any other file could return an arbitrary number.
fn is_master(file: &Object) -> bool {
    file.kind() == FileType::CharacterDevice
        && (rustix::fs::major(file.stat.st_rdev), rustix::fs::minor(file.stat.st_rdev)) == (5, 2)
}

/// F_SETOWN sets which process or group gets the descriptor's signals. It must be one that the caller may send signals
/// to.
pub fn set_owner(request: &Request<'_, '_>, owner: i32) -> HandlerResult {
    let allowed = match owner {
        0 => true,
        i32::MIN => return Err(Errno::INVAL),
        _ if owner < 0 => process::group_is_ours(request, -owner),
        _ => request.guard.tree.contains(owner),
    };
    // The owner is in a register. It is allowed for any descriptor, whatever the number means by then.
    if allowed { Ok(Reply::Continue(ContinueReason::Registers)) } else { Err(process::unreachable(owner)) }
}

/// F_SETOWN_EX: as [`set_owner`], for the caller alone, because the owner is in memory.
pub fn set_owner_in_memory(request: &Request<'_, '_>, fd: i32, argument: u64) -> HandlerResult {
    /// `F_OWNER_TID`, `F_OWNER_PID` (asm-generic/fcntl.h).
    const OWNER_PID: i32 = 1;
    let file = request.caller.descriptor(fd)?;
    let mut raw = [0; 8];
    request.caller.bytes(argument, &mut raw)?;
    let (words, _) = raw.as_chunks::<4>();
    let (kind, owner) = (i32::from_ne_bytes(words[0]), i32::from_ne_bytes(words[1]));
    if !(0..=OWNER_PID).contains(&kind) {
        return Err(Errno::PERM);
    }
    let own = request.caller.process()?;
    if owner != 0 && owner != own && owner != request.caller.tid() {
        return Err(Errno::PERM);
    }
    requests::set_owner(file.as_fd(), if owner == 0 { 0 } else { own })?;
    Ok(Reply::Value(0))
}
