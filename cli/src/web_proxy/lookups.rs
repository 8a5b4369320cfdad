//! Look-ups of the tree (RFC 1035). Each name that may be reached has an address that stands for it; no name server is
//! asked.
//!
//! Why: docs/decisions.md, "A look-up is answered with an address that stands for the name."

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use guard_supervisor::web::wire::{ProxySocket, WebPeer};
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{DNSClass, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::client::Client;
use super::supervisor_link::SupervisorLink;

/// How long a program may keep an answer, in seconds. The address stands for the name much longer.
const TTL: u32 = 5;
/// The longest message that is read, as EDNS has it: a question has at most 255 bytes of name.
const MAX_QUESTION: usize = 1232;
/// The most datagrams that are answered at a time. A datagram from outside of the tree takes a place until it is
/// certain that it is from outside.
const MAX_ANSWERS: usize = 256;
/// How long a connection of TCP may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause after an error of the socket.
const ERROR_PAUSE: Duration = Duration::from_millis(50);

/// Answers datagrams, without an end.
pub(super) async fn serve(socket: UdpSocket, link: Rc<SupervisorLink>) {
    let (socket, places) = (Rc::new(socket), Arc::new(Semaphore::new(MAX_ANSWERS)));
    let mut question = [0; MAX_QUESTION + 1];
    loop {
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((length, from)) = socket.recv_from(&mut question).await else {
            tokio::time::sleep(ERROR_PAUSE).await;
            continue;
        };
        let (socket, link, question) = (Rc::clone(&socket), Rc::clone(&link), question[..length].to_vec());
        tokio::task::spawn_local(async move {
            let peer = WebPeer { from, to: ProxySocket::Lookups };
            if let Some(answer) = answer(&link, peer, &question).await {
                // The program may have gone.
                let _ = socket.send_to(&answer, from).await;
            }
            drop(place);
        });
    }
}

/// Answers what a connection of TCP asks, each message after its length.
pub(super) async fn serve_stream(mut stream: TcpStream, client: &Client) -> io::Result<()> {
    loop {
        let length = timeout(IDLE_TIMEOUT, stream.read_u16()).await??;
        let mut question = vec![0; length.into()];
        timeout(IDLE_TIMEOUT, stream.read_exact(&mut question)).await??;
        let Some(answer) = answer(client.link(), client.peer(), &question).await else {
            return Ok(());
        };
        let length = u16::try_from(answer.len()).map_err(|_| io::ErrorKind::InvalidData)?;
        stream.write_all(&[&length.to_be_bytes()[..], &answer].concat()).await?;
    }
}

/// The answer to a message; `None` to what is no question, and to a look-up that is not of the tree.
async fn answer(link: &SupervisorLink, from: WebPeer, question: &[u8]) -> Option<Vec<u8>> {
    // Names in a message may point to each other, so that a message with many of them takes long to read.
    if question.len() > MAX_QUESTION || question.get(4..6) != Some(&[0, 1]) {
        return malformed(question);
    }
    let message =
        Message::from_vec(question).ok().filter(|message| message.message_type == MessageType::Query)?;
    let mut answer = Message::response(message.id, message.op_code);
    answer.metadata.recursion_desired = message.recursion_desired;
    answer.metadata.recursion_available = true;
    answer.add_queries(message.queries.iter().cloned());
    answer.metadata.response_code = match &message.queries[..] {
        _ if message.op_code != OpCode::Query => ResponseCode::NotImp,
        [query] if query.query_type() == RecordType::A && query.query_class() == DNSClass::IN => {
            match link.look_up(from, &name(query)).await {
                Ok(Some(address)) => {
                    let data = RData::A(A(address));
                    answer.add_answer(Record::from_rdata(query.name().clone(), TTL, data));
                    ResponseCode::NoError
                }
                Ok(None) => ResponseCode::NXDomain,
                Err(_) => return None,
            }
        }
        // Names have no other records here.
        _ => ResponseCode::NoError,
    };
    answer.to_vec().ok()
}

/// The answer to a message that does not have exactly one question, or is too long; `None` if it is no question.
fn malformed(question: &[u8]) -> Option<Vec<u8>> {
    let (id, kind) = (question.first_chunk()?, question.get(2)?);
    let is_query = kind & 0x80 == 0;
    let mut answer = Message::response(u16::from_be_bytes(*id), OpCode::Query);
    answer.metadata.response_code = ResponseCode::FormErr;
    is_query.then(|| answer.to_vec().ok())?
}

/// The name of a question, without the dot at its end.
fn name(query: &Query) -> String {
    let mut name = query.name().to_ascii();
    name.truncate(name.trim_end_matches('.').len());
    name
}
