//! Classes of addresses, between two network namespaces of the test's own: one has the tree, the other every address.

use std::process::Command;

use guard_tests::{Ended, World, ended, ended_with_input, is_root, skip};
use serde_json::Value;

use super::{TRY, world};

/// Where every address is: of the metadata services, of the link, of private networks, and of the Internet.
const SERVER: &str = r#"
import socket, subprocess, sys, threading, time
def run(words): subprocess.run(["ip", *words.split()], check=True)
while subprocess.run(["ip", "link", "show", "v1"], capture_output=True).returncode: time.sleep(0.02)
run("link set v1 up")
for own in "169.254.169.254", "169.254.1.1", "100.100.100.200", "168.63.129.16", "10.0.0.1", "93.184.216.34":
    run(f"address add {own}/32 dev v1")
for own in "fe80::77", "fd00:ec2::254", "fd00::1", "fd00:2::2", "2a00::1": run(f"address add {own}/64 dev v1 nodad")
run("route add default dev v1"); run("-6 route add default dev v1")
servers = [socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True) for port in (53, 80)]
def connect_back():
    while True:
        try: socket.create_connection(("fe80::5%v1", 8082)).recv(1)
        except OSError: time.sleep(0.02)
threading.Thread(target=connect_back).start()
open(sys.argv[1], "w").close()
while True: servers[1].accept()
"#;

/// Joins a namespace to that one, and runs the rest of the words in it: 9 where the kernel has no such links. The first
/// word is a file for the server to make, the second one what resolv.conf says.
const OWN: &str = r#"
ready=$1 resolv=$2; shift 2
unshare -n python3 -S -c "$SERVER" "$ready" >/dev/null & server=$!
trap 'kill $server; wait $server 2>/dev/null' EXIT
until [ "$(readlink /proc/$server/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
ip link add v0 type veth peer name v1 netns $server || exit 9
ip link set lo up && ip link set v0 up && ip address add 192.0.2.1/24 dev v0 && ip route add default dev v0 || exit 9
ip address add 2001:db8::1/64 dev v0 nodad && ip -6 route add default dev v0 || exit 9
ip address add 169.254.170.2/32 dev lo && ip address add 169.254.9.9/32 dev lo || exit 9
ip link add d0 type veth peer name d1 && ip link set d0 up && ip link set d1 up || exit 9
ip address add fe80::77/64 dev d0 nodad && ip address add fe80::5/64 dev v0 nodad || exit 9
ip address add fd00:2::2/128 dev d0 nodad || exit 9
[ -z "$resolv" ] || mount --bind "$resolv" /etc/resolv.conf || exit 9
i=0; until [ -e "$ready" ]; do i=$((i + 1)); [ $i -lt 500 ] || exit 9; sleep 0.02; done
"$@"
"#;

/// A command of this world, to be run there.
fn inside(world: &World, resolv: &str, command: &Command) -> Option<Command> {
    if !is_root() || !guard_tests::has(&["unshare", "ip", "mount", "python3"]) {
        skip("networks of its own, which root can make");
        return None;
    }
    let resolv = if resolv.is_empty() {
        String::new()
    } else {
        world.write("resolv.conf", resolv).display().to_string()
    };
    let ready = world.root().join("ready");
    // It may be there from the run before.
    let _ = std::fs::remove_file(&ready);
    let mut own = Command::new("unshare");
    own.args(["-n", "-m", "sh", "-c", OWN, "sh"]).arg(&ready).arg(resolv).env("SERVER", SERVER);
    own.arg(command.get_program()).args(command.get_args());
    own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    own.current_dir(world.work());
    Some(own)
}

/// Runs a command of this world there; `None` where there is no such place.
fn there(world: &World, resolv: &str, command: &Command) -> Option<Ended> {
    let ended = ended(&mut inside(world, resolv, command)?);
    if ended.status == 9 {
        skip(&format!("links between networks: {}", ended.stderr));
        return None;
    }
    Some(ended)
}

/// Tries each there, guarded or not.
fn tried(world: &World, is_guarded: bool, resolv: &str, tries: &[&str]) -> Option<Ended> {
    let mut command = if is_guarded { world.command() } else { Command::new("env") };
    if is_guarded {
        command.arg("--");
    }
    command.args(["python3", "-S", "-c", TRY]).args(tries);
    there(world, resolv, &command)
}

const METADATA: [&str; 7] = [
    "tcp 169.254.169.254 80",
    "mptcp 169.254.169.254 80",
    "udp 169.254.169.254 80",
    "tcp ::ffff:169.254.169.254 80",
    "tcp 100.100.100.200 80",
    "tcp 168.63.129.16 80",
    "tcp fd00:ec2::254 80",
];
const LINK_LOCAL: [&str; 3] = ["tcp 169.254.1.1 80", "tcp fe80::77%v0 80", "udp fe80::77%v0 80"];
const PRIVATE: [&str; 3] = ["tcp 10.0.0.1 80", "tcp fd00::1 80", "udp ::ffff:10.0.0.1 80"];
const PUBLIC: [&str; 3] = ["tcp 93.184.216.34 80", "tcp 2a00::1 80", "udp 93.184.216.34 53"];

fn all() -> Vec<&'static str> {
    [&METADATA[..], &LINK_LOCAL, &PRIVATE, &PUBLIC].concat()
}

