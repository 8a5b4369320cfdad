//! The session's end of its socket. Peers are served one after another, each with one request.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use guard_approvals::routes::Peer;
use guard_approvals::routes::guard_socket::Socket;
use guard_openclaw::peer::nested_guard::is_guard;
use guard_openclaw::ports::IsMember;

use super::control::Control;
use super::protocol::{MAX_REQUEST_LEN, SessionReply, SessionRequest, VERSION};
use crate::audit::report::Reporter;
use crate::panics::restart_on_panic;

/// How long a peer may take to send its request, or to read the reply.
const IO_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause after a failed accept. Usually the descriptors are used up.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Starts the thread that answers on this socket. Dropping the socket removes its name; the thread ends with the process.
///
/// # Errors
/// If no thread can be started.
pub fn serve(socket: &Socket, is_member: IsMember, control: Control, reporter: Reporter) -> io::Result<()> {
    let listener = socket.accepting().try_clone()?;
    listener.set_nonblocking(false)?;
    let accept = move || accept_all(&listener, &is_member, &control);
    let work = move || restart_on_panic(accept, |fault| reporter.fault(fault, None));
    std::thread::Builder::new().name("session".into()).spawn(work).map(drop)
}

fn accept_all(listener: &UnixListener, is_member: &IsMember, control: &Control) {
    loop {
        match listener.accept() {
            // A peer that has gone needs no reply.
            Ok((stream, _)) => drop(serve_peer(&stream, is_member, control)),
            Err(_) => std::thread::sleep(RETRY_INTERVAL),
        }
    }
}

fn serve_peer(stream: &UnixStream, is_member: &IsMember, control: &Control) -> io::Result<()> {
    // A guard connects only on behalf of its tree. The reason is not sent: a process of a tree learns nothing here.
    let Ok(peer) = Peer::from_stream(stream, is_member) else { return Ok(()) };
    if is_guard(peer.pid) {
        return Ok(());
    }
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    let mut line = Vec::new();
    BufReader::new(stream.take(MAX_REQUEST_LEN)).read_until(b'\n', &mut line)?;
    let mut reply = serde_json::to_vec(&reply(&line, control, peer.pid))?;
    reply.push(b'\n');
    let mut stream = stream;
    stream.write_all(&reply)
}

fn reply(line: &[u8], control: &Control, by: i32) -> SessionReply {
    // A line that was cut could ask for something else.
    let whole = line.strip_suffix(b"\n").ok_or("the request has no end".to_owned());
    let request = whole.and_then(|line| {
        serde_json::from_slice::<SessionRequest>(line)
            .map_err(|error| format!("the request cannot be read: {error}"))
    });
    match request {
        Ok(request) if request.version == VERSION => control.answer(&request.method, by),
        Ok(request) => SessionReply::Error {
            message: format!("this guard speaks version {VERSION} of the protocol, not {}", request.version),
        },
        Err(message) => SessionReply::Error { message },
    }
}
