//! A terminal at the other end of a network: `ssh -t`.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use guard_tests::{Screen, World, is_root, skip, until, words};

const SSHD: &str = "/usr/sbin/sshd";

/// An ssh server of this test's own, for its own user.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(world: &World) -> Server {
        let root = world.root();
        let path = |name: &str| root.join(name).display().to_string();
        for name in ["host", "key"] {
            let made = world.native(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &path(name)]);
            assert_eq!(made.status, 0, "{}", made.stderr);
        }
        std::fs::copy(path("key.pub"), path("authorized")).expect("a copy");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
             PasswordAuthentication no\nPermitRootLogin yes\n",
            path("host"),
            path("authorized")
        );
        world.write("sshd_config", settings);
        let process = Command::new(SSHD)
            .args(["-D", "-e", "-f", &path("sshd_config")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd");
        until("sshd listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Server { process, port }
    }

    fn client(&self, world: &World, line: &str) -> Command {
        let mut ssh = Command::new("ssh");
        let (key, port) = (world.root().join("key"), self.port.to_string());
        ssh.args([
            "-t",
            "-q",
            "-F",
            "/dev/null",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
        ]);
        ssh.arg("-i").arg(key).args(["-p", &port, "127.0.0.1", line]);
        ssh
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_guard_behind_ssh() {
    if !Path::new(SSHD).exists() || !Path::new("/run/sshd").exists() {
        return skip("no ssh server is installed");
    }
    if !is_root() {
        return skip("an ssh server gives terminals only when it runs as root");
    }
    let world = World::open();
    let server = Server::start(&world);
    let shown = [false, true].map(|guarded| {
        let mut runner = if guarded { world.command() } else { world.native_command() };
        if guarded {
            runner.args(["-q", "--"]);
        }
        let inner = "tty | tr -d 0-9; stty size; echo ready; cat; echo over; exit 6";
        let mut screen =
            Screen::start(&server.client(&world, &format!("{} sh -c '{inner}'", words(&runner))));
        screen.expect("ready\r\n");
        screen.keys("typed\n");
        screen.expect("typed\r\ntyped\r\n");
        screen.resize(44, 55);
        screen.keys("\x04");
        screen.expect("over\r\n");
        screen.end()
    });
    assert_eq!(shown[1], shown[0]);
    assert_eq!(shown[0].0, 6, "{}", shown[0].1);
    assert!(shown[0].1.contains("30 100\r\n"), "{}", shown[0].1);
}
