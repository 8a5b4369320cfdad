//! The real approvals page, and a client that sends exactly what a test gives it: a browser would correct it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::{World, guard, limit};

impl World {
    /// Returns the operator's `openclaw-guard approvals serve`; options come next.
    #[must_use]
    pub fn serve_command(&self) -> Command {
        let mut command = Command::new(guard());
        command.env("HOME", self.home()).current_dir(self.root()).stdin(Stdio::null());
        command.env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME");
        command.arg("--audit").arg(self.root().join("audit.jsonl"));
        if let Some(policy) = self.policy_file() {
            command.arg("--policy").arg(policy);
        }
        command.args(["approvals", "serve"]);
        command
    }

    /// Returns another link to the page that is served.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn link(&self) -> String {
        let output = crate::ended(&mut self.serve_command());
        assert_eq!((output.status, &*output.stderr), (0, ""), "{output:?}");
        output.stdout.trim_end().to_owned()
    }

    /// Serves the page.
    ///
    /// # Panics
    /// When it is not served.
    #[must_use]
    pub fn serve(&self) -> Page {
        Page::start(self.serve_command())
    }
}

/// A page that is served.
#[derive(Debug)]
pub struct Page {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The link that it printed.
    pub link: String,
    /// `127.0.0.1:PORT`.
    pub address: String,
}

/// The credentials of a browser that is signed in.
#[derive(Clone, Debug)]
pub struct Session {
    /// `guard-PORT=…`.
    pub cookie: String,
    /// The key that the page sends with each request.
    pub key: String,
}

/// A response of the page.
#[derive(Debug)]
pub struct Response {
    /// The status: 200, 403, …
    pub status: u16,
    /// The headers as received, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: String,
}