fn words(word: &str, count: usize) -> Vec<&str> {
    vec![word; count]
}

#[test]
fn by_default_metadata_link_local_and_private_addresses_are_denied() {
    let world = World::bare();
    let Some(native) = tried(&world, false, "", &all()) else { return };
    assert_eq!(native.stdout.lines().collect::<Vec<_>>(), words("ok", all().len()), "{}", native.stderr);
    for world in [world, super::world("{}")] {
        let Some(guarded) = tried(&world, true, "", &all()) else { return };
        // Without a file a human would be asked about private networks, and there is none.
        let expected = [words("EACCES", 13), words("ok", 3)].concat();
        assert_eq!(guarded.stdout.lines().collect::<Vec<_>>(), expected, "{}", guarded.stderr);
        for line in [
            "denied connect 169.254.169.254:80 (a metadata address that network.connect.allow does not name)",
            "denied connect 169.254.1.1:80 (a link-local address that network.connect.allow does not name)",
            "denied connect 10.0.0.1:80 (network.connect.private \"",
        ] {
            assert!(guarded.stderr.contains(line), "{}", guarded.stderr);
        }
    }
}

/// Datagrams to each address, by every call that may name one; and those that are to arrive.
#[test]
fn datagrams_that_name_their_receiver() {
    let names = [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fd00:ec2::254",
        "169.254.1.1",
        "fe80::77%v0",
        "10.0.0.1",
    ];
    let open = ["93.184.216.34", "2a00::1"];
    let tries: Vec<String> = ["sendto", "sendmsg", "sendmmsg", "control", "connected", "unspecified"]
        .iter()
        .flat_map(|by| names.iter().chain(&open).map(move |host| format!("udp-{by} {host} 80")))
        .collect();
    let tries: Vec<&str> = tries.iter().map(String::as_str).collect();
    let world = World::bare();
    let Some(native) = tried(&world, false, "", &tries) else { return };
    let refused =
        |ended: &Ended| tries.iter().zip(ended.stdout.lines()).filter(|(_, result)| *result != "ok").count();
    assert_eq!(refused(&native), 0, "{}{}", native.stdout, native.stderr);
    let Some(guarded) = tried(&world, true, "", &tries) else { return };
    let expected: Vec<&str> =
        (0..6).flat_map(|_| [words("EACCES", names.len()), words("ok", open.len())].concat()).collect();
    assert_eq!(guarded.stdout.lines().collect::<Vec<_>>(), expected, "{}", guarded.stderr);
    assert!(guarded.stderr.contains("denied connect 169.254.169.254:80 ("), "{}", guarded.stderr);
}

#[test]
fn curl_does_not_reach_a_metadata_service() {
    let world = World::bare();
    if !guard_tests::has(&["curl"]) {
        return skip("curl");
    }
    let mut command = world.command();
    command.args(["--", "curl", "-sS", "-m2", "http://169.254.169.254/"]);
    let Some(guarded) = there(&world, "", &command) else { return };
    // CURLE_COULDNT_CONNECT
    assert_eq!(guarded.status, 7, "{}", guarded.stderr);
    assert!(
        guarded.stderr.contains("openclaw-guard: denied connect 169.254.169.254:80 ("),
        "{}",
        guarded.stderr
    );
}

