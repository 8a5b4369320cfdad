//! sendto, sendmsg and sendmmsg: each message may name its receiver, in memory. The supervisor reads the whole message,
//! judges the receiver, and sends on the caller's own socket.
//!
//! The filter sees neither the kind of a socket nor a message in memory, so sendmsg(2) of a stream comes here, too.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use guard_policy::Transport;
use guard_shim::failpoints::{Layer, is_layer_off};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SocketType};

use super::address::{Address, Use};
use super::control_messages::ControlMessages;
use super::message::{CallerMessage, MAX_PARTS, MessageContent};
use super::{internet, unix};
use crate::kernel::errno;
use crate::kernel::messages::{self, OutgoingMessage};
use crate::reply::{ContinueReason, HandlerResult, Reply};
use crate::resolve::Object;
use crate::syscall::Request;

/// How much of a stream is read and sent at once.
const STREAM_CHUNK: u64 = 64 << 10;
/// The longest message of the internet's sockets.
const MAX_INTERNET_MESSAGE: u64 = 0xffff;
/// The longest message of any socket, however large its buffer.
const MAX_MESSAGE: u64 = 16 << 20;
/// `sizeof(struct mmsghdr)`, and where in it the kernel writes how much it sent.
const MMSGHDR: u64 = 64;
const MSG_LEN_AT: u64 = 56;
/// Flags that are meant for the end of what is sent.
const LAST_ONLY: i32 = libc::MSG_OOB | libc::MSG_EOR;

/// sendto(2), with start and length of the content and of the address.
pub(crate) fn sendto(
    request: &Request<'_, '_>,
    fd: i32,
    content: (u64, u64),
    flags: i32,
    name: (u64, u64),
) -> HandlerResult {
    let socket = CallerSocket::find(request, fd)?;
    let message = CallerMessage::from_arguments(request, content, name);
    send_one(request, socket, message, flags)
}

/// sendmsg(2), with the address of the message.
pub(crate) fn sendmsg(request: &Request<'_, '_>, fd: i32, message: u64, flags: i32) -> HandlerResult {
    let socket = CallerSocket::find(request, fd)?;
    let message = CallerMessage::read(request.caller, message);
    send_one(request, socket, message, flags)
}

fn send_one(
    request: &Request<'_, '_>,
    socket: CallerSocket,
    message: Result<CallerMessage, Errno>,
    flags: i32,
) -> HandlerResult {
    let message = message.and_then(|message| socket.judge(request, message));
    if message.is_ok() && is_layer_off(Layer::Broker) {
        return Ok(Reply::Continue(ContinueReason::BrokerOff));
    }
    let sent = message.and_then(|message| socket.send(request, message, flags));
    socket.reply(request, sent.map(|sent| sent as i64))
}

/// sendmmsg(2), with the address of the first message. After an error it returns how many were sent, if any.
pub(crate) fn sendmmsg(
    request: &Request<'_, '_>,
    fd: i32,
    messages: u64,
    count: u32,
    flags: i32,
) -> HandlerResult {
    let socket = CallerSocket::find(request, fd)?;
    let mut done = 0;
    for index in 0..u64::from(count).min(MAX_PARTS) {
        if index == 1 {
            request.worker.ensure_spare();
        }
        match socket.send_one_of(request, messages, index, flags) {
            Ok(Sent::Wholly) => done += 1,
            Ok(Sent::Partly) => {
                done += 1;
                break;
            }
            Err(error) if done == 0 => return socket.reply(request, Err(error)),
            Err(_) => break,
        }
    }
    socket.reply(request, Ok(done))
}

/// How much of a message was sent.
enum Sent {
    Wholly,
    Partly,
}

/// The caller's socket.
struct CallerSocket {
    fd: OwnedFd,
    family: AddressFamily,
    kind: SocketType,
}

/// Where a message goes.
enum Receiver {
    /// To the socket in the file system to which the address leads.
    At { _socket: Object },
    /// To the socket of the tree's that has this abstract name.
    Abstract,
    /// Along the connection, or to another address.
    Other,
}

/// A message that may be sent.
struct JudgedMessage {
    /// The receiver's address for the kernel; empty if the message names none.
    name: Vec<u8>,
    receiver: Receiver,
    content: MessageContent,
    control: ControlMessages,
}

impl CallerSocket {
    fn find(request: &Request<'_, '_>, fd: i32) -> Result<CallerSocket, Errno> {
        let fd = request.caller.descriptor(fd)?;
        let (family, kind) = match sockopt::socket_domain(&fd) {
            Ok(family) => (family, sockopt::socket_type(&fd)?),
            // send(2) rejects an O_PATH descriptor before anything else.
            Err(_) if rustix::fs::fcntl_getfl(&fd)?.contains(OFlags::PATH) => return Err(Errno::BADF),
            Err(error) => return Err(error),
        };
        Ok(CallerSocket { fd, family, kind })
    }