impl Page {
    /// Starts a page by [`World::serve_command`], and waits for its link.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn start(mut command: Command) -> Page {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("to start the page");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut link = String::new();
        output.read_line(&mut link).expect("a line");
        let link = link.trim_end().to_owned();
        let address = link.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("no link: {link:?}")).to_owned();
        Page { child, output, link, address }
    }

    /// Returns the process id of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends these bytes, and reads until the server closes the connection.
    ///
    /// # Panics
    /// When it cannot connect.
    #[must_use]
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The server may close the connection before everything is sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("to connect");
        stream.set_read_timeout(Some(limit())).expect("a time");
        stream
    }

    /// Sends a request with this first line (`GET /`) and exactly these headers.
    ///
    /// # Panics
    /// When there is no answer.
    #[must_use]
    pub fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() || line.starts_with("POST") {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        let answer = self.raw(format!("{text}\r\n{body}").as_bytes());
        Response::read(&answer).unwrap_or_else(|| panic!("no answer to {text}: {answer:?}"))
    }

    /// Sends a GET request as the page does.
    ///
    /// # Panics
    /// As [`Page::request`].
    #[must_use]
    pub fn get(&self, path: &str, session: &Session) -> Response {
        let Session { cookie, key } = session;
        self.request(
            &format!("GET {path}"),
            &[("Host", &self.address), ("Cookie", cookie), ("X-CSRF-Token", key)],
            "",
        )
    }

    /// Sends a POST request as the page does.
    ///
    /// # Panics
    /// As [`Page::request`].
    #[must_use]
    pub fn post(&self, path: &str, session: &Session, body: &str) -> Response {
        let Session { cookie, key } = session;
        let origin = format!("http://{}", self.address);
        let headers = [
            ("Host", &*self.address),
            ("Cookie", cookie),
            ("X-CSRF-Token", key),
            ("Origin", &origin),
            ("Content-Type", "application/json"),
            ("Sec-Fetch-Site", "same-origin"),
        ];
        self.request(&format!("POST {path}"), &headers, body)
    }

    /// Signs in with a link.
    ///
    /// # Panics
    /// When it does not open the page.
    #[must_use]
    pub fn enter(&self, link: &str) -> Session {
        let path = link.split_once(&self.address).expect("a link to this page").1;
        let answer = self.request(&format!("GET {path}"), &[("Host", &self.address)], "");
        assert_eq!(answer.status, 303, "{answer:?}");
        let cookie =
            answer.header("set-cookie").expect("a cookie").split(';').next().expect("a value").to_owned();
        let key = answer
            .header("location")
            .and_then(|location| location.strip_prefix("/#"))
            .expect("a key")
            .to_owned();
        Session { cookie, key }
    }

    /// Opens the event stream of the page.
    #[must_use]
    pub fn events(&self, session: &Session) -> Events {
        let mut stream = self.connect();
        let Session { cookie, key } = session;
        let request = format!(
            "GET /events HTTP/1.1\r\nConnection: close\r\nHost: {}\r\nCookie: {cookie}\r\nX-CSRF-Token: {key}\r\n\r\n",
            self.address
        );
        let _ = stream.write_all(request.as_bytes());
        Events { lines: BufReader::new(stream) }
    }

    /// Answers the one card that waits. Returns the page's response.
    ///
    /// # Panics
    /// When none comes.
    #[must_use]
    pub fn choose(&self, session: &Session, decision: &str) -> Response {
        let mut events = self.events(session);
        let card = events.card();
        let output = self.answer(session, &card, decision);
        // The snapshots show the answer some time after the guard has accepted it.
        let is_there = |snapshot: Value| {
            snapshot["cards"].as_array().is_some_and(|cards| cards.iter().any(|one| one["id"] == card["id"]))
        };
        while output.status == 200 && events.snapshot().is_some_and(is_there) {}
        output
    }

    /// Answers a card.
    #[must_use]
    pub fn answer(&self, session: &Session, card: &Value, decision: &str) -> Response {
        self.post("/answer", session, &answer(card, decision).to_string())
    }

    /// Ends the server as a service is ended. Returns its exit status and the rest of its output.
    ///
    /// # Panics
    /// When it does not end.
    pub fn end(mut self) -> (i32, String) {
        let kill = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        assert!(kill.is_ok_and(|status| status.success()), "to end it");
        let status = crate::status_of(&mut self.child);
        let mut rest = String::new();
        let _ = self.output.read_to_string(&mut rest);
        (status, rest)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // The server may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the body that answers a card.
#[must_use]
pub fn answer(card: &Value, decision: &str) -> Value {
    json!({"guard": card["guard"], "id": card["id"], "version": card["version"], "decision": decision})
}

/// A stream of server-sent events.
#[derive(Debug)]
pub struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    /// Reads the headers of the stream; call it before anything else.
    ///
    /// # Panics
    /// When there is no answer.
    pub fn head(&mut self) -> Response {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.lines.read_line(&mut head).is_ok_and(|count| count > 0), "no answer: {head}");
        }
        Response::read(&head).expect("an answer")
    }

    /// Returns the next snapshot, or None at the end of the stream.
    pub fn snapshot(&mut self) -> Option<Value> {
        loop {
            let mut line = Vec::new();
            if self.lines.read_until(b'\n', &mut line).ok()? == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix(b"data: ") {
                return serde_json::from_slice(data).ok();
            }
        }
    }

    /// Returns the first card of the first snapshot that has one.
    ///
    /// # Panics
    /// When there is none.
    pub fn card(&mut self) -> Value {
        loop {
            let snapshot = self.snapshot().expect("a snapshot");
            if let Some(card) = snapshot["cards"].get(0) {
                return card.clone();
            }
        }
    }
}

impl Response {
    fn read(text: &str) -> Option<Response> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Some(Response { status, headers, body: body.to_owned() })
    }

    /// Returns the value of a header that occurs exactly once.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| other == name);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value)
    }

    /// Returns the body as JSON.
    ///
    /// # Panics
    /// When it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
