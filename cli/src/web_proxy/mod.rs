//! The guard's proxy: with `network.web`, the tree's only way to other hosts.
//!
//! It is a process of its own, outside the tree and outside the trusted base. It asks the supervisor about every host,
//! by name before the look-up and with all addresses before it connects, and connects to what was judged. In a tunnel,
//! TLS must name the requested host, and anything else must be HTTP for that host. TLS itself stays between the program
//! and its server. For programs that do not know the proxy it answers look-ups, and serves connections that the supervisor
//! has redirected.

mod client;
mod client_hello;
mod connection;
mod exchange;
mod forward;
mod host;
mod listen;
mod lookups;
mod metered;
mod prefixed;
mod redirected;
mod socks;
mod splice;
mod supervisor_link;
mod tunnel;

use std::ffi::OsString;
use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use clap::Args;
use guard_supervisor::exit::Exit;
use guard_supervisor::web::wire::ProxySocket;
use guard_supervisor::web::{ProxyCommand, receive_sockets};
use rustix::net::{AddressFamily, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::LocalSet;

use supervisor_link::SupervisorLink;

/// The subcommand that a guard starts its proxy with.
const SUBCOMMAND: &str = "web-proxy";

/// What the proxy is started with: nothing. The sockets are its standard input and output.
#[derive(Args, Debug)]
#[command(after_help = "Example (as a guard starts it, with two sockets):\n  openclaw-guard web-proxy\n\n\
    Exit status: 0 the guard has ended, 125 error.")]
pub struct WebProxyArgs {}

/// Why the proxy does not run.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error("web-proxy is started by a guard, not by hand: set network.web in guard.json, and start a guard")]
    NotOfAGuard,
    #[error("the proxy cannot start: {0}")]
    Start(#[from] io::Error),
}

/// How a guard starts its proxy: this program, also if its file has been replaced meanwhile.
pub fn command() -> ProxyCommand {
    ProxyCommand(["/proc/self/exe", SUBCOMMAND].map(OsString::from).into())
}

/// Serves until the guard ends.
///
/// # Errors
/// If a guard has not started it, or it lacks what it needs.
pub fn act(_: &WebProxyArgs) -> Result<Exit, ProxyError> {
    let sockets = Sockets::receive()?;
    give_up_rights()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(host::MAX_LOOKUPS)
        .build()?;
    let served = runtime.block_on(serve(sockets));
    // A look-up may take longer than anybody waits.
    runtime.shutdown_background();
    served?;
    Ok(Exit::Success)
}

/// Serves until the guard ends. Then every connection ends, and the guard gets a report of each.
async fn serve(sockets: Sockets) -> io::Result<()> {
    let Sockets { channel, listener, redirected, lookups } = sockets;
    channel.set_nonblocking(true)?;
    let channel = tokio::net::UnixStream::from_std(channel)?;
    let (listener, redirected) = (listening(listener)?, listening(redirected)?);
    lookups.set_nonblocking(true)?;
    let lookups = tokio::net::UdpSocket::from_std(lookups)?;
    let (link, incoming, outgoing) = SupervisorLink::new(channel);
    let (link, seats) = (Rc::new(link), listen::seats());
    let connections = LocalSet::new();
    let places = || (Rc::clone(&link), Arc::clone(&seats));
    connections.spawn_local(listen::accept(listener, ProxySocket::Proxy, places(), connection::serve));
    connections.spawn_local(listen::accept(redirected, ProxySocket::Redirected, places(), redirected::serve));
    connections.spawn_local(lookups::serve(lookups, Rc::clone(&link)));
    drop(link);
    let mut sending = pin!(outgoing.run());
    let until_end = async { tokio::select!(end = incoming.run() => end, end = &mut sending => end) };
    let is_sending = connections.run_until(until_end).await.is_ok();
    drop(connections);
    // Nothing is left that could write a message, so the task ends with the last message.
    if is_sending {
        sending.await?;
    }
    Ok(())
}

fn listening(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}

/// The sockets that a guard gives to its proxy.
struct Sockets {
    /// To the supervisor.
    channel: UnixStream,
    /// For programs that know the proxy.
    listener: TcpListener,
    /// For connections that the supervisor has redirected.
    redirected: TcpListener,
    /// For look-ups that the supervisor has redirected.
    lookups: UdpSocket,
}

impl Sockets {
    fn receive() -> Result<Sockets, ProxyError> {
        let (channel, listener) = standard_sockets()?;
        let [redirected, lookups] = receive_sockets(&channel).map_err(|_| ProxyError::NotOfAGuard)?;
        Ok(Sockets { channel, listener, redirected: redirected.into(), lookups: lookups.into() })
    }
}

/// The guard's channel and the listening socket.
fn standard_sockets() -> Result<(UnixStream, TcpListener), ProxyError> {
    let is_of = |fd: &dyn AsFd, family| sockopt::socket_domain(fd).is_ok_and(|domain| domain == family);
    let is_channel = is_of(&io::stdin(), AddressFamily::UNIX);
    let is_listener = is_of(&io::stdout(), AddressFamily::INET)
        && sockopt::socket_acceptconn(io::stdout()).is_ok_and(|accepts| accepts);
    if !is_channel || !is_listener {
        return Err(ProxyError::NotOfAGuard);
    }
    let channel = io::stdin().as_fd().try_clone_to_owned()?;
    let listener = io::stdout().as_fd().try_clone_to_owned()?;
    // Nothing else may keep the port or the channel when this process closes them.
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null).map_err(io::Error::from)?;
    rustix::stdio::dup2_stdout(&null).map_err(io::Error::from)?;
    Ok((channel.into(), listener.into()))
}

/// Gives up the rights that connecting and looking names up do not need, and raises the limit of open descriptors to
/// its maximum.
fn give_up_rights() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    guard_shim::clear_capabilities()?;
    nix::sys::prctl::set_dumpable(false)?;
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none)?;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?;
    Ok(())
}

#[cfg(test)]
mod tests;
