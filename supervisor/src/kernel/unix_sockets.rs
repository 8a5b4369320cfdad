//! The files to which AF_UNIX sockets are bound, as the kernel has them (sock_diag(7)). The name in /proc/net/unix is the one
//! that was bound; a socket keeps its file when that gets another name.

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// `SOCK_DIAG_BY_FAMILY`, `NLM_F_REQUEST | NLM_F_DUMP`, `UDIAG_SHOW_VFS`, `UNIX_DIAG_VFS` (include/uapi/linux/sock_diag.h,
/// netlink.h and unix_diag.h).
const BY_FAMILY: u16 = 20;
const DUMP: u16 = 0x301;
const SHOW_VFS: u32 = 2;
const VFS: u16 = 1;
/// The types of messages that end a dump: `NLMSG_DONE`, `NLMSG_ERROR`.
const DONE: u16 = 3;
const ERROR: u16 = 2;
/// `TCP_LISTEN`.
const LISTENS: u8 = 10;
/// The kernel fills messages of up to 32 KiB.
const BUFFER: usize = 64 << 10;
/// `struct nlmsghdr`, and `struct unix_diag_msg` before its attributes.
const HEADER: usize = 16;
const SOCKET: usize = 16;

/// The file that a socket is bound to, which listens or receives datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundFile {
    /// The lower half of its inode number.
    pub inode: u32,
    /// Its file system's device: major and minor number.
    pub device: (u32, u32),
}

/// Returns the files of all sockets that can be reached in this network namespace.
///
/// # Errors
/// The kernel's, also if it cannot tell (CONFIG_UNIX_DIAG).
pub fn bound_files() -> Result<Vec<BoundFile>, Errno> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    send(&socket, &request(), SendFlags::empty())?;
    let (mut files, mut buffer) = (Vec::new(), vec![0; BUFFER]);
    loop {
        let (length, _) = match recv(&socket, &mut buffer[..], RecvFlags::empty()) {
            Err(Errno::INTR) => continue,
            received => received?,
        };
        if read(&buffer[..length.min(BUFFER)], &mut files)? {
            return Ok(files);
        }
    }
}

/// `struct nlmsghdr` and `struct unix_diag_req`, for all states.
fn request() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40);
    bytes.extend(40_u32.to_ne_bytes());
    bytes.extend([BY_FAMILY, DUMP].into_iter().flat_map(u16::to_ne_bytes));
    bytes.extend([1, 0].into_iter().flat_map(u32::to_ne_bytes));
    bytes.extend([1, 0, 0, 0]);
    bytes.extend([u32::MAX, 0, SHOW_VFS, 0, 0].into_iter().flat_map(u32::to_ne_bytes));
    bytes
}

/// Reads the messages of one datagram. Returns whether they were the last.
fn read(mut bytes: &[u8], files: &mut Vec<BoundFile>) -> Result<bool, Errno> {
    while !bytes.is_empty() {
        let length = u32_at(bytes, 0)? as usize;
        let message = bytes.get(..length).filter(|message| message.len() >= HEADER).ok_or(Errno::PROTO)?;
        match u16_at(message, 4)? {
            DONE => return Ok(true),
            ERROR => {
                let error = u32_at(message, HEADER)?.wrapping_neg();
                return Err(Errno::from_raw_os_error(error.cast_signed()));
            }
            BY_FAMILY => files.extend(file_of(&message[HEADER..])?),
            _ => {}
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

/// The file of a socket that can be reached.
fn file_of(message: &[u8]) -> Result<Option<BoundFile>, Errno> {
    let [kind, state] = [1, 2].map(|at| message.get(at).copied());
    let is_reached = state == Some(LISTENS) || kind == Some(libc::SOCK_DGRAM as u8);
    let mut attributes = message.get(SOCKET..).filter(|_| is_reached).unwrap_or_default();
    while !attributes.is_empty() {
        let length = usize::from(u16_at(attributes, 0)?);
        if u16_at(attributes, 2)? == VFS {
            let (inode, device) = (u32_at(attributes, 4)?, u32_at(attributes, 8)?);
            // The kernel's own form of the number (MKDEV, include/linux/kdev_t.h).
            return Ok(Some(BoundFile { inode, device: (device >> 20, device & 0xf_ffff) }));
        }
        attributes = attributes.get(aligned(length.max(4))..).unwrap_or_default();
    }
    Ok(None)
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Errno> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Errno::PROTO)?;
    Ok(u16::from_ne_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Errno> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Errno::PROTO)?;
    Ok(u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
    use std::path::Path;

    use super::*;

    fn has(path: &Path) -> bool {
        let stat = rustix::fs::stat(path).unwrap();
        let device = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
        let inode = stat.st_ino as u32;
        bound_files().unwrap().contains(&BoundFile { inode, device })
    }

    #[test]
    fn a_socket_has_its_file_under_any_name_until_it_is_closed() {
        let directory = tempfile::tempdir().unwrap();
        let [bound, named, datagrams] =
            ["bound", "named", "datagrams"].map(|name| directory.path().join(name));
        let listener = UnixListener::bind(&bound).unwrap();
        std::fs::rename(&bound, &named).unwrap();
        assert!(has(&named));
        let connection = UnixStream::connect(&named).unwrap();
        drop(listener);
        assert!(!has(&named), "a connection is no server");
        drop(connection);
        let receiver = UnixDatagram::bind(&datagrams).unwrap();
        assert!(has(&datagrams));
        drop(receiver);
        assert!(!has(&datagrams));
    }

    #[test]
    fn what_is_cut_is_refused() {
        let mut files = Vec::new();
        let whole = [20_u32.to_ne_bytes(), [3, 0, 0, 0], [0; 4], [0; 4], [0; 4]].concat();
        assert_eq!(read(&whole, &mut files), Ok(true));
        for length in 1..20 {
            assert_eq!(read(&whole[..length], &mut files), Err(Errno::PROTO), "{length}");
        }
        let denied = [&20_u32.to_ne_bytes()[..], &[2, 0, 0, 0], &[0; 8], &(-2_i32).to_ne_bytes()].concat();
        assert_eq!(read(&denied, &mut files), Err(Errno::NOENT));
        assert_eq!(read(b"", &mut files), Ok(false));
    }
}
