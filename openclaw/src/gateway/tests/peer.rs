//! Tests the check of the process at the other end.

use std::io::IoSlice;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::getpid;
use tokio::join;

use crate::gateway::peer::{GatewayRejected, SocketPair};
use crate::gateway::testing::Gateway;
use crate::gateway::{Link, OpenError};
use crate::ports::IsMember;

fn nobody() -> IsMember {
    Arc::new(|_| false)
}

fn ends(stream: &TcpStream) -> SocketPair {
    SocketPair { own: stream.local_addr().unwrap(), peer: stream.peer_addr().unwrap() }
}

#[test]
fn this_user_may_be_there() {
    for address in ["127.0.0.1:0", "127.1.2.3:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            println!("skipped: no {address}");
            continue;
        };
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // Before the connection is accepted, no process holds its other end.
        assert!(matches!(ends(&stream).check(None), Err(GatewayRejected::Unknown)), "{address}");
        let accepted = listener.accept().unwrap();
        ends(&stream).check(None).unwrap();
        ends(&stream).check(Some(&nobody())).unwrap();
        drop(accepted);
    }
}

/// If a gateway listens on ::, its connections from 127.0.0.1 are in the IPv6 table.
#[test]
fn a_listener_on_all_addresses_is_found() {
    let Ok(listener) = TcpListener::bind("[::]:0") else {
        println!("skipped: no IPv6");
        return;
    };
    let Ok(stream) = TcpStream::connect(("127.0.0.1", listener.local_addr().unwrap().port())) else {
        println!("skipped: [::] is IPv6 only");
        return;
    };
    let _accepted = listener.accept().unwrap();
    ends(&stream).check(None).unwrap();
}

#[test]
fn a_member_of_the_tree_may_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let accepted = listener.accept().unwrap().0;
    let own = getpid().as_raw_nonzero().get();
    let is_own: IsMember = Arc::new(move |pid| pid == own);
    assert!(matches!(ends(&stream).check(Some(&is_own)), Err(GatewayRejected::Member(pid)) if pid == own));
    // A copy of the descriptor in another process is enough.
    let copy = accepted.try_clone().unwrap();
    rustix::io::fcntl_setfd(&copy, rustix::io::FdFlags::empty()).unwrap();
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let is_child: IsMember = Arc::new(move |member| member == pid);
    let checked = ends(&stream).check(Some(&is_child));
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(
        matches!(checked, Err(GatewayRejected::Member(member)) if member == pid),
        "{checked:?} {}",
        copy.as_raw_fd()
    );
    ends(&stream).check(Some(&is_child)).unwrap();
}

/// While a socket is in a message that nobody has received, no process holds it.
#[test]
fn a_socket_in_transit_between_processes_has_no_owner() {
    if rustix::process::geteuid().is_root() {
        println!("skipped: root is not shown what all have");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let accepted = listener.accept().unwrap().0;
    let (near, _far) = UnixStream::pair().unwrap();
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [accepted.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    sendmsg(&near, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
    drop(accepted);
    for is_member in [None, Some(nobody())] {
        let checked = ends(&stream).check(is_member.as_ref());
        assert!(matches!(checked, Err(GatewayRejected::Unseen | GatewayRejected::Hidden(_))), "{checked:?}");
    }
}

/// A non-loopback address of this host is recognized as this host's.
#[test]
fn each_of_this_hosts_addresses_is_here() {
    let at = |own: &str, peer: &str| SocketPair { own: own.parse().unwrap(), peer: peer.parse().unwrap() };
    for (own, peer) in [
        ("127.0.0.1:5", "127.9.9.9:6"),
        ("[::1]:5", "[::1]:6"),
        ("192.0.2.1:5", "192.0.2.1:6"),
        ("[::ffff:127.0.0.1]:5", "[::ffff:127.0.0.1]:6"),
    ] {
        assert!(at(own, peer).are_here(), "{own} {peer}");
    }
    assert!(!at("192.0.2.1:5", "192.0.2.2:5").are_here());
}

#[test]
fn a_connection_of_another_host_has_no_owner() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let _accepted = listener.accept().unwrap();
    let SocketPair { own, peer } = ends(&stream);
    let mut other = own;
    other.set_port(own.port().wrapping_add(1).max(1));
    for ends in
        [SocketPair { own: other, peer }, SocketPair { own, peer: other }, SocketPair { own: peer, peer }]
    {
        assert!(matches!(ends.check(None), Err(GatewayRejected::Unknown)), "{ends:?}");
    }
}

/// A member of the tree gets only the upgrade request.
#[tokio::test]
async fn the_token_is_not_told_to_a_member() {
    let gateway = Gateway::new().await;
    let own = getpid().as_raw_nonzero().get();
    let is_own: IsMember = Arc::new(move |pid| pid == own);
    let access = gateway.access().apart_from(&is_own);
    let talk = async {
        let mut client = gateway.accept().await;
        client.challenge().await;
        client.gone().await;
    };
    let (opened, ()) = join!(Link::open(&access), talk);
    let problem = opened.unwrap_err();
    assert!(matches!(problem, OpenError::Rejected { rejected: GatewayRejected::Member(_), .. }), "{problem}");
    assert!(problem.to_string().contains("may not answer"), "{problem}");
}
