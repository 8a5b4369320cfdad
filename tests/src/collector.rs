//! A real OpenTelemetry collector: rotel, as its authors publish it on PyPI (scripts/gateways).

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::gateway::installed;
use crate::{free_port, until};

/// The version that scripts/gateways installs.
const VERSION: &str = "0.0.1a15";

/// A collector that writes what it receives to a file.
#[derive(Debug)]
pub struct Collector {
    child: Child,
    port: u16,
    out: PathBuf,
}

impl Collector {
    /// Starts a collector with its files in this directory, and waits until it listens.
    ///
    /// # Panics
    /// When it is not there: `scripts/gateways` was not run.
    #[must_use]
    pub fn start(directory: &Path) -> Collector {
        let program = installed().join(format!("rotel-{VERSION}/rotel/rotel-agent"));
        assert!(program.exists(), "{} is not there: scripts/gateways", program.display());
        let [port, other] = [free_port(), free_port()];
        let out = directory.join("collector.out");
        let mut command = Command::new(program);
        command.args([
            "start",
            "--exporter",
            "blackhole",
            "--debug-log",
            "logs",
            "--debug-log-verbosity",
            "detailed",
        ]);
        command.args(["--otlp-http-endpoint", &format!("127.0.0.1:{port}")]);
        command.args(["--otlp-grpc-endpoint", &format!("127.0.0.1:{other}")]);
        command.arg("--pid-file").arg(directory.join("collector.pid"));
        command.arg("--log-file").arg(directory.join("collector.log"));
        command.stdin(Stdio::null()).stdout(File::create(&out).expect("a file")).stderr(Stdio::null());
        let child = command.current_dir(directory).spawn().expect("a collector");
        let collector = Collector { child, port, out };
        until("the collector listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        collector
    }

    /// Returns the URL that receives logs.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns what it has written so far.
    #[must_use]
    pub fn text(&self) -> String {
        fs::read_to_string(&self.out).unwrap_or_default()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // The collector may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
