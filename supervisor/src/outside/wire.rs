//! What goes over the sockets: from the supervisor to the process outside, and between that process and the client in the tree.
//!
//! All sockets keep messages apart. A message is a letter and a number, except a refusal, which is a text.

use std::ffi::CString;
use std::io::{IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

use crate::kernel::errno;

/// The path that the client opens to get its channel, where no file is.
pub const CHANNEL: &str = "/.openclaw-guard/outside";
/// The longest message.
pub const MAX_MESSAGE: usize = 4096;
/// The most descriptors of a message.
const MAX_DESCRIPTORS: usize = 8;
/// The signals that a client passes on.
pub const PASSED: [i32; 8] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGCONT,
    libc::SIGTSTP,
];

/// A message to or from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMessage {
    /// To the client: nothing runs, and why.
    Refused(String),
    /// To the client, with a descriptor: the terminal to relay.
    Terminal,
    /// To the client: this signal has stopped the command.
    Stopped(i32),
    /// To the client: the command has ended with this status.
    Status(u8),
    /// To the client: this signal has ended the command.
    Signalled(i32),
    /// From the client: pass on this signal.
    Pass(i32),
}

impl ClientMessage {
    /// The bytes to send.
    pub fn encode(&self) -> Vec<u8> {
        let number = |letter: u8, number: i32| [&[letter][..], &number.to_ne_bytes()].concat();
        match self {
            ClientMessage::Refused(text) => {
                let end = text.len().min(MAX_MESSAGE - 1);
                [b"X", &text.as_bytes()[..end]].concat()
            }
            ClientMessage::Terminal => number(b'M', 0),
            ClientMessage::Stopped(signal) => number(b'T', *signal),
            ClientMessage::Status(status) => number(b'E', i32::from(*status)),
            ClientMessage::Signalled(signal) => number(b'S', *signal),
            ClientMessage::Pass(signal) => number(b'p', *signal),
        }
    }

    /// The message of these bytes, if they are one.
    pub fn decode(bytes: &[u8]) -> Option<ClientMessage> {
        let (letter, rest) = bytes.split_first()?;
        if *letter == b'X' {
            return Some(ClientMessage::Refused(String::from_utf8_lossy(rest).into_owned()));
        }
        let number = i32::from_ne_bytes(rest.try_into().ok()?);
        match letter {
            b'M' => Some(ClientMessage::Terminal),
            b'T' => Some(ClientMessage::Stopped(number)),
            b'E' => Some(ClientMessage::Status(u8::try_from(number).ok()?)),
            b'S' => Some(ClientMessage::Signalled(number)),
            b'p' => PASSED.contains(&number).then_some(ClientMessage::Pass(number)),
            _ => None,
        }
    }
}

/// How a run has ended, for the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The number of the run.
    pub id: u64,
    /// The exit status; 128 + n if signal n has ended the run.
    pub status: i32,
}

impl RunEnd {
    /// The bytes to send.
    pub fn encode(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.id.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.status.to_ne_bytes());
        bytes
    }

    /// The message of these bytes.
    pub fn decode(bytes: &[u8]) -> Option<RunEnd> {
        let (id, status) = bytes.split_at_checked(8)?;
        let id = u64::from_ne_bytes(id.try_into().ok()?);
        Some(RunEnd { id, status: i32::from_ne_bytes(status.try_into().ok()?) })
    }
}

/// What is to be run, as the process outside gets it.
#[derive(Debug)]
pub struct Order {
    /// The number of the run.
    pub id: u64,
    /// The arguments.
    pub argv: Vec<CString>,
    /// The whole environment.
    pub environment: Vec<CString>,
    /// The program: the file that was judged, or a copy of it that nobody can change.
    pub program: OwnedFd,
    /// The current directory.
    pub directory: OwnedFd,
    /// Which argument is the name of a script, and a copy of it that nobody can change.
    pub script: Option<(usize, OwnedFd)>,
    /// Descriptors 0, 1 and 2.
    pub stdio: [OwnedFd; 3],
    /// The client's channel.
    pub channel: OwnedFd,
}

impl Order {
    /// Sends the order, without blocking.
    ///
    /// # Errors
    /// The kernel's.
    pub fn send(&self, to: BorrowedFd<'_>) -> Result<(), Errno> {
        let mut text = std::fs::File::from(memfd_create(c"order", MemfdFlags::CLOEXEC)?);
        for word in self.argv.iter().chain(&self.environment) {
            text.write_all(word.as_bytes_with_nul()).map_err(errno::from_io)?;
        }
        let script = self.script.as_ref().map_or(u64::MAX, |(at, _)| *at as u64);
        let head = [self.id, self.argv.len() as u64, self.environment.len() as u64, script];
        let head: Vec<u8> = head.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let [input, output, error] = &self.stdio;
        let mut descriptors = vec![
            text.as_fd(),
            self.program.as_fd(),
            self.directory.as_fd(),
            input.as_fd(),
            output.as_fd(),
            error.as_fd(),
            self.channel.as_fd(),
        ];
        descriptors.extend(self.script.as_ref().map(|(_, script)| script.as_fd()));
        send_with(to, &head, &descriptors)
    }

