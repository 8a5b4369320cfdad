//! Who stands outside of the tree, and says so below `shut/` when it was got at.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use guard_tests::Arena;

use crate::attempt::Outside;

/// A server that does what everybody asks for.
struct Server {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(listener: UnixListener, mark: PathBuf) -> Server {
        listener.set_nonblocking(true).expect("a socket");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            loop {
                // Looked at before the last look at the queue: who connected until then counts.
                let last = stopped.load(Ordering::Acquire);
                while listener.accept().is_ok() {
                    std::fs::write(&mark, "reached").expect("a mark");
                }
                if last {
                    return;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Server { stop, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a server");
        }
    }
}

/// At `work/server`, where the tree may write but which no rule names.
pub fn server(arena: &Arena) -> Outside {
    let listener = UnixListener::bind(arena.root().join("work/server")).expect("a socket");
    Box::new(Server::start(listener, arena.root().join("shut/reached")))
}
