//! A guarded program cannot approve its own calls at the gateway: it reaches neither the port nor the token.

use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use guard_tests::gateway::{Gateway, Release, gateway, node, package};
use guard_tests::{World, ended, sources};

use crate::world::{approver, eventually, mode, path};

for_each_release! { no_way_to_an_answer }

/// Returns a world that allows everything except `bin/asked` and what no policy can open. The home is the
/// gateway's own, with its token, so the policy does not name them.
fn permissive(node: &str) -> World {
    let text = r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss", "carriers": ["bash", "sh"]},
        "approvals": {"routes": ["gateway"]},
        "agents": {"*": {"allowlist": [{"pattern": "/usr/**"}, {"pattern": "NODE"}]}},
        "permissions": {"filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#;
    let world = World::bare().policy(&text.replace("NODE", node)).attended();
    mode(&world.write("bin/asked", std::fs::read("/bin/echo").expect("echo")), 0o755);
    world
}

/// Starts a relay to the gateway outside of the guard, and returns its port.
fn relay(gateway: &Gateway) -> u16 {
    let (listener, port) = (TcpListener::bind("127.0.0.1:0").expect("a port"), gateway.port());
    let at = listener.local_addr().expect("an address").port();
    let pass = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            // The end of one side closes the other.
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    };
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            pass(near.try_clone().expect("a descriptor"), far.try_clone().expect("a descriptor"));
            pass(far, near);
        }
    });
    at
}

fn no_way_to_an_answer(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (app, relay) = (approver(&gateway), relay(&gateway));
    let node = node().canonicalize().expect("node").display().to_string();
    let world = permissive(&node);
    let asked = path(&world, "bin/asked");
    for name in ["attack.mjs", "loot.py"] {
        world.write(
            format!("work/{name}"),
            std::fs::read(sources().join("openclaw").join(name)).expect("a script"),
        );
    }
    let openclaw = package("openclaw", Some(release.version())).join("openclaw.mjs").display().to_string();
    let (port, home) = (gateway.port(), gateway.home().display().to_string());
    let params = r#"'{"id": "'$ID'", "decision": "allow-once"}'"#;
    let script = format!(
        r#"exec 2>&1
until [ -s id ]; do sleep 0.1; done; ID=$(cat id)
/usr/bin/python3 loot.py {port} {home} {root}
{node} attack.mjs ws://127.0.0.1:{port}/ $ID | sed 's/^/port: /'
{node} attack.mjs ws://127.0.0.1:{relay}/ $ID | sed 's/^/relay: /'
export OPENCLAW_GATEWAY_PORT={port}
for way in "" "--url ws://127.0.0.1:{relay}"; do
    {node} {openclaw} approvals resolve $ID allow-once $way; echo "command line: $?"
    {node} {openclaw} gateway call exec.approval.resolve --params {params} $way; echo "command line: $?"
done
env HOME=$PWD {node} {openclaw} gateway call exec.approval.resolve --params {params}; echo "command line: $?"
"#,
        root = world.root().display()
    );
    world.write("work/attacks", script);
    let mut command = world.command();
    command.env("HOME", gateway.home()).env("OPENCLAW_GATEWAY_TOKEN", gateway.token());
    let line = format!("{asked} run & sh attacks; echo over; wait");
    command.args(["--", "bash", "-c", &line]);
    let held = world.start_command(command);
    let card = app.card(&asked);
    world.write("work/id", card["id"].as_str().expect("an id"));
    eventually("the attacks are over", || held.stdout().contains("over\n"));

    let output = held.stdout();
    assert_eq!(app.pending().iter().filter(|pending| pending["id"] == card["id"]).count(), 1, "{output}");
    assert!(
        !output.contains(": in") && !output.contains("answered") && !output.contains("connected"),
        "{output}"
    );
    let direct: Vec<&str> = output.lines().filter(|line| line.starts_with("port: ")).collect();
    assert_eq!(direct.len(), 36, "{output}");
    assert!(direct.iter().all(|line| line.ends_with(": no connection")), "{output}");
    assert_eq!(output.matches("relay: ").count(), 36, "{output}");
    assert_eq!(output.matches("tried ").count(), 7, "{output}");
    assert_eq!(output.matches("command line: ").count(), 5, "{output}");
    assert!(!output.contains("command line: 0"), "{output}");
    assert!(!output.contains(gateway.token()), "{output}");
    let loot = std::fs::read(world.work().join("loot")).expect("what was found");
    let at = |text: &str| loot.windows(text.len()).position(|window| window == text.as_bytes());
    assert!(at("loot.py").is_some(), "nothing was looked at");
    let key =
        std::fs::read_to_string(gateway.home().join(".openclaw/guard/device.json")).expect("the guard's key");
    for secret in [gateway.token(), key.trim()] {
        let before = at(secret).map(|at| String::from_utf8_lossy(&loot[at.saturating_sub(300)..at + 40]));
        assert_eq!(before, None, "a secret is in what was found");
    }

    // With the token, the same script can answer.
    let url = format!("ws://127.0.0.1:{relay}/");
    let id = card["id"].as_str().expect("an id");
    let output = ended(world.native_command().args([&node, "attack.mjs", &url, id, gateway.token()]));
    assert!(output.stdout.contains("answered"), "{output:?}");
    assert!(held.end().stdout.ends_with("over\nrun\n"));
}
