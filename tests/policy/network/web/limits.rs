//! Settings beside the names, bounds, and what happens when the proxy is gone.

use super::{arrived, guarded, ruled, there, world};

#[test]
fn responses_of_plain_http_have_a_limit() {
    let world = world(r#"{"web": {"maxResponseBytes": 1000}}"#);
    let script = r#"
for path in bytes/1000 bytes/1001 unlimited; do
    rm -f body; curl -s -o body http://good.test/$path; status=$?; touch body; echo "$path $status $(wc -c < body)"
done"#;
    let Some(guarded) = guarded(&world, &["sh", "-c", script]) else { return };
    let results: Vec<_> = guarded.stdout.lines().collect();
    assert_eq!(results[0], "bytes/1000 0 1000", "{}", guarded.stderr);
    assert!(results[1].starts_with("bytes/1001 0 "), "{results:?}");
    // CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING or CURLE_RECV_ERROR
    assert!(
        ["unlimited 18 ", "unlimited 52 ", "unlimited 56 "].iter().any(|start| results[2].starts_with(start)),
        "{results:?}"
    );
    let length: usize = results[2].rsplit(' ').next().and_then(|word| word.parse().ok()).expect("a length");
    assert!(length <= 1000, "{results:?}");
    assert!(guarded.stderr.contains("(network.web.maxResponseBytes 1000)"), "{}", guarded.stderr);
}

#[test]
fn redirects_are_judged_or_refused() {
    let open = world(r#"{"web": {"allowedDomains": ["good.test"]}}"#);
    let fetch = ["sh", "-c", "curl -sL -o /dev/null -w '%{http_code}' http://good.test/moved"];
    let Some(followed) = guarded(&open, &fetch) else { return };
    assert_eq!(followed.stdout, "403", "{}", followed.stderr);
    assert!(followed.stderr.contains("denied connect evil.test:80"), "{}", followed.stderr);
    let closed = world(r#"{"web": {"followRedirects": false}}"#);
    let Some(refused) = guarded(&closed, &fetch) else { return };
    assert_eq!(refused.stdout, "403", "{}", refused.stderr);
    assert!(
        refused.stderr.contains("good.test:80 (network.web.followRedirects false)"),
        "{}",
        refused.stderr
    );
    assert!(!arrived(&closed).iter().any(|line| line.starts_with("93.184.216.35")));
}

#[test]
fn origins_have_a_scheme_and_a_port() {
    let world = world(
        r#"{"web": {"allowedOrigins": ["https://good.test"], "deniedOrigins": ["http://a.sub.test"]}}"#,
    );
    let script = r#"
for url in https://good.test/ http://good.test/ http://good.test:443/ https://a.sub.test/; do
    curl -sk -o /dev/null -w '%{http_code} ' $url
done
curl -s -p -o /dev/null http://good.test/; echo $?"#;
    let Some(guarded) = guarded(&world, &["sh", "-c", script]) else { return };
    // A tunnel to port 443 may be opened for the origin, and holds TLS alone. CURLE_COULDNT_CONNECT or CURLE_RECV_ERROR.
    let (codes, last) = guarded.stdout.trim().rsplit_once(' ').expect("words");
    assert_eq!(codes, "200 403 403 000", "{}", guarded.stderr);
    assert!(["7", "56"].contains(&last), "{last}");
}

/// What was opened for a network is open by name, too; link-local addresses need an entry of their own.
#[test]
fn private_addresses_have_entries() {
    let world = world(
        r#"{"connect": {"allow": ["10.0.0.0/8:80"]}, "web": {"allowedDomains": ["private.test", "meta.test"]}}"#,
    );
    let script = r#"
for url in http://private.test/a http://private.test:22/b http://meta.test/c; do curl -s -o /dev/null -w '%{http_code} ' $url; done
curl -s -m 5 --noproxy '*' http://10.0.0.1/d; echo $?"#;
    let Some(guarded) = guarded(&world, &["sh", "-c", script]) else { return };
    assert_eq!(guarded.stdout, "200 403 403 7\n", "{}", guarded.stderr);
}

/// Servers of the tree's own are reached as before, and its name servers are not.
#[test]
fn this_host_is_reached_directly() {
    let script = r#"
import errno, socket, threading
server = socket.create_server(("127.0.0.1", 0)); threading.Thread(target=server.accept, daemon=True).start()
socket.create_connection(server.getsockname()).close(); print("ok")
for to in ("127.0.0.53", 53), ("127.0.0.1", 53), ("192.0.2.1", 53):
    try: socket.create_connection(to, 5)
    except OSError as error: print(errno.errorcode[error.errno])
"#;
    let Some(guarded) = guarded(&ruled(), &["python3", "-S", "-c", script]) else { return };
    assert_eq!(guarded.stdout, "ok\nEACCES\nEACCES\nEACCES\n", "{}", guarded.stderr);
}

/// If the proxy dies, nothing leads out, and the operator hears of it.
#[test]
fn without_the_proxy_connections_fail() {
    let world = ruled();
    let mut command = world.command();
    let script = "curl -s -o /dev/null -w '%{http_code} ' http://good.test/ok; touch first; until [ -e killed ]; do sleep 0.05; done; curl -s -m 20 http://good.test/no; echo $?; curl -s -m 5 --noproxy '*' http://93.184.216.34/no; echo $?";
    command.args(["--", "sh", "-c", script]);
    // Outside of the guard, but in the namespace: it ends the proxy, a child of this test's own guard.
    let outer = r#"
"$@" & guard=$!
i=0; until [ -e first ]; do i=$((i + 1)); [ $i -lt 3000 ] || exit 8; sleep 0.02; done
for supervisor in $(cat /proc/$guard/task/$guard/children); do
    for child in $(cat /proc/$supervisor/task/$supervisor/children); do
        tr '\0' ' ' < /proc/$child/cmdline | grep -q web-proxy && kill -9 $child
    done
done
sleep 0.2; touch killed; wait $guard"#;
    let mut whole = std::process::Command::new("sh");
    whole.args(["-c", outer, "sh"]).arg(command.get_program()).args(command.get_args());
    whole.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Some(guarded) = there(&world, &whole) else { return };
    // CURLE_COULDNT_CONNECT
    assert_eq!(guarded.stdout, "200 7\n7\n", "{}", guarded.stderr);
    let lines = guarded.stderr.matches("the guard's proxy has ended").count();
    assert_eq!(lines, 1, "{}", guarded.stderr);
}

/// Only the tree is served, and the tree cannot reach the process that serves it.
#[test]
fn the_proxy_is_the_trees_alone() {
    let world = ruled();
    let script = r#"
echo "$http_proxy" > port; until [ -s pid ]; do sleep 0.02; done
kill -9 "$(cat pid)" 2>/dev/null && echo killed
cat "/proc/$(cat pid)/mem" > /dev/null 2>&1 && echo read
curl -s -o /dev/null -w '%{http_code}\n' http://good.test/ok"#;
    let mut command = world.command();
    command.args(["--", "sh", "-c", script]);
    let outer = r#"
"$@" & guard=$!
i=0; until [ -s port ]; do i=$((i + 1)); [ $i -lt 3000 ] || exit 8; sleep 0.02; done
curl -s -o /dev/null -w 'stranger %{http_code}\n' -x "$(cat port)" http://good.test/no
for supervisor in $(cat /proc/$guard/task/$guard/children); do
    for child in $(cat /proc/$supervisor/task/$supervisor/children); do
        tr '\0' ' ' < /proc/$child/cmdline | grep -q web-proxy && echo $child > found
    done
done
mv found pid; wait $guard"#;
    let mut whole = std::process::Command::new("sh");
    whole.args(["-c", outer, "sh"]).arg(command.get_program()).args(command.get_args());
    whole.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Some(guarded) = there(&world, &whole) else { return };
    assert_eq!(guarded.stdout, "stranger 403\n200\n", "{}", guarded.stderr);
}

/// More clients at once than the proxy serves wait for their turn, and a slow one keeps nobody waiting.
#[test]
fn many_clients_are_served() {
    let script = r#"
import os, socket, threading
port = int(os.environ["http_proxy"].rsplit(":", 1)[1]); done = []
def fetch(wait):
    s = socket.create_connection(("127.0.0.1", port), 120)
    s.sendall(b"GET http://good.test/bytes/200000 HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n")
    if wait: wait.wait()
    data = b""
    while more := s.recv(65536): data += more
    done.append(len(data) > 200000)
go = threading.Event()
slow = [threading.Thread(target=fetch, args=(go,)) for _ in range(20)]
quick = [threading.Thread(target=fetch, args=(None,)) for _ in range(300)]
for thread in slow + quick: thread.start()
for thread in quick: thread.join()
go.set()
for thread in slow: thread.join()
print(len(done), all(done))
"#;
    let Some(guarded) = guarded(&ruled(), &["python3", "-S", "-c", script]) else { return };
    assert_eq!(guarded.stdout, "320 True\n", "{}", guarded.stderr);
}

/// `--observe` blocks nothing, and says what would be.
#[test]
fn observing_lets_through() {
    let world = ruled();
    let mut command = world.command();
    command.args(["--observe", "--", "sh", "-c"]);
    command.arg("curl -s -o /dev/null -w '%{http_code} ' http://evil.test/; curl -s --noproxy '*' -o /dev/null -w '%{http_code}' http://93.184.216.35/");
    let Some(observed) = there(&world, &command) else { return };
    assert_eq!(observed.stdout, "200 200", "{}", observed.stderr);
    for name in ["evil.test:80", "93.184.216.35:80"] {
        assert!(
            observed.stderr.contains(&format!("would have denied connect {name} (")),
            "{}",
            observed.stderr
        );
    }
}
