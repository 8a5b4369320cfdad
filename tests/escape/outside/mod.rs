//! Servers and processes outside of the tree. They leave a mark below `shut/` when an attack reached them.

mod gateway;
mod page;
mod processes;
mod programs;
mod servers;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use guard_tests::Arena;

use crate::attempt::Outside;

pub use gateway::{caller, gateway, with_a_file, with_a_token, with_a_variable};
pub use page::{late_page, page, page_to_come};
pub use processes::victim;
pub use programs::{agent, bus, terminal, tmux};
pub use servers::{
    abstract_server, autobound, datagrams, late_server, messages, restarting_server, server, server_at,
};

/// A thread that polls `reached` and leaves a mark when it returns true.
struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Returns a closure that reports whether a client connected since its last call. It accepts all that wait.
fn reached(mut accepts: impl FnMut() -> bool) -> impl FnMut() -> bool {
    move || {
        let mut reached = false;
        while accepts() {
            reached = true;
        }
        reached
    }
}

fn watch(arena: &Arena, mut reached: impl FnMut() -> bool + Send + 'static) -> Outside {
    let mark = mark(arena);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        loop {
            // Reads the flag before it looks, so that whatever came before the stop counts.
            let last = stopped.load(Ordering::Acquire);
            if reached() {
                std::fs::write(&mark, "reached").expect("a mark");
            }
            if last {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    Box::new(Watch { stop, thread: Some(thread) })
}

/// Returns the path of the mark.
fn mark(arena: &Arena) -> PathBuf {
    arena.root().join("shut/reached")
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("somebody outside");
        }
    }
}
