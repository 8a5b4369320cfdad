//! A message in the caller's memory: sendto(2)'s arguments, or `struct msghdr`.

use std::collections::VecDeque;

use rustix::io::Errno;

use super::ADDRESS_MAX;
use super::address::bytes;
use crate::caller::Caller;
use crate::syscall::Request;

/// `sizeof(struct msghdr)`.
const HEADER: usize = 56;
/// `sizeof(struct iovec)`.
const IOVEC: usize = 16;
/// `UIO_MAXIOV`: the kernel accepts no more parts, and sendmmsg(2) no more messages.
pub const MAX_PARTS: u64 = 1024;
/// The most bytes of control messages. The kernel's own bound (net.core.optmem_max) is no higher.
const MAX_CONTROL: u64 = 128 << 10;
/// `MAX_RW_COUNT`: the kernel takes no more in one call. It is a number of pages.
fn max_content() -> u64 {
    i32::MAX as u64 & !(rustix::param::page_size() as u64 - 1)
}

/// A message; its content is still in the caller's memory.
#[derive(Debug, Default)]
pub struct CallerMessage {
    /// The address of its receiver; empty for none.
    pub name: Vec<u8>,
    /// Its content.
    pub content: MessageContent,
    /// Its control messages, as the caller wrote them.
    pub control: Vec<u8>,
}

impl CallerMessage {
    /// The message that sendto(2)'s arguments describe: addresses and lengths of the content and of the name.
    ///
    /// # Errors
    /// As [`super::read_address`].
    pub fn from_arguments(
        request: &Request<'_, '_>,
        content: (u64, u64),
        (name, length): (u64, u64),
    ) -> Result<CallerMessage, Errno> {
        let name = if name == 0 { Vec::new() } else { super::read_address(request, name, length)? };
        Ok(CallerMessage { name, content: MessageContent::new([content]), control: Vec::new() })
    }

    /// The message that the structure at this address describes.
    ///
    /// # Errors
    /// EFAULT; EINVAL for lengths that are not possible; EMSGSIZE for too many parts; ENOBUFS for too long control
    /// messages; ESRCH if the caller is gone.
    pub fn read(caller: &Caller<'_>, address: u64) -> Result<CallerMessage, Errno> {
        let mut header = [0; HEADER];
        caller.peek_bytes(address, &mut header)?;
        let word = |at: usize| u64::from_ne_bytes(bytes(&header, at));
        let (name, parts, control) = ((word(0), word(8)), (word(16), word(24)), (word(32), word(40)));
        let name = read_name(caller, name)?;
        let content = read_parts(caller, parts)?;
        let control = match control {
            (_, 0) => Vec::new(),
            (_, length) if length > MAX_CONTROL => return Err(Errno::NOBUFS),
            (at, length) => {
                let mut control = vec![0; length as usize];
                caller.peek_bytes(at, &mut control)?;
                control
            }
        };
        caller.check()?;
        Ok(CallerMessage { name, content, control })
    }
}

/// `msg_name` and `msg_namelen`, which is an `int` and may be too long.
fn read_name(caller: &Caller<'_>, (address, length): (u64, u64)) -> Result<Vec<u8>, Errno> {
    if address == 0 {
        return Ok(Vec::new());
    }
    let length = u64::try_from(length as u32 as i32).map_err(|_| Errno::INVAL)?;
    let mut name = vec![0; length.min(ADDRESS_MAX) as usize];
    caller.peek_bytes(address, &mut name)?;
    Ok(name)
}

/// `msg_iov` and `msg_iovlen`.
fn read_parts(caller: &Caller<'_>, (address, count): (u64, u64)) -> Result<MessageContent, Errno> {
    if count > MAX_PARTS {
        return Err(Errno::MSGSIZE);
    }
    let mut raw = vec![0; count as usize * IOVEC];
    caller.peek_bytes(address, &mut raw)?;
    let (words, _) = raw.as_chunks::<8>();
    let parts: Vec<(u64, u64)> =
        words.chunks(2).map(|part| (u64::from_ne_bytes(part[0]), u64::from_ne_bytes(part[1]))).collect();
    if parts.iter().any(|&(_, length)| i64::try_from(length).is_err()) {
        return Err(Errno::INVAL);
    }
    Ok(MessageContent::new(parts))
}

/// Ranges of the caller's memory, which are read piece by piece.
#[derive(Debug, Default)]
pub struct MessageContent {
    /// Start and length of each range; none is empty.
    parts: VecDeque<(u64, u64)>,
    length: u64,
}

