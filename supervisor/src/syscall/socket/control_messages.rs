//! The control messages of sendmsg(2), built again for the supervisor, which sends them.
//!
//! Descriptors and process numbers in them mean other things to the supervisor than to the caller. So the kernel gets
//! nothing that was not read and translated here.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::AddressFamily;

use super::address::bytes;
use crate::caller::Caller;
use crate::syscall::Request;

/// `sizeof(struct cmsghdr)`, and where its `cmsg_level` and `cmsg_type` are.
const HEADER: usize = 16;
const LEVEL_AT: usize = 8;
const TYPE_AT: usize = 12;
/// The alignment of control messages, and the size of a word.
const WORD: usize = 8;
/// `SCM_MAX_FD` (include/net/scm.h).
const MAX_DESCRIPTORS: usize = 253;
/// `sizeof(struct ucred)`.
const CREDENTIALS: usize = 12;
/// Headers that lead a message another way than to the address that it names: the second is that of RFC 2292.
const IPV6_ROUTES: [i32; 2] = [libc::IPV6_RTHDR, libc::IPV6_2292RTHDR];
/// IP options in a control message, which may be a source route (linux/in.h).
const IP_RETOPTS: i32 = 7;
/// Where the index of an interface is in `struct in_pktinfo` and in `struct in6_pktinfo`, which begins with an address.
const IN_PKTINFO_INDEX_AT: usize = 0;
const IN6_PKTINFO_INDEX_AT: usize = 16;

/// Control messages, and the files that they pass on.
#[derive(Debug, Default)]
pub struct ControlMessages {
    words: Vec<u64>,
    files: Vec<OwnedFd>,
}

/// One control message as the caller wrote it.
#[derive(Debug, PartialEq, Eq)]
struct ControlMessage<'b> {
    level: i32,
    kind: i32,
    content: &'b [u8],
}

/// Splits a buffer into its messages, as the kernel does (linux/socket.h, `for_each_cmsghdr`).
///
/// # Errors
/// EINVAL for a message that is shorter than its header or ends behind the buffer.
fn split(buffer: &[u8]) -> Result<Vec<ControlMessage<'_>>, Errno> {
    let mut messages = Vec::new();
    let mut rest = buffer;
    while let Some(header) = rest.first_chunk::<HEADER>() {
        let length = usize::try_from(u64::from_ne_bytes(bytes(header, 0))).map_err(|_| Errno::INVAL)?;
        let content = rest.get(HEADER..length).ok_or(Errno::INVAL)?;
        let [level, kind] = [LEVEL_AT, TYPE_AT].map(|at| i32::from_ne_bytes(bytes(header, at)));
        messages.push(ControlMessage { level, kind, content });
        rest = rest.get(length.next_multiple_of(WORD)..).unwrap_or_default();
    }
    Ok(messages)
}

impl ControlMessages {
    /// Translates the caller's control messages for a socket of this family. Call [`ControlMessages::close`] in the end, also
    /// after an error.
    ///
    /// # Errors
    /// EINVAL for messages without a proper form, EBADF for a descriptor that the caller does not have, EPERM for a
    /// message that would choose another way through the network, ESRCH if the caller is gone.
    pub fn translate(
        &mut self,
        caller: &Caller<'_>,
        family: AddressFamily,
        buffer: &[u8],
    ) -> Result<(), Errno> {
        for message in split(buffer)? {
            let ControlMessage { level, kind, content } = message;
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) if family == AddressFamily::NETLINK => {
                    return Err(Errno::INVAL);
                }
                // Other families ignore descriptors.
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) if family != AddressFamily::UNIX => {}
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                    let descriptors = self.duplicates(caller, content)?;
                    self.push(level, kind, &descriptors);
                }
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) => {
                    self.push(level, kind, &credentials(caller, content)?);
                }
                (libc::SOL_IP, libc::IP_PKTINFO) => {
                    self.push(level, kind, &without_interface(content, IN_PKTINFO_INDEX_AT));
                }
                (libc::SOL_IPV6, libc::IPV6_PKTINFO | libc::IPV6_2292PKTINFO) => {
                    self.push(level, kind, &without_interface(content, IN6_PKTINFO_INDEX_AT));
                }
                (libc::SOL_IPV6, kind) if IPV6_ROUTES.contains(&kind) => return Err(Errno::PERM),
                (libc::SOL_IP, IP_RETOPTS) => return Err(Errno::PERM),
                _ => self.push(level, kind, content),
            }
        }
        Ok(())
    }

    /// The messages, as the kernel wants them.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// How many files are passed on.
    pub fn count_files(&self) -> usize {
        self.files.len()
    }

    /// Closes the supervisor's descriptors of the files that are passed on.
    pub fn close(self, request: &Request<'_, '_>) {
        request.worker.close(request.caller, self.files);
    }

    fn push(&mut self, level: i32, kind: i32, content: &[u8]) {
        self.words.push((HEADER + content.len()) as u64);
        let [level, kind] = [level.to_ne_bytes(), kind.to_ne_bytes()];
        let rest = [&level[..], &kind, content].concat();
        self.words.extend(rest.chunks(WORD).map(|chunk| {
            let mut word = [0; WORD];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        }));
    }

    /// The supervisor's descriptors of the files that the caller passes on.
    fn duplicates(&mut self, caller: &Caller<'_>, content: &[u8]) -> Result<Vec<u8>, Errno> {
        let (numbers, _) = content.as_chunks::<4>();
        if self.files.len() + numbers.len() > MAX_DESCRIPTORS {
            return Err(Errno::INVAL);
        }
        let mut own = Vec::with_capacity(content.len());
        for number in numbers {
            let file = caller.descriptor(i32::from_ne_bytes(*number))?;
            own.extend(file.as_raw_fd().to_ne_bytes());
            self.files.push(file);
        }
        Ok(own)
    }
}