#[test]
fn an_entry_of_its_own_opens_an_address() {
    let world = world(r#"{"allow": ["169.254.169.254:80", "fe80::77"]}"#);
    let tries = [
        "tcp 169.254.169.254 80",
        "tcp ::ffff:169.254.169.254 80",
        "tcp fe80::77%v0 80",
        "tcp 169.254.169.254 53",
        "tcp 169.254.1.1 80",
        "tcp fd00:ec2::254 80",
    ];
    let Some(guarded) = tried(&world, true, "", &tries) else { return };
    let results: Vec<_> = guarded.stdout.lines().collect();
    assert_eq!(results, ["ok", "ok", "ok", "EACCES", "EACCES", "EACCES"], "{}", guarded.stderr);
}

/// A metadata service of this host is one; another link-local address of it is only this host.
#[test]
fn addresses_of_this_host() {
    let world = world(r#"{"private": "deny"}"#);
    let tries = ["tcp 169.254.170.2 80", "tcp 169.254.9.9 80", "tcp 192.0.2.1 80", "tcp 127.0.0.1 80"];
    let Some(guarded) = tried(&world, true, "", &tries) else { return };
    let results: Vec<_> = guarded.stdout.lines().collect();
    assert_eq!(results, ["EACCES", "ECONNREFUSED", "ECONNREFUSED", "ECONNREFUSED"], "{}", guarded.stderr);
}

/// What a guarded program prints there, and the questions that it raised, each answered by what `decide` says.
fn answered(tries: &[&str], decide: impl FnMut(&Value) -> &'static str) -> Option<(Vec<Value>, Ended)> {
    let world = world(r#"{"private": "ask"}"#).attended();
    let mut command = world.command();
    command.args(["--", "python3", "-S", "-c", TRY]).args(tries);
    // Where there are no links between networks, no question would come.
    there(&world, "", &Command::new("true"))?;
    let _ = std::fs::remove_file(world.root().join("ready"));
    let held = world.start_command(inside(&world, "", &command)?);
    Some(held.answer_all(decide))
}

/// A human is asked about each address, port and protocol.
#[test]
fn private_networks_are_asked_about() {
    let tries = [
        "tcp 10.0.0.1 80",
        "tcp 10.0.0.1 80",
        "tcp ::ffff:10.0.0.1 80",
        "tcp 10.0.0.1 53",
        "udp 10.0.0.1 80",
        "udp-sendmmsg 10.0.0.1 80",
        "tcp fd00::1 80",
        "tcp 10.0.0.2 80",
        "tcp 93.184.216.34 80",
    ];
    let decide = |question: &Value| match question["resolvedPath"].as_str() {
        Some("10.0.0.1:80") => "allow-session",
        Some("[fd00::1]:80") => "allow-once",
        _ => "deny",
    };
    let Some((asked, ended)) = answered(&tries, decide) else { return };
    let results: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(results, ["ok", "ok", "ok", "EACCES", "ok", "ok", "ok", "EACCES", "ok"], "{}", ended.stderr);
    let text = |question: &Value, key: &str| question[key].as_str().unwrap_or_default().to_owned();
    let names: Vec<_> =
        asked.iter().map(|question| (text(question, "resolvedPath"), text(question, "call"))).collect();
    let expected = [
        ("10.0.0.1:80", "TCP"),
        ("10.0.0.1:53", "TCP"),
        ("10.0.0.1:80", "UDP"),
        ("[fd00::1]:80", "TCP"),
        ("10.0.0.2:80", "TCP"),
    ];
    assert_eq!(names, expected.map(|(to, by)| (to.to_owned(), by.to_owned())), "{}", ended.stderr);
    let offered = Value::from(vec!["allow-once", "allow-session", "allow-30m", "deny"]);
    assert!(asked.iter().all(|question| question["answers"] == offered), "{asked:#?}");
    assert_eq!(asked[0]["askedBy"][0]["name"], "python3", "{}", asked[0]);
    let line = "denied connect 10.0.0.2:80 (network.connect.private \"ask\"; denied by the operator)";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
}

#[test]
fn private_networks_may_be_denied() {
    let tries = [&PRIVATE[..], &PUBLIC].concat();
    let closed = world(r#"{"private": "deny"}"#);
    let Some(guarded) = tried(&closed, true, "", &tries) else { return };
    let results: Vec<_> = guarded.stdout.lines().collect();
    assert_eq!(results, [words("EACCES", 3), words("ok", 3)].concat(), "{}", guarded.stderr);
    let line = "denied connect 10.0.0.1:80 (network.connect.private \"deny\")";
    assert!(guarded.stderr.contains(line), "{}", guarded.stderr);
    let part = world(r#"{"private": "deny", "allow": ["10.0.0.0/8:80"]}"#);
    let Some(guarded) = tried(&part, true, "", &tries) else { return };
    let results: Vec<_> = guarded.stdout.lines().collect();
    assert_eq!(results, ["ok", "EACCES", "ok", "ok", "ok", "ok"], "{}", guarded.stderr);
}

/// An address of another link is not this host's because an interface has the same one on its own link, and a socket that
/// keeps to a link would send there what is for this host.
#[test]
fn the_link_of_an_address_counts() {
    let tries = [
        "tcp fe80::77%v0 80",
        "udp fe80::77%v0 80",
        "udp-sendto fe80::77%v0 80",
        "tcpbind fe80::5%v0 8081",
        "udpbind fe80::5%v0 8081",
    ];
    let bare = World::bare();
    let Some(native) = tried(&bare, false, "", &tries) else { return };
    assert_eq!(native.stdout.lines().collect::<Vec<_>>(), words("ok", tries.len()), "{}", native.stderr);
    let Some(guarded) = tried(&bare, true, "", &tries) else { return };
    assert_eq!(
        guarded.stdout.lines().collect::<Vec<_>>(),
        words("EACCES", tries.len()),
        "{}",
        guarded.stderr
    );
    let line = "denied bind [fe80::5%";
    assert!(guarded.stderr.contains(line), "{}", guarded.stderr);
    let Some(open) = tried(&world(r#"{"private": "allow"}"#), true, "", &tries[3..]) else { return };
    assert_eq!(open.stdout.lines().collect::<Vec<_>>(), words("ok", 2), "{}", open.stderr);
}

/// A socket that a peer of the link has made keeps to that link, even when it is connected to another address: one that
/// this host and a host of the link have.
#[test]
fn an_accepted_socket_keeps_to_its_link() {
    const AGAIN: &str = r#"
import ctypes, errno, os, socket
listener = socket.create_server(("::", 8082), family=socket.AF_INET6)
accepted, (peer, *_) = listener.accept()
assert peer.startswith("fe80::77"), peer
libc = ctypes.CDLL(None, use_errno=True)
assert libc.connect(accepted.fileno(), bytes(16), 16) == 0, os.strerror(ctypes.get_errno())
# The kernel itself would choose the address that is asked for.
accepted.bind(("2001:db8::1", 0))
accepted.settimeout(5)
print("own", errno.errorcode[socket.socket(socket.AF_INET6).connect_ex(("fd00:2::2", 80))])
print("link", errno.errorcode.get(accepted.connect_ex(("fd00:2::2", 80)), "ok"))
"#;
    let again = |world: &World, is_guarded: bool| {
        let mut command = if is_guarded { world.command() } else { Command::new("env") };
        if is_guarded {
            command.arg("--");
        }
        there(world, "", command.args(["python3", "-S", "-c", AGAIN]))
    };
    let bare = World::bare();
    let Some(native) = again(&bare, false) else { return };
    assert_eq!(native.stdout, "own ECONNREFUSED\nlink ok\n", "{}", native.stderr);
    let Some(guarded) = again(&bare, true) else { return };
    assert_eq!(guarded.stdout, "own ECONNREFUSED\nlink EACCES\n", "{}", guarded.stderr);
}

/// Clouds have their name servers at such addresses, and routers of a home theirs.
#[test]
fn the_hosts_name_servers_are_reached() {
    let world = World::bare();
    let tries = [
        "udp 169.254.169.254 53",
        "tcp 169.254.169.254 53",
        "udp fe80::77%v0 53",
        "tcp 169.254.169.254 80",
        "udp 169.254.1.1 53",
    ];
    let resolv = "nameserver 169.254.169.254\nnameserver fe80::77%v0\n";
    let Some(guarded) = tried(&world, true, resolv, &tries) else { return };
    let results: Vec<_> = guarded.stdout.lines().collect();
    assert_eq!(results, ["ok", "ok", "ok", "EACCES", "EACCES"], "{}", guarded.stderr);
}

/// What can be asked, and what says how to change it.
#[test]
fn commands_name_the_entry() {
    let world = World::bare();
    let check = ended(world.command().args(["check", "--connect", "[64:ff9b::a9fe:a9fe]:80"]));
    assert_eq!(check.status, 1, "{}", check.stderr);
    assert!(
        check.stdout.contains("a metadata address that network.connect.allow does not name"),
        "{}",
        check.stdout
    );
    let question = r#"{"op":"connect","address":"169.254.1.1:80"}"#;
    let batch = ended_with_input(world.command().args(["check", "--batch"]), question.as_bytes());
    assert!(batch.stdout.contains(r#""outcome":"deny""#), "{}", batch.stdout);
    let world = super::world(r#"{"allow": ["169.254.169.254:80", "10.0.0.0/8"], "private": "deny"}"#);
    let show = ended(world.command().args(["policy", "show", "--effective"]));
    for line in [
        "network.connect.allow   169.254.169.254:80, 10.0.0.0/8:*  (global)",
        "network.connect.private deny  (global)",
    ] {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&show.stdout).contains(&words(line)), "{}", show.stdout);
    }
}
