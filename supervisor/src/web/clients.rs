//! Maps each connection to the proxy to the process of the tree that made it.

use std::collections::HashMap;

use guard_openclaw::peer::proc::Tid;
use parking_lot::Mutex;

/// The tree's connections to the proxy. The supervisor makes each of them, so it knows them all.
#[derive(Debug)]
pub struct WebClients {
    port: u16,
    /// By the connection's own port. There are no more of them than ports.
    by_port: Mutex<HashMap<u16, Tid>>,
}

impl WebClients {
    /// Creates the table for a proxy at this port of the loopback address.
    pub fn at(port: u16) -> WebClients {
        WebClients { port, by_port: Mutex::default() }
    }

    /// The proxy's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Notes that a process has connected to the proxy from this port.
    pub fn add(&self, from: u16, process: Tid) {
        self.by_port.lock().insert(from, process);
    }

    /// The process that has connected from this port; `None` if the connection is not of the tree.
    pub fn process(&self, from: u16) -> Option<Tid> {
        self.by_port.lock().get(&from).copied()
    }

    /// Forgets a connection that is closed.
    pub fn remove(&self, from: u16) {
        self.by_port.lock().remove(&from);
    }
}
