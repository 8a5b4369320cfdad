//! `audit export` sends each line to a collector once.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use guard_tests::{Ended, World, ended, free_port};
use serde_json::Value;

/// A received request: its first line, its headers in lower case, and its body.
#[derive(Clone, Debug)]
struct Asked {
    first: String,
    headers: Vec<String>,
    body: Value,
}

/// A collector that sends the given answers, and 200 after them.
struct Collector {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Collector {
    fn new(answers: &[&str]) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (into, mut answers) =
            (Arc::clone(&asked), answers.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        // The thread ends with the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = if answers.is_empty() { ok("{}") } else { answers.remove(0) };
                if let Some(asked) = read(&stream) {
                    into.lock().expect("a lock").push(asked);
                    let _ = (&stream).write_all(answer.as_bytes());
                }
            }
        });
        Collector { url, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("a lock").clone()
    }

    /// Returns the records of all requests, accepted or refused.
    fn records(&self) -> Vec<Value> {
        let records = |asked: Asked| {
            asked.body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().expect("records").clone()
        };
        self.asked().into_iter().flat_map(records).collect()
    }
}

fn ok(body: &str) -> String {
    status("200 OK", body)
}

fn status(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let first = lines.remove(0);
    let headers: Vec<_> = lines.iter().map(|line| line.to_lowercase()).collect();
    let length = headers.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { first, headers, body: serde_json::from_slice(&body).ok()? })
}

