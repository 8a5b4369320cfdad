//! The proxy against a supervisor and servers of the test's own, at the loopback address.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use guard_supervisor::web::wire::{
    ProxyMessage, RefusalReason, WebAnswer, WebGrant, WebVerdict, line, receive,
};

/// A proxy whose supervisor is the test.
struct TestProxy {
    port: u16,
    from: BufReader<UnixStream>,
    to: UnixStream,
    serving: JoinHandle<()>,
}

impl TestProxy {
    fn start() -> TestProxy {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let [listener, redirected] = ["127.0.0.1:0"; 2].map(|at| TcpListener::bind(at).unwrap());
        let lookups = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let sockets = super::Sockets { channel: theirs, listener, redirected, lookups };
        let serving = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(super::serve(sockets)).unwrap();
        });
        TestProxy { port, from: BufReader::new(ours.try_clone().unwrap()), to: ours, serving }
    }

    /// Sends a request for a URL.
    fn request(&self, authority: &str) -> TcpStream {
        let mut client = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(client, "GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\n\r\n").unwrap();
        client
    }

    fn next(&mut self) -> Option<ProxyMessage> {
        receive(&mut self.from).unwrap()
    }

    fn answer(&mut self, id: u64, verdict: WebVerdict) {
        self.to.write_all(&line(&WebAnswer { id, verdict })).unwrap();
    }

    /// Answers the next question. A report of an earlier connection may come before it.
    fn answer_next(&mut self, verdict: WebVerdict) {
        loop {
            match self.next() {
                Some(ProxyMessage::Asks(question)) => return self.answer(question.id, verdict),
                Some(ProxyMessage::Moved(_)) => {}
                other => panic!("no question: {other:?}"),
            }
        }
    }

    /// Allows the next request: its name, and its addresses.
    fn allow(&mut self, port: u16) {
        let grant = WebGrant {
            host: "127.0.0.1".to_owned(),
            authority: format!("127.0.0.1:{port}"),
            port,
            max_response_bytes: None,
            follow_redirects: false,
        };
        self.answer_next(WebVerdict::Allowed(grant.clone()));
        self.answer_next(WebVerdict::Allowed(grant));
    }
}

/// A server that sends this once, and keeps the connection. Returns its port.
fn server(response: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let _ = peer.read(&mut head);
        peer.write_all(response.as_bytes()).unwrap();
        while peer.read(&mut head).is_ok_and(|length| length > 0) {}
    });
    port
}

fn starts_with(client: &mut TcpStream, text: &str) -> bool {
    let mut start = vec![0; text.len()];
    client.read_exact(&mut start).unwrap();
    start == text.as_bytes()
}

#[test]
fn a_client_hears_of_a_refusal_after_the_supervisor() {
    let mut proxy = TestProxy::start();
    let port = server("HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n");
    let mut client = proxy.request(&format!("127.0.0.1:{port}"));
    proxy.allow(port);
    // The exchange with the server has a report of its own.
    let refusal = loop {
        match proxy.next() {
            Some(ProxyMessage::Refuses(refusal)) => break refusal,
            Some(ProxyMessage::Moved(_)) => {}
            other => panic!("no refusal: {other:?}"),
        }
    };
    assert!(matches!(refusal.why, RefusalReason::Redirect), "{refusal:?}");
    // The proxy does other work first. By then it would have written anything that it had for the first client.
    let mut second = proxy.request("other.test");
    proxy.answer_next(WebVerdict::Denied("no".to_owned()));
    assert!(starts_with(&mut second, "HTTP/1.1 403"));
    client.set_nonblocking(true).unwrap();
    let early = client.peek(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(early, Err(ErrorKind::WouldBlock));
    proxy.answer(refusal.id, WebVerdict::Denied("reported".to_owned()));
    client.set_nonblocking(false).unwrap();
    assert!(starts_with(&mut client, "HTTP/1.1 403"));
}

/// While a human is asked, a client that leaves ends the question; one that stays gets the answer.
#[test]
fn a_question_ends_with_its_client() {
    let mut proxy = TestProxy::start();
    let ask = |proxy: &mut TestProxy| match proxy.next() {
        Some(ProxyMessage::Asks(question)) => {
            proxy.answer(question.id, WebVerdict::Asked);
            question
        }
        other => panic!("no question: {other:?}"),
    };
    let client = proxy.request("other.test");
    let question = ask(&mut proxy);
    assert_eq!((&question.authority[..], &question.method[..]), ("other.test", "GET"));
    drop(client);
    match proxy.next() {
        Some(ProxyMessage::Withdraws { id }) => assert_eq!(id, question.id),
        other => panic!("not withdrawn: {other:?}"),
    }
    assert!(matches!(proxy.next(), Some(ProxyMessage::Left { .. })));
    let mut stays = proxy.request("other.test");
    let question = ask(&mut proxy);
    proxy.answer(question.id, WebVerdict::Denied("no".to_owned()));
    assert!(starts_with(&mut stays, "HTTP/1.1 403"));
}

/// A name that is longer than any real name must not make a message too long.
#[test]
fn long_names_are_cut() {
    let mut proxy = TestProxy::start();
    let mut client = proxy.request(&"a".repeat(20_000));
    proxy.answer_next(WebVerdict::Denied("no".to_owned()));
    assert!(starts_with(&mut client, "HTTP/1.1 403"));
}

#[test]
fn connections_that_are_open_at_the_end_are_reported() {
    let mut proxy = TestProxy::start();
    let port = server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    let mut client = proxy.request(&format!("127.0.0.1:{port}"));
    proxy.allow(port);
    assert!(starts_with(&mut client, "HTTP/1.1 200"));
    proxy.to.shutdown(Shutdown::Write).unwrap();
    let Some(ProxyMessage::Moved(moved)) = proxy.next() else { panic!("no report") };
    assert!(moved.sent > 0 && moved.received > 0, "{moved:?}");
    assert!(matches!(proxy.next(), Some(ProxyMessage::Left { .. })));
    assert!(proxy.next().is_none());
    proxy.serving.join().unwrap();
}