    /// Receives an order. Returns [`Received::End`] at the end of the stream, and [`Received::Nothing`] for what is no
    /// order.
    pub fn receive(from: BorrowedFd<'_>) -> Received {
        let (bytes, descriptors) = match receive_with(from) {
            Ok((bytes, _)) if bytes.is_empty() => return Received::End,
            Ok(message) => message,
            Err(Errno::INTR) => return Received::Nothing,
            Err(_) => return Received::End,
        };
        Order::decode(&bytes, descriptors).map_or(Received::Nothing, |order| Received::Order(Box::new(order)))
    }

    fn decode(bytes: &[u8], descriptors: Vec<OwnedFd>) -> Option<Order> {
        let numbers = bytes.chunks_exact(8).map(|chunk| chunk.try_into().map(u64::from_ne_bytes).ok());
        let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        let [id, arguments, variables, script] = numbers[..] else { return None };
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next();
        let mut text = std::fs::File::from(next()?);
        let (program, directory) = (next()?, next()?);
        let stdio = [next()?, next()?, next()?];
        let channel = next()?;
        let script = match script {
            u64::MAX => None,
            at => Some((usize::try_from(at).ok()?, next()?)),
        };
        text.rewind().ok()?;
        let mut strings = Vec::new();
        text.read_to_end(&mut strings).ok()?;
        let strings = strings.strip_suffix(&[0])?;
        let words: Vec<CString> =
            strings.split(|byte| *byte == 0).map(CString::new).collect::<Result<_, _>>().ok()?;
        let (argv, environment) = words.split_at_checked(usize::try_from(arguments).ok()?)?;
        if argv.is_empty() || environment.len() as u64 != variables {
            return None;
        }
        let (argv, environment) = (argv.to_vec(), environment.to_vec());
        Some(Order { id, argv, environment, program, directory, script, stdio, channel })
    }
}

/// What came over the link.
pub enum Received {
    /// An order.
    Order(Box<Order>),
    /// Nothing that can be used.
    Nothing,
    /// The supervisor is gone.
    End,
}

/// Sends bytes and descriptors as one message, without blocking.
///
/// # Errors
/// The kernel's.
pub fn send_with(to: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::sendmsg(to, &[IoSlice::new(bytes)], &mut control, flags).map(drop)
}

/// Receives one message. Its bytes are empty at the end of the stream.
///
/// # Errors
/// The kernel's.
pub fn receive_with(from: BorrowedFd<'_>) -> Result<(Vec<u8>, Vec<OwnedFd>), Errno> {
    receive(from, RecvFlags::CMSG_CLOEXEC)
}

/// Receives one message that is there already; EAGAIN if none is.
///
/// # Errors
/// The kernel's.
pub fn receive_now(from: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    receive(from, RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT).map(|(bytes, _)| bytes)
}

fn receive(from: BorrowedFd<'_>, flags: RecvFlags) -> Result<(Vec<u8>, Vec<OwnedFd>), Errno> {
    let mut bytes = vec![0; MAX_MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = {
        let mut into = [IoSliceMut::new(&mut bytes)];
        rustix::net::recvmsg(from, &mut into, &mut control, flags)?
    };
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let descriptors = descriptors.flatten().collect();
    bytes.truncate(received.bytes);
    Ok((bytes, descriptors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        for message in [
            ClientMessage::Refused("no".to_owned()),
            ClientMessage::Terminal,
            ClientMessage::Stopped(20),
            ClientMessage::Status(255),
            ClientMessage::Signalled(9),
            ClientMessage::Pass(libc::SIGTERM),
        ] {
            assert_eq!(ClientMessage::decode(&message.encode()), Some(message));
        }
        for wrong in [&b""[..], b"E", b"E\0\0\0", b"E\0\x01\0\0", b"?\0\0\0\0", b"E\0\0\0\0\0"] {
            assert_eq!(ClientMessage::decode(wrong), None, "{wrong:?}");
        }
        let kill = [&b"p"[..], &libc::SIGKILL.to_ne_bytes()].concat();
        assert_eq!(ClientMessage::decode(&kill), None, "a client passes on what it could catch");
        let long = ClientMessage::Refused("x".repeat(2 * MAX_MESSAGE)).encode();
        assert_eq!(long.len(), MAX_MESSAGE);
        let end = RunEnd { id: 7, status: 143 };
        assert_eq!(RunEnd::decode(&end.encode()), Some(end));
    }

    #[test]
    fn an_order_arrives_with_its_descriptors() {
        let (ours, theirs) = guard_shim::channel().unwrap();
        let null =
            || rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).unwrap();
        let order = Order {
            id: 3,
            argv: vec![c"a".to_owned(), c"".to_owned()],
            environment: vec![c"A=1".to_owned()],
            program: null(),
            directory: null(),
            script: Some((1, null())),
            stdio: [null(), null(), null()],
            channel: null(),
        };
        order.send(ours.as_fd()).unwrap();
        let Received::Order(got) = Order::receive(theirs.as_fd()) else { panic!("no order") };
        assert_eq!((got.id, got.argv, got.environment), (3, order.argv, order.environment));
        assert_eq!(got.script.map(|(at, _)| at), Some(1));
        drop(ours);
        assert!(matches!(Order::receive(theirs.as_fd()), Received::End));
    }
}