fn logged() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx"}, "deny": ["~/secret/**"], "default": "---"}}}"#,
    );
    world.write("home/secret/key", "secret");
    world.sh("cat ~/secret/key; cat ~/secret/key MY_TOKEN=hunter2; true");
    world
}

fn export(world: &World, url: &str, more: &[&str]) -> Ended {
    ended(world.command().args(["audit", "export", "--otlp", url]).args(more))
}

fn attribute<'a>(record: &'a Value, key: &str) -> &'a Value {
    let attributes = record["attributes"].as_array().expect("attributes");
    attributes
        .iter()
        .find(|attribute| attribute["key"] == key)
        .map_or(&Value::Null, |attribute| &attribute["value"])
}

#[test]
fn each_line_is_sent_once() {
    let world = logged();
    let collector = Collector::new(&[]);
    let count = world.audit().len();
    let output = export(&world, &collector.url, &[]);
    assert_eq!(
        (output.status, output.stdout),
        (0, format!("sent {count} lines to {}/v1/logs\n", collector.url))
    );
    let asked = collector.asked();
    assert_eq!(asked[0].first, "POST /v1/logs HTTP/1.1");
    assert!(asked[0].headers.contains(&"content-type: application/json".to_owned()), "{asked:?}");
    let resource = asked[0].body["resourceLogs"][0]["resource"]["attributes"].to_string();
    assert!(resource.contains("openclaw-guard") && resource.contains("host.name"), "{resource}");
    assert!(!asked[0].body.to_string().contains("hunter2"));
    let output = export(&world, &collector.url, &[]);
    assert!(output.stdout.starts_with("sent 0 lines"), "{output:?}");
    assert_eq!(collector.records().len(), count);
    world.sh("cat ~/secret/key");
    export(&world, &collector.url, &[]);
    let uids: Vec<_> =
        collector.records().iter().map(|record| attribute(record, "log.record.uid").to_string()).collect();
    let mut once = uids.clone();
    once.sort();
    once.dedup();
    assert_eq!((uids.len(), once.len()), (world.audit().len(), world.audit().len()));
    // Another collector gets all of them, too.
    let other = Collector::new(&[]);
    export(&world, &format!("{}/otlp", other.url), &[]);
    assert_eq!(
        (other.records().len(), &*other.asked()[0].first),
        (world.audit().len(), "POST /otlp/v1/logs HTTP/1.1")
    );
}

#[test]
fn denials_alone_can_be_sent() {
    let world = logged();
    let collector = Collector::new(&[]);
    assert!(export(&world, &collector.url, &["--denied"]).stdout.starts_with("sent 2 lines"));
    let records = collector.records();
    assert!(records.iter().all(|record| record["severityText"] == "WARN"), "{records:?}");
    assert_eq!(attribute(&records[0], "guard.verdict")["stringValue"], "deny");
    let key = world.home().join("secret/key");
    assert_eq!(attribute(&records[0], "guard.path")["stringValue"], key.to_str().expect("a plain path"));
    // `--since` neither reads nor writes the note of what was sent.
    assert!(
        export(&world, &collector.url, &["--denied", "--since", "1h"]).stdout.starts_with("sent 2 lines")
    );
    assert!(
        export(&world, &collector.url, &["--since", "2100-01-01T00:00:00Z"])
            .stdout
            .starts_with("sent 0 lines")
    );
    assert!(export(&world, &collector.url, &["--denied"]).stdout.starts_with("sent 0 lines"));
}

#[test]
fn a_busy_collector_is_tried_again() {
    let world = logged();
    let busy = status("503 Service Unavailable", "");
    let later = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
    let collector = Collector::new(&[&busy, later]);
    assert_eq!(export(&world, &collector.url, &[]).status, 0);
    assert_eq!(collector.asked().len(), 3);
    assert_eq!(collector.asked()[0].body, collector.asked()[2].body);
}

#[test]
fn refused_lines_are_reported_and_sent_next_time() {
    let world = logged();
    for (answer, part) in [
        (status("400 Bad Request", "no\u{1b}[31msuch field"), "HTTP 400 (no\\u{1B}[31msuch field)"),
        (status("401 Unauthorized", ""), "OTEL_EXPORTER_OTLP_HEADERS"),
        (status("404 Not Found", ""), "check that it accepts OTLP over HTTP"),
    ] {
        let collector = Collector::new(&[&answer]);
        let output = export(&world, &collector.url, &[]);
        assert_eq!(output.status, 125, "{output:?}");
        assert!(output.stderr.contains(&format!("cannot send to {}/v1/logs", collector.url)), "{output:?}");
        assert!(output.stderr.contains(part), "{part}: {output:?}");
        assert_eq!(export(&world, &collector.url, &[]).status, 0);
        assert_eq!(collector.asked()[0].body, collector.asked()[1].body);
    }
    let output = export(
        &world,
        &Collector::new(&[&ok(r#"{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too old"}}"#)])
            .url,
        &[],
    );
    assert!(output.status == 0 && output.stderr.contains("2 lines were rejected: too old"), "{output:?}");
}

#[test]
fn headers_go_to_nobody_else() {
    let world = logged();
    let elsewhere = Collector::new(&[]);
    let redirects = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {}/v1/logs\r\nContent-Length: 0\r\n\r\n",
        elsewhere.url
    );
    let collector = Collector::new(&[&redirects]);
    let run = |url: &str| {
        let mut command = world.command();
        command
            .args(["audit", "export", "--otlp", url])
            .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20t0p,x-tenant=7");
        ended(&mut command)
    };
    let output = run(&collector.url);
    assert_eq!(output.status, 125);
    assert!(
        output.stderr.contains("it redirects to") && output.stderr.contains("not followed"),
        "{output:?}"
    );
    assert!(elsewhere.asked().is_empty());
    let headers = &collector.asked()[0].headers;
    assert!(
        headers.contains(&"authorization: bearer t0p".to_owned())
            && headers.contains(&"x-tenant: 7".to_owned()),
        "{headers:?}"
    );
    let output = run("http://192.0.2.1:4318");
    assert!(output.status == 125 && output.stderr.contains("in plain text"), "{output:?}");
    assert!(!output.stderr.contains("t0p"));
}

#[test]
fn export_errors_are_reported() {
    let world = logged();
    for (arguments, part) in [
        (&["localhost:4318"][..], "http://HOST:4318"),
        (&["http://u:p@localhost"], "a name or password"),
        (&["http://localhost", "--since", "yesterday"], "12h"),
    ] {
        let output = export(&world, arguments[0], &arguments[1..]);
        assert!(output.status == 125 && output.stderr.contains(part), "{output:?}");
    }
    // A port that was free a moment ago, so nobody listens there.
    let port = free_port();
    let output = export(&world, &format!("http://127.0.0.1:{port}"), &[]);
    assert!(output.status == 125 && output.stderr.contains("nobody listens there"), "{output:?}");
    assert_eq!(export(&World::bare(), "http://localhost", &[]).status, 125);
}

#[test]
fn lines_removed_before_they_were_sent_are_reported() {
    let world = World::open()
        .policy_text(|text| text.replacen("{", r#"{"audit": {"maxBytes": 4096, "keep": 1}, "#, 1));
    let collector = Collector::new(&[]);
    world.sh("/bin/true");
    export(&world, &collector.url, &[]);
    world
        .sh("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do /bin/true; done");
    let output = export(&world, &collector.url, &[]);
    assert!(output.status == 0 && output.stderr.contains("were removed before they were sent"), "{output:?}");
    // Another log at the same place.
    std::fs::remove_dir_all(world.root().join("audit.jsonl.d")).expect("a directory");
    std::fs::remove_file(world.root().join("audit.jsonl")).expect("a log");
    world.sh("/bin/true");
    assert!(export(&world, &collector.url, &[]).stdout.starts_with("sent 2 lines"));
}
