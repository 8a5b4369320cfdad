//! The messages between the guard's processes: a letter and a number.

use std::io::{Read, Write};

/// A message from the leader or reaper to the supervisor, and from the supervisor to the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessMessage {
    /// The process that leads the session on the guard's terminal.
    Leads(i32),
    /// The command's process.
    Started(i32),
    /// The command has ended.
    Ended(CommandEnd),
    /// After the command's end: other processes of the tree go on.
    Remains,
    /// The command was sent this signal, which asks it to end.
    ToldToEnd(ToldToEnd),
}

/// The command was sent this signal, which asks it to end. The process that sent the signal tells the supervisor: the
/// leader, or the front if there is no leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToldToEnd(pub i32);

impl ToldToEnd {
    /// The signals of a terminal that hangs up, and of whoever wants the command to end.
    pub const SIGNALS: [i32; 2] = [libc::SIGHUP, libc::SIGTERM];

    /// The message for this signal, if it asks a command to end.
    pub fn by(signal: i32) -> Option<ToldToEnd> {
        Self::SIGNALS.contains(&signal).then_some(ToldToEnd(signal))
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// With this exit status.
    Status(u8),
    /// By this signal.
    Signal(i32),
}

/// An order from the front to the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Give the terminal to the command, unless another group has it.
    Foreground,
    /// Take the terminal back.
    Background,
    /// Send this signal to the command's group.
    Signal(i32),
}

/// A message from the leader to the front: this signal has stopped the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped(pub i32);

impl Stopped {
    /// The signals that stop a job. The front sends them on to the operator's job. Other stops are not
    /// reported: a traced command stops for every signal.
    pub const SIGNALS: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
}

/// A kind of message.
pub trait Message: Sized {
    /// Converts the message to a letter and a number.
    fn encode(self) -> (u8, i32);
    /// Converts a letter and a number back. Returns None if they are no message of this kind.
    fn decode(letter: u8, number: i32) -> Option<Self>;

    /// Returns the bytes that are sent.
    fn into_bytes(self) -> [u8; 5] {
        let (letter, number) = self.encode();
        let [a, b, c, d] = number.to_ne_bytes();
        [letter, a, b, c, d]
    }

    /// Sends the message.
    ///
    /// # Errors
    /// EPIPE when the receiver is gone.
    fn send(self, mut to: impl Write) -> std::io::Result<()> {
        to.write_all(&self.into_bytes())
    }

    /// Waits for a message. Returns None at the end of the stream, and for an invalid message.
    fn receive(mut from: impl Read) -> Option<Self> {
        let mut message = [0; 5];
        from.read_exact(&mut message).ok()?;
        let [letter, a, b, c, d] = message;
        Self::decode(letter, i32::from_ne_bytes([a, b, c, d]))
    }
}

impl Message for ProcessMessage {
    fn encode(self) -> (u8, i32) {
        match self {
            ProcessMessage::Leads(pid) => (b'L', pid),
            ProcessMessage::Started(pid) => (b'P', pid),
            ProcessMessage::Ended(CommandEnd::Status(status)) => (b'E', i32::from(status)),
            ProcessMessage::Ended(CommandEnd::Signal(signal)) => (b'S', signal),
            ProcessMessage::Remains => (b'R', 0),
            ProcessMessage::ToldToEnd(told) => told.encode(),
        }
    }

    fn decode(letter: u8, number: i32) -> Option<ProcessMessage> {
        match letter {
            b'L' => Some(ProcessMessage::Leads(number)),
            b'P' => Some(ProcessMessage::Started(number)),
            b'E' => Some(ProcessMessage::Ended(CommandEnd::Status(number as u8))),
            b'S' => Some(ProcessMessage::Ended(CommandEnd::Signal(number))),
            b'R' => Some(ProcessMessage::Remains),
            _ => ToldToEnd::decode(letter, number).map(ProcessMessage::ToldToEnd),
        }
    }
}

impl Message for Job {
    fn encode(self) -> (u8, i32) {
        match self {
            Job::Foreground => (b'f', 0),
            Job::Background => (b'b', 0),
            Job::Signal(signal) => (b's', signal),
        }
    }

    fn decode(letter: u8, number: i32) -> Option<Job> {
        match letter {
            b'f' => Some(Job::Foreground),
            b'b' => Some(Job::Background),
            b's' => Some(Job::Signal(number)),
            _ => None,
        }
    }
}

impl Message for Stopped {
    fn encode(self) -> (u8, i32) {
        (b'T', self.0)
    }

    fn decode(letter: u8, number: i32) -> Option<Stopped> {
        (letter == b'T' && Stopped::SIGNALS.contains(&number)).then_some(Stopped(number))
    }
}

impl Message for ToldToEnd {
    fn encode(self) -> (u8, i32) {
        (b'X', self.0)
    }

    fn decode(letter: u8, number: i32) -> Option<ToldToEnd> {
        ToldToEnd::by(number).filter(|_| letter == b'X')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let mut bytes = Vec::new();
        for message in [
            ProcessMessage::Leads(7),
            ProcessMessage::Ended(CommandEnd::Status(255)),
            ProcessMessage::Ended(CommandEnd::Signal(11)),
            ProcessMessage::Remains,
            ProcessMessage::ToldToEnd(ToldToEnd(15)),
        ] {
            message.send(&mut bytes).unwrap();
        }
        let mut from = &bytes[..];
        assert_eq!(ProcessMessage::receive(&mut from), Some(ProcessMessage::Leads(7)));
        assert_eq!(ProcessMessage::receive(&mut from), Some(ProcessMessage::Ended(CommandEnd::Status(255))));
        assert_eq!(ProcessMessage::receive(&mut from), Some(ProcessMessage::Ended(CommandEnd::Signal(11))));
        assert_eq!(ProcessMessage::receive(&mut from), Some(ProcessMessage::Remains));
        assert_eq!(ProcessMessage::receive(&mut from), Some(ProcessMessage::ToldToEnd(ToldToEnd(15))));
        assert_eq!(ProcessMessage::receive(&mut from), None);
        assert_eq!(Job::receive(&b"s\x0f\0\0\0"[..]), Some(Job::Signal(15)));
        assert_eq!(Stopped::receive(&b"s\x13\0\0\0"[..]), None);
        assert_eq!(Stopped::receive(&b"T\x13\0\0\0"[..]), Some(Stopped(19)));
        assert_eq!(Stopped::receive(&b"T\x0f\0\0\0"[..]), None, "SIGTERM stops nothing");
    }
}