    /// Ends the call. EINTR becomes an interrupted call, unless the socket has a timeout: the call is not restarted
    /// then (signal(7)).
    fn reply(self, request: &Request<'_, '_>, result: Result<i64, Errno>) -> HandlerResult {
        let restarts =
            || sockopt::socket_timeout(&self.fd, Timeout::Send).is_ok_and(|timeout| timeout.is_none());
        let result = match result {
            Ok(value) => Ok(Reply::Value(value)),
            Err(Errno::INTR) if restarts() => Ok(Reply::Interrupted),
            Err(error) => Err(error),
        };
        request.worker.close(request.caller, [self.fd]);
        result
    }

    /// Sends message `index` of those at `messages`.
    fn send_one_of(
        &self,
        request: &Request<'_, '_>,
        messages: u64,
        index: u64,
        flags: i32,
    ) -> Result<Sent, Errno> {
        let at = messages.checked_add(index * MMSGHDR).ok_or(Errno::FAULT)?;
        let message = CallerMessage::read(request.caller, at)?;
        let length = message.content.length();
        let sent = self.send(request, self.judge(request, message)?, flags)?;
        let field = at.checked_add(MSG_LEN_AT).ok_or(Errno::FAULT)?;
        request.caller.write(field, &(sent as u32).to_ne_bytes())?;
        Ok(if (sent as u64) < length { Sent::Partly } else { Sent::Wholly })
    }

    /// Sends a judged message. Returns how many bytes were sent.
    fn send(&self, request: &Request<'_, '_>, message: JudgedMessage, flags: i32) -> Result<usize, Errno> {
        let JudgedMessage { name, receiver, content, control } = message;
        let is_abstract = matches!(receiver, Receiver::Abstract);
        let sent = self.send_with(request, &name, is_abstract, content, &control, flags);
        control.close(request);
        match sent {
            Err(Errno::PERM) if is_abstract => Err(unix::judge_again(request, &name, self.kind)),
            sent => sent,
        }
    }

    fn send_with(
        &self,
        request: &Request<'_, '_>,
        name: &[u8],
        is_abstract: bool,
        content: MessageContent,
        control: &ControlMessages,
        flags: i32,
    ) -> Result<usize, Errno> {
        // The kernel would wait for the network before it lets go of the supervisor's memory.
        let flags = flags & !libc::MSG_ZEROCOPY;
        let transmission = Transmission { socket: self.fd.as_fd(), name, is_abstract, control, flags };
        if self.kind != SocketType::STREAM {
            if content.length() > self.max_message()? {
                return Err(Errno::MSGSIZE);
            }
            let send = || transmission.send_whole(request, content);
            return match self.family {
                AddressFamily::UNIX => request.guard.created.sockets.naming(self.fd.as_fd(), send),
                _ => send(),
            };
        }
        let sent = transmission.send_stream(request, content);
        if sent == Err(Errno::PIPE) && flags & libc::MSG_NOSIGNAL == 0 {
            let process = request.caller.process()?;
            request.caller.kernel().signal(process, request.caller.tid(), libc::SIGPIPE);
        }
        sent
    }

    /// The longest message that the kernel may take: longer ones need not be read.
    fn max_message(&self) -> Result<u64, Errno> {
        let buffer = sockopt::socket_send_buffer_size(&self.fd)? as u64;
        Ok(buffer.clamp(MAX_INTERNET_MESSAGE, MAX_MESSAGE))
    }

    /// Judges the receiver of a message, and translates its control messages.
    fn judge(&self, request: &Request<'_, '_>, message: CallerMessage) -> Result<JudgedMessage, Errno> {
        let CallerMessage { name, content, control } = message;
        let (name, receiver) = self.judge_receiver(request, name)?;
        let mut translated = ControlMessages::default();
        if let Err(error) = translated.translate(request.caller, self.family, &control) {
            translated.close(request);
            return Err(error);
        }
        Ok(JudgedMessage { name, receiver, content, control: translated })
    }