impl MessageContent {
    /// The ranges, given by start and length, as far as the kernel takes them in one call.
    fn new(parts: impl IntoIterator<Item = (u64, u64)>) -> MessageContent {
        let mut content = MessageContent::default();
        for (start, length) in parts {
            let length = length.min(max_content() - content.length);
            if length > 0 {
                content.parts.push_back((start, length));
                content.length += length;
            }
        }
        content
    }

    /// How many bytes are left.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads the next bytes, at most `max`. Does not check that the caller is there: see [`Caller::peek`].
    ///
    /// # Errors
    /// EFAULT if one of them cannot be read.
    pub fn next(&mut self, caller: &Caller<'_>, max: u64) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; self.length.min(max) as usize];
        let (mut parts, mut left) = (Vec::new(), bytes.len() as u64);
        while left > 0 {
            let Some((start, length)) = self.parts.pop_front() else { break };
            let count = length.min(left);
            parts.push((start, count));
            left -= count;
            self.length -= count;
            if count < length {
                self.parts.push_front((start + count, length - count));
            }
        }
        if !parts.is_empty() {
            caller.peek_parts(&parts, &mut bytes)?;
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fake::Fake;

    /// A caller with these regions in memory.
    fn memory(regions: &[(u64, Vec<u8>)]) -> Fake {
        let mut fake = Fake::default();
        fake.memory.extend(regions.iter().cloned());
        fake
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn read(fake: &Fake) -> Result<CallerMessage, Errno> {
        CallerMessage::read(&Caller::new(fake, Fake::call(libc::SYS_sendmsg, &[])), 0x1000)
    }

    #[test]
    fn a_message_is_read_with_its_name_parts_and_control() {
        let fake = memory(&[
            (0x1000, words(&[0x2000, 3, 0x3000, 3, 0x5000, 4, 0])),
            (0x2000, b"abc".to_vec()),
            (0x3000, words(&[0x4000, 2, 0x9000, 0, 0x4010, 3])),
            (0x4000, b"he".to_vec()),
            (0x4010, b"llo".to_vec()),
            (0x5000, b"ctrl".to_vec()),
        ]);
        let mut message = read(&fake).unwrap();
        assert_eq!((&message.name[..], &message.control[..]), (&b"abc"[..], &b"ctrl"[..]));
        assert_eq!(message.content.length(), 5);
        let caller = Caller::new(&fake, Fake::call(libc::SYS_sendmsg, &[]));
        assert_eq!(message.content.next(&caller, 3).unwrap(), b"hel");
        assert_eq!(message.content.next(&caller, 9).unwrap(), b"lo");
        assert_eq!(message.content.next(&caller, 9).unwrap(), b"");
        assert_eq!(message.content.length(), 0);
    }

    #[test]
    fn impossible_lengths_have_the_kernels_errors() {
        let with = |index: usize, value: u64| {
            let mut header = [0x2000, 3, 0x3000, 1, 0x5000, 0, 0];
            header[index] = value;
            read(&memory(&[
                (0x1000, words(&header)),
                (0x2000, vec![7; 200]),
                (0x3000, words(&[0x4000, 2])),
                (0x4000, b"he".to_vec()),
            ]))
        };
        assert_eq!(with(1, 0xffff_ffff).unwrap_err(), Errno::INVAL);
        // A name that is too long is cut.
        assert_eq!(with(1, 190).unwrap().name, [7; 128]);
        assert_eq!(with(0, 0).unwrap().name, b"");
        assert_eq!(with(3, 1025).unwrap_err(), Errno::MSGSIZE);
        assert_eq!(with(3, 2).unwrap_err(), Errno::FAULT);
        assert_eq!(with(5, MAX_CONTROL + 1).unwrap_err(), Errno::NOBUFS);
        assert_eq!(with(5, 1).unwrap_err(), Errno::FAULT);
        let negative =
            memory(&[(0x1000, words(&[0, 0, 0x3000, 1, 0, 0, 0])), (0x3000, words(&[0x4000, u64::MAX]))]);
        assert_eq!(read(&negative).unwrap_err(), Errno::INVAL);
        assert_eq!(read(&memory(&[])).unwrap_err(), Errno::FAULT);
    }

    #[test]
    fn no_more_is_taken_than_the_kernel_takes() {
        let content = MessageContent::new([(0x1000, 0x7fff_0000), (0x2000, 0x7fff_0000), (0x3000, 1)]);
        assert_eq!(content.length(), max_content());
    }
}
