//! A git server on a port of its own, as a remote that is not a directory.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Serves the repositories below a directory, for reading and pushing, as long as the test runs. Returns the port.
pub fn serve(directory: &Path) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let directory: PathBuf = directory.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = OwnedFd::from(stream.expect("a connection"));
            let mut base = std::ffi::OsString::from("--base-path=");
            base.push(&directory);
            let mut daemon = Command::new("git");
            daemon.args(["daemon", "--inetd", "--export-all", "--enable=receive-pack"]).arg(base);
            daemon.stdin(stream.try_clone().expect("a copy")).stdout(stream).stderr(Stdio::null());
            let _ = daemon.spawn().expect("git daemon").wait();
        }
    });
    port
}
