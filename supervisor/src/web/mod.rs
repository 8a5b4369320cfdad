//! `network.web`, the supervisor's side: starts the proxy that leads the tree to other hosts, and answers its questions.
//!
//! The proxy is a process of its own outside the tree. It parses what the tree and the servers send, looks names up and
//! moves bytes; the supervisor does none of that. The two speak over a socket pair (`wire`). Whoever asks the proxy is
//! known by the address that the tree's connection comes from (`clients`). Programs that do not know the proxy look names up
//! (`lookups`), get addresses that stand for them (`stand_ins`), and their connections there are redirected to the proxy.

mod answers;
mod asked;
mod clients;
mod consent;
mod lookups;
mod sockets;
mod stand_ins;
mod suffixes;
pub mod wire;

use std::ffi::OsString;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use guard_policy::environment::Variable;
use parking_lot::Mutex;

use crate::audit::report::Reporter;
use crate::config::environment::PROXIES;
use crate::judge::active::Current;
use crate::panics::restart_on_panic;
use answers::Answers;
use asked::AskedRequests;
pub use clients::{ProxyPorts, WebClient, WebClients};
pub use sockets::receive_sockets;
use sockets::send_sockets;

/// How long the end of the guard waits for the proxy's last reports.
const LAST_REPORTS_TIMEOUT: Duration = Duration::from_millis(500);

/// How the proxy is started: a program and its arguments.
#[derive(Clone, Debug)]
pub struct ProxyCommand(pub Vec<OsString>);

/// The sockets of a proxy that does not run yet. Connections and look-ups wait until it does.
#[derive(Debug)]
pub struct ProxySockets {
    listener: TcpListener,
    redirected: TcpListener,
    lookups: UdpSocket,
    ports: ProxyPorts,
    command: ProxyCommand,
}

impl ProxySockets {
    /// Binds free ports of the loopback address.
    ///
    /// # Errors
    /// Those of socket(2) and bind(2).
    pub fn bind(command: ProxyCommand) -> io::Result<ProxySockets> {
        let any = (Ipv4Addr::LOCALHOST, 0);
        let (listener, redirected, lookups) =
            (TcpListener::bind(any)?, TcpListener::bind(any)?, UdpSocket::bind(any)?);
        let ports = ProxyPorts {
            proxy: listener.local_addr()?.port(),
            redirected: redirected.local_addr()?.port(),
            lookups: lookups.local_addr()?.port(),
        };
        Ok(ProxySockets { listener, redirected, lookups, ports, command })
    }

    /// The variables that tell programs of the proxy.
    pub fn variables(&self) -> Vec<Variable> {
        variables(self.ports.proxy)
    }

    /// The clients of the proxy.
    pub fn clients(&self) -> WebClients {
        WebClients::at(self.ports)
    }

    /// Starts the proxy, and a thread that answers its questions by the policy in force.
    ///
    /// # Errors
    /// If the proxy or the thread cannot be started.
    pub fn start(
        self,
        current: Arc<Current>,
        clients: Arc<WebClients>,
        reporter: Reporter,
    ) -> io::Result<RunningProxy> {
        let (ours, theirs) = UnixStream::pair()?;
        // The first byte brings the sockets for which there is no standard descriptor.
        send_sockets(&ours, [self.redirected.as_fd(), self.lookups.as_fd()])?;
        let mut child = spawn(&self.command, theirs, self.listener)?;
        let answering = ours.try_clone()?;
        let is_ending = Arc::new(AtomicBool::new(false));
        let (done, ended) = channel();
        let (problems, ending) = (reporter.clone(), Arc::clone(&is_ending));
        let to = Mutex::new(ours.try_clone()?);
        let answers = Arc::new(Answers { current, clients, reporter, asked: AskedRequests::default(), to });
        let serve = move || {
            let served = || answers.serve(&mut BufReader::new(&answering));
            restart_on_panic(served, |fault| problems.fault(fault, None));
            // Whatever the proxy sent last, it no longer answers.
            let _ = child.kill();
            let status = child.wait();
            if !ending.load(Ordering::Relaxed) {
                let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                problems.problem(format!(
                    "openclaw-guard: the guard's proxy has ended ({how}): guarded programs reach no other hosts until the guard is started anew"
                ));
            }
            let _ = done.send(());
        };
        std::thread::Builder::new().name("web".into()).spawn(serve)?;
        Ok(RunningProxy { channel: ours, is_ending, ended })
    }
}

/// The proxy's variables, in capitals and in small letters.
fn variables(port: u16) -> Vec<Variable> {
    let proxy = format!("http://127.0.0.1:{port}");
    let here = "localhost,127.0.0.1,::1";
    let named = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    let both = |name: &str, value: &str| [named(name, value), named(&name.to_lowercase(), value)];
    let mut all = PROXIES.map(|name| both(name, &proxy)).concat();
    all.extend(both("NO_PROXY", here));
    // Node's fetch and http take proxies from the environment only if they are asked to.
    all.push(named("NODE_USE_ENV_PROXY", "1"));
    all
}

/// Starts the proxy with nothing but its channel (as standard input), its listener (as standard output), and the variables
/// that the system's resolver knows.
fn spawn(command: &ProxyCommand, channel: UnixStream, listener: TcpListener) -> io::Result<Child> {
    let ProxyCommand(words) = command;
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let resolver = ["LOCALDOMAIN", "RES_OPTIONS"];
    Command::new(program)
        .arg0("openclaw-guard")
        .args(arguments)
        .env_clear()
        .envs(resolver.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(channel)))
        .stdout(Stdio::from(OwnedFd::from(listener)))
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// The proxy of a tree. It ends when this is dropped.
#[derive(Debug)]
pub struct RunningProxy {
    channel: UnixStream,
    is_ending: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        // The proxy reads the end, reports what it has moved, and ends.
        let _ = self.channel.shutdown(Shutdown::Write);
        let _ = self.ended.recv_timeout(LAST_REPORTS_TIMEOUT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_find_the_proxy_by_either_spelling() {
        let all = variables(3128);
        let of = |name: &str| {
            let found = all.iter().find(|(known, _)| known == name.as_bytes());
            found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        for name in ["http_proxy", "HTTPS_PROXY", "https_proxy", "all_proxy"] {
            assert_eq!(of(name).as_deref(), Some("http://127.0.0.1:3128"), "{name}");
        }
        assert_eq!(of("no_proxy").as_deref(), Some("localhost,127.0.0.1,::1"));
    }
}