    /// Judges the receiver that a message names. Returns its address for the kernel.
    fn judge_receiver(&self, request: &Request<'_, '_>, name: Vec<u8>) -> Result<(Vec<u8>, Receiver), Errno> {
        // Sockets of these types send along their connection, whatever receiver the message names. The filter refuses
        // the flag by which a message makes a connection.
        if [SocketType::STREAM, SocketType::SEQPACKET].contains(&self.kind) {
            return Ok((name, Receiver::Other));
        }
        if [AddressFamily::INET, AddressFamily::INET6].contains(&self.family) {
            request.guard.judge_socket(request.caller, Transport::Udp)?;
        }
        match Address::parse(&name, self.family, Use::Send) {
            Address::Path(path) => {
                let (name, receiver) = unix::receiver(request, path)?;
                Ok((name, Receiver::At { _socket: receiver }))
            }
            Address::Abstract => {
                unix::judge_name(request, &name, self.kind).map(|_| (name, Receiver::Abstract))
            }
            Address::Internet(to) => {
                Ok((internet::receiver(request, self.fd.as_fd(), &name, to)?, Receiver::Other))
            }
            Address::Other => Ok((name, Receiver::Other)),
        }
    }
}

/// A judged message on its way.
struct Transmission<'m> {
    socket: BorrowedFd<'m>,
    name: &'m [u8],
    /// Whether the name is that of an abstract socket.
    is_abstract: bool,
    control: &'m ControlMessages,
    flags: i32,
}

impl Transmission<'_> {
    /// Sends the content as one message.
    fn send_whole(&self, request: &Request<'_, '_>, mut content: MessageContent) -> Result<usize, Errno> {
        let data = content.next(request.caller, content.length())?;
        request.caller.check()?;
        self.transmit(request, &data, self.control.words(), self.flags)
    }

    /// Sends the content in pieces. After an error it returns how much was sent, if anything.
    fn send_stream(&self, request: &Request<'_, '_>, mut content: MessageContent) -> Result<usize, Errno> {
        let mut sent = 0;
        let mut control = self.control.words();
        loop {
            let (count, length) = match self.send_piece(request, &mut content, control) {
                Err(_) if sent > 0 => return Ok(sent),
                piece => piece?,
            };
            sent += count;
            if count < length || content.length() == 0 {
                return Ok(sent);
            }
            control = &[];
        }
    }

    /// Sends the next piece of a stream. Returns how much of it was sent, and its length.
    fn send_piece(
        &self,
        request: &Request<'_, '_>,
        content: &mut MessageContent,
        mut control: &[u64],
    ) -> Result<(usize, usize), Errno> {
        let data = content.next(request.caller, STREAM_CHUNK)?;
        request.caller.check()?;
        let flags = if content.length() > 0 { self.flags & !LAST_ONLY } else { self.flags };
        let mut sent = 0;
        loop {
            let count = match self.transmit(request, &data[sent..], control, flags) {
                Err(_) if sent > 0 => break,
                count => count?,
            };
            sent += count;
            if count == 0 || sent == data.len() {
                break;
            }
            control = &[];
        }
        Ok((sent, data.len()))
    }

    /// Hands one message to the kernel. Blocks only after the kernel says that the call would block.
    fn transmit(
        &self,
        request: &Request<'_, '_>,
        data: &[u8],
        control: &[u64],
        flags: i32,
    ) -> Result<usize, Errno> {
        let send = |flags| self.hand_over(request, OutgoingMessage { name: self.name, data, control }, flags);
        let sent = send(flags | libc::MSG_DONTWAIT);
        let waits = sent == Err(Errno::AGAIN)
            && flags & libc::MSG_DONTWAIT == 0
            && !rustix::fs::fcntl_getfl(self.socket)?.contains(OFlags::NONBLOCK);
        if waits {
            // The socket, the receiver's file, and the files that are passed on.
            let descriptors = 2 + self.control.count_files();
            let bytes = data.len() + size_of_val(control);
            return request.worker.block_send(request.caller, descriptors, bytes, || send(flags));
        }
        sent
    }

    /// Makes the system call; for an abstract name, in the scope of the tree's abstract sockets.
    fn hand_over(
        &self,
        request: &Request<'_, '_>,
        message: OutgoingMessage<'_>,
        flags: i32,
    ) -> Result<usize, Errno> {
        let scope = &request.guard.session.scope;
        if !(self.is_abstract && scope.is_entered()) {
            return messages::send(self.socket, message, flags);
        }
        let OutgoingMessage { name, data, control } = message;
        let (name, data, control) = (name.to_vec(), data.to_vec(), control.to_vec());
        let socket = self.socket.try_clone_to_owned().map_err(errno::from_io)?;
        let deputy = request.worker.deputy();
        let send = move || {
            let message = OutgoingMessage { name: &name, data: &data, control: &control };
            deputy.run(|| messages::send(socket.as_fd(), message, flags))
        };
        if flags & libc::MSG_DONTWAIT != 0 { scope.run(send)? } else { scope.start(send)? }
    }
}
