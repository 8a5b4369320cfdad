//! `openclaw-guard approvals serve`

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use guard_approvals::page_lock::{Serving, ServingError};
use guard_openclaw::ids;
use guard_supervisor::config::Paths;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use serde_json::json;

pub use super::super::watch::command::{WatchError, follow, outside};
use super::super::watch::endpoint::{WatchSocket, WatchSocketError};
use super::super::watch::view::WatchView;
use super::WebView;
use super::links::{self, Links};
use super::listen::Service;
use super::origin::Origin;
use super::sessions::Sessions;
use super::state::link;

/// How long to wait for a link from another `serve`, which may have just started.
const START_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// How to serve.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard approvals serve\n  \
    openclaw-guard approvals serve --port 18780\n  \
    openclaw-guard approvals serve --address 127.0.0.1 --port 18780\n  \
    openclaw-guard -q approvals serve\n\n\
    It prints a link that opens the page once, within ten minutes. If the page is served already, it\n\
    prints a link to that page, and ends. With -q it prints no link, which suits a service.\n\n\
    Exit status: 0 after SIGINT or SIGTERM, or after printing a link to the running page; 125 error.")]
pub struct ServeArguments {
    /// The port; 0 means any free port
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// An address in 127.0.0.0/8 [default: a random one]
    #[arg(long, value_name = "ADDRESS", value_parser = own)]
    address: Option<Ipv4Addr>,
    /// Print the link as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error(transparent)]
    Serving(#[from] ServingError),
    #[error("cannot create the socket that gives links to the page: {0}")]
    Links(io::Error),
    #[error("`approvals serve` runs already, but its link cannot be read: {0}")]
    NoLink(io::Error),
    #[error("cannot write: {0}")]
    Output(io::Error),
}

/// Serves the page until interrupted. If the page is served already, prints a link to it.
///
/// # Errors
/// When the page cannot be served.
pub fn serve(paths: &Paths, options: &Options, arguments: &ServeArguments) -> Result<Exit, ServeError> {
    outside()?;
    let state = &paths.state_directory;
    if let Some(url) = links::ask(state).map_err(ServeError::NoLink)? {
        return print_url(options, arguments, &url);
    }
    // From now on every guard denies its tree this address.
    let at = SocketAddr::from((arguments.address.unwrap_or_else(another_address), arguments.port));
    let serving = match Serving::begin(state, at) {
        Err(ServingError::Runs(_)) => return print_url(options, arguments, &another(state)?),
        serving => serving?,
    };
    // Must run before a second thread starts: the umask belongs to the whole process.
    let watch_socket = match WatchSocket::bind(state, &paths.home) {
        Ok(socket) => Some(socket),
        Err(held @ (WatchSocketError::Runs | WatchSocketError::Taken(_))) => {
            eprintln!(
                "openclaw-guard: questions on OpenClaw's approvals socket do not appear on the page: {held}"
            );
            None
        }
        Err(error) => return Err(WatchError::from(error).into()),
    };
    let (_links, socket) = Links::bind(state).map_err(ServeError::Links)?;
    let mut sessions = Sessions::default();
    let url = link(&Origin::new(serving.address()), &mut sessions);
    print_url(options, arguments, &url)?;
    if !options.quiet {
        eprintln!(
            "openclaw-guard: the link works once, within ten minutes; the same command prints another one"
        );
    }
    let service = Service::new(serving, socket, sessions, options.clone());
    Ok(follow(watch_socket.as_ref(), state, WatchView::Page(Box::new(WebView::new(service))))?)
}

/// A random loopback address. A browser stores data by origin (cached pages, service workers), and the data
/// outlasts the server: a process that had served this address before could read the page's key.
fn another_address() -> Ipv4Addr {
    let [a, b, c] = ids::bytes::<3>();
    // 127.0.0.1 has a name and other servers. 0 and 255 in the last place are not host addresses.
    Ipv4Addr::new(127, a.max(1), b, c.clamp(1, 254))
}

/// Parses a loopback address.
fn own(text: &str) -> Result<Ipv4Addr, String> {
    match text.parse::<Ipv4Addr>() {
        Ok(address) if address.is_loopback() => Ok(address),
        _ => Err("it is not an address in 127.0.0.0/8".to_owned()),
    }
}

/// Waits for a link of a `serve` that is just starting.
fn another(state: &Path) -> Result<String, ServeError> {
    let end = Instant::now() + START_TIMEOUT;
    loop {
        match links::ask(state) {
            Ok(Some(url)) => return Ok(url),
            Ok(None) if Instant::now() < end => std::thread::sleep(RETRY_INTERVAL),
            Ok(None) => return Err(ServeError::NoLink(io::ErrorKind::NotFound.into())),
            Err(error) => return Err(ServeError::NoLink(error)),
        }
    }
}

fn print_url(options: &Options, arguments: &ServeArguments, url: &str) -> Result<Exit, ServeError> {
    if options.quiet {
        return Ok(Exit::Success);
    }
    let mut out = io::stdout().lock();
    let printed = if arguments.json {
        writeln!(out, "{}", json!({"event": "listening", "url": url}))
    } else {
        writeln!(out, "{url}")
    };
    printed.and_then(|()| out.flush()).map_err(ServeError::Output)?;
    Ok(Exit::Success)
}