/// Returns packet information without an interface, so that the kernel chooses one. By a named interface, an address of
/// this host could lead out of the host.
fn without_interface(content: &[u8], at: usize) -> Vec<u8> {
    let mut content = content.to_vec();
    content.iter_mut().skip(at).take(size_of::<i32>()).for_each(|byte| *byte = 0);
    content
}

/// Returns credentials (`struct ucred`) with the supervisor's process in place of the caller's: the kernel accepts only
/// the process that sends.
fn credentials(caller: &Caller<'_>, content: &[u8]) -> Result<Vec<u8>, Errno> {
    if content.len() != CREDENTIALS {
        return Err(Errno::INVAL);
    }
    let (pid, ids) = content.split_first_chunk::<4>().ok_or(Errno::INVAL)?;
    if i32::from_ne_bytes(*pid) != caller.process()? {
        return Err(Errno::PERM);
    }
    let own = rustix::process::getpid().as_raw_nonzero().get();
    Ok([&own.to_ne_bytes()[..], ids].concat())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fake::Fake;

    fn message(level: i32, kind: i32, content: &[u8]) -> Vec<u8> {
        let mut control = ControlMessages::default();
        control.push(level, kind, content);
        built(&control)
    }

    fn built(control: &ControlMessages) -> Vec<u8> {
        control.words().iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn translate(family: AddressFamily, buffer: &[u8]) -> Result<ControlMessages, Errno> {
        let mut fake = Fake::new(std::path::Path::new("/"), &[]);
        fake.descriptors.insert(5, std::fs::File::open("/dev/null").unwrap().into());
        let call = Fake::call(libc::SYS_sendmsg, &[]);
        let mut control = ControlMessages::default();
        control.translate(&Caller::new(&fake, call), family, buffer).map(|()| control)
    }

    #[test]
    fn passed_files_are_the_supervisors_own() {
        let buffer = message(libc::SOL_SOCKET, libc::SCM_RIGHTS, &5i32.to_ne_bytes());
        let control = translate(AddressFamily::UNIX, &buffer).unwrap();
        let own = control.files[0].as_raw_fd();
        assert_ne!(own, 5);
        assert_eq!(built(&control), message(libc::SOL_SOCKET, libc::SCM_RIGHTS, &own.to_ne_bytes()));
    }

    #[test]
    fn a_file_that_the_caller_does_not_have_is_refused() {
        let buffer = message(libc::SOL_SOCKET, libc::SCM_RIGHTS, &6i32.to_ne_bytes());
        assert_eq!(translate(AddressFamily::UNIX, &buffer).unwrap_err(), Errno::BADF);
        let many = message(libc::SOL_SOCKET, libc::SCM_RIGHTS, &5i32.to_ne_bytes().repeat(254));
        assert_eq!(translate(AddressFamily::UNIX, &many).unwrap_err(), Errno::INVAL);
    }

    /// A descriptor number of the caller's must never reach the kernel, for which it means a descriptor of the
    /// supervisor's.
    #[test]
    fn families_without_passed_files_get_none() {
        let buffer = message(libc::SOL_SOCKET, libc::SCM_RIGHTS, &5i32.to_ne_bytes());
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            assert!(translate(family, &buffer).unwrap().words().is_empty());
        }
        assert_eq!(translate(AddressFamily::NETLINK, &buffer).unwrap_err(), Errno::INVAL);
    }

    #[test]
    fn the_kernel_chooses_the_interface() {
        let v4 = [7i32.to_ne_bytes(), [127, 0, 0, 1], [0; 4]].concat();
        let sent =
            built(&translate(AddressFamily::INET, &message(libc::SOL_IP, libc::IP_PKTINFO, &v4)).unwrap());
        let expected = [[0; 4], [127, 0, 0, 1], [0; 4]].concat();
        assert_eq!(sent, message(libc::SOL_IP, libc::IP_PKTINFO, &expected));
        let v6 = [&[1; 16][..], &7i32.to_ne_bytes()].concat();
        for kind in [libc::IPV6_PKTINFO, libc::IPV6_2292PKTINFO] {
            let sent = translate(AddressFamily::INET6, &message(libc::SOL_IPV6, kind, &v6)).unwrap();
            assert_eq!(built(&sent), message(libc::SOL_IPV6, kind, &[&[1; 16][..], &[0; 4]].concat()));
        }
        // The kernel itself refuses content that is too short.
        assert!(translate(AddressFamily::INET, &message(libc::SOL_IP, libc::IP_PKTINFO, &[1])).is_ok());
    }

    #[test]
    fn credentials_are_the_callers_own_or_refused() {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let of = |pid: i32| {
            let content = [pid.to_ne_bytes(), 1000i32.to_ne_bytes(), 1000i32.to_ne_bytes()].concat();
            message(libc::SOL_SOCKET, libc::SCM_CREDENTIALS, &content)
        };
        assert_eq!(built(&translate(AddressFamily::UNIX, &of(own)).unwrap()), of(own));
        assert_eq!(translate(AddressFamily::UNIX, &of(1)).unwrap_err(), Errno::PERM);
        let short = message(libc::SOL_SOCKET, libc::SCM_CREDENTIALS, &[0; 8]);
        assert_eq!(translate(AddressFamily::UNIX, &short).unwrap_err(), Errno::INVAL);
    }

    #[test]
    fn another_way_through_the_network_is_refused() {
        for (level, kind) in [
            (libc::SOL_IPV6, libc::IPV6_RTHDR),
            (libc::SOL_IPV6, libc::IPV6_2292RTHDR),
            (libc::SOL_IP, IP_RETOPTS),
        ] {
            let buffer = message(level, kind, &[0; 8]);
            assert_eq!(translate(AddressFamily::INET6, &buffer).unwrap_err(), Errno::PERM);
        }
        let other = message(libc::SOL_IP, libc::IP_TTL, &[64, 0, 0, 0]);
        assert_eq!(built(&translate(AddressFamily::INET, &other).unwrap()), other);
    }

    #[test]
    fn a_length_that_no_message_has_is_refused() {
        for length in [0u64, 15, 18, u64::MAX, u64::MAX - 6] {
            let mut buffer = message(1, 99, b"x");
            buffer.truncate(HEADER + 1);
            buffer[..WORD].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(translate(AddressFamily::UNIX, &buffer).unwrap_err(), Errno::INVAL, "{length}");
        }
        // Less than a header is nothing to the kernel.
        assert!(translate(AddressFamily::UNIX, &[0xff; 15]).unwrap().words().is_empty());
    }

    proptest! {
        /// What is split and built again is the same.
        #[test]
        fn messages_survive(
            contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5),
        ) {
            let buffer: Vec<u8> = contents.iter().flat_map(|content| message(41, 7, content)).collect();
            let read: Vec<_> = split(&buffer).unwrap().into_iter().map(|one| one.content.to_vec()).collect();
            prop_assert_eq!(read, contents);
        }

        /// No bytes cause a panic.
        #[test]
        fn any_bytes_are_split(buffer in prop::collection::vec(any::<u8>(), 0..200), length in 0u64..64) {
            let _ = split(&buffer);
            let mut buffer = buffer;
            if let Some(start) = buffer.first_chunk_mut() {
                *start = length.to_ne_bytes();
            }
            let _ = split(&buffer);
        }
    }
}
