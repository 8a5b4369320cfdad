//! The gate in real gateways: their own file and web tools, asked about before they run.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use guard_tests::gateway::{Gateway, Release, gateway};
use guard_tests::model::{Model, Step as Turn, set_in_openclaw};
use guard_tests::{Ended, ended, is_foreign};
use serde_json::{Value, json};

use crate::setup::{Running, fresh};
use crate::world::eventually;

for_each_release! { the_gate_holds_openclaws_own_tools }

/// Runs a shell command line in the gateway's home.
fn run(gateway: &Gateway, line: &str) -> Ended {
    ended(fresh(gateway).args(["-c", line]))
}

/// Writes what the test needs: a project, a made-up secret, a policy, and a model for the agent.
fn prepare(gateway: &Gateway, model: &Model) {
    let home = gateway.home();
    for (path, text) in [("project/notes", "plain notes\n"), (".ssh/id_rsa", "made-up secret\n")] {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    let policy = r#"{"version": 1, "permissions": {"filesystem": {
        "rules": {"/**": "r--", "~/project/**": "rw-"}, "deny": ["~/.ssh"], "default": "---"}}}"#;
    std::fs::write(home.join(".openclaw/guard.json"), policy).expect("a policy");
    gateway.configure(|config| {
        set_in_openclaw(config, &model.url());
        config["agents"]["defaults"]["workspace"] = json!(home.join("project"));
    });
}

/// The response of `POST /tools/invoke`, headers and body.
pub fn invoke(gateway: &Gateway, tool: &str, args: &Value) -> String {
    let body = json!({"tool": tool, "args": args, "sessionKey": "main"}).to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port())).expect("the gateway");
    let request = format!(
        "POST /tools/invoke HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        gateway.port(),
        gateway.token(),
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("to write");
    let mut response = Vec::new();
    stream.read_to_end(&mut response).expect("a response");
    String::from_utf8_lossy(&response).into_owned()
}

fn serve(gateway: &Gateway) -> Running {
    let log = gateway.home().join("gate.log");
    let stderr = std::fs::File::create(&log).expect("a log");
    let mut shell = fresh(gateway);
    shell.args(["-c", "exec openclaw-guard gate serve"]).stdout(Stdio::null()).stderr(stderr);
    let mut running = Running(shell.spawn().expect("bash"));
    eventually("the gate answers", || {
        let end = running.0.try_wait().expect("its status");
        assert!(end.is_none(), "{end:?}: {}", std::fs::read_to_string(&log).unwrap_or_default());
        run(gateway, "openclaw-guard gate status").stdout.contains("service  answers")
    });
    running
}

fn the_gate_holds_openclaws_own_tools(release: Release) {
    if !is_foreign() {
        return drop(gateway(release));
    }
    let mut gateway = Gateway::new(release);
    let home = gateway.home().display().to_string();
    let patch =
        format!("*** Begin Patch\n*** Add File: new\n+x\n*** Add File: {home}/outside\n+x\n*** End Patch");
    let model = Model::start(vec![
        Turn::Call("read", json!({"path": "~/.ssh/id_rsa"})),
        Turn::Call("write", json!({"path": format!("{home}/outside"), "content": "x"})),
        Turn::Call("apply_patch", json!({"input": patch})),
        Turn::Call("read", json!({"path": "notes"})),
        Turn::Call("write", json!({"path": "inside", "content": "by the agent"})),
        Turn::Quotes,
    ]);
    prepare(&gateway, &model);
    let installed = run(&gateway, "openclaw-guard gate install");
    assert!(installed.status == 0 && installed.stdout.contains("OpenClaw has linked it"), "{installed:?}");
    let service = serve(&gateway);
    gateway.ensure();

    // Blocked before any connection, and with the guard's sentence.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a mode");
    let own = format!("http://{}/", listener.local_addr().expect("an address"));
    for url in ["http://169.254.169.254/", &own] {
        let response = invoke(&gateway, "web_fetch", &json!({"url": url}));
        assert!(response.contains("openclaw-guard: denied web_fetch"), "{response}");
        assert!(!response.starts_with("HTTP/1.1 200"), "{response}");
    }
    assert!(listener.accept().is_err(), "nothing was fetched");
    let allowed = invoke(&gateway, "session_status", &json!({}));
    assert!(!allowed.contains("openclaw-guard"), "{allowed}");

    // A turn of the agent: the model calls the tools, and quotes what they returned.
    let turn = run(&gateway, "openclaw agent --agent main --session-id one --message go");
    let text = format!("{}{}", turn.stdout, model.heard());
    assert!(text.contains("openclaw-guard: denied read "), "{turn:?}");
    assert!(!text.contains("made-up secret"), "{turn:?}");
    assert!(text.contains("plain notes"), "{turn:?}");
    assert!(!gateway.home().join("outside").exists() && !gateway.home().join("project/new").exists());
    assert_eq!(
        std::fs::read_to_string(gateway.home().join("project/inside")).ok().as_deref(),
        Some("by the agent")
    );
    let lines = run(&gateway, "openclaw-guard audit tail --json -n 100").stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let denied = |tool: &str| {
        let mut lines = lines.iter().filter(|line| line["operation"] == "tool" && line["verdict"] == "deny");
        lines.find(|line| line["tool"] == tool)
    };
    for tool in ["read", "write", "apply_patch", "web_fetch"] {
        assert!(denied(tool).is_some(), "{tool}: {lines:#?}");
    }
    let read = denied("read").expect("a line");
    assert!(read["runId"].is_string() && read["sessionKey"].is_string(), "{read:#}");

    // Without the service everything is blocked, and doctor says so.
    drop(service);
    for (tool, args) in [("session_status", json!({})), ("web_fetch", json!({"url": "https://example.com/"}))]
    {
        let response = invoke(&gateway, tool, &args);
        assert!(response.contains("openclaw-guard does not answer"), "{response}");
    }
    let doctor = run(&gateway, "openclaw-guard doctor");
    assert!(doctor.stdout.contains("every tool call is blocked"), "{doctor:?}");
    let service = serve(&gateway);
    let again = invoke(&gateway, "session_status", &json!({}));
    assert!(!again.contains("openclaw-guard"), "{again}");
    drop(service);
}
