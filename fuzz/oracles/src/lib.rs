//! What is thrown at what reads the bytes of the guarded tree, and of those who connect; and what must hold of it.
//!
//! The fuzzer runs these functions (`fuzz/`), and the tests replay the corpora. A target compares with a second, simpler
//! telling of the same rules: what the code under test is made of is not used in it.

mod calls;
mod frames;
mod gateway;
mod ground;
mod input;
mod memory;
mod reading;
#[cfg(test)]
mod tests;
mod texts;
mod walk;
mod words;
mod world;

use std::path::PathBuf;

pub use calls::calls;
pub use frames::frames;
pub use gateway::gateway;
pub use texts::texts;
pub use walk::walk;

/// Takes an input. Panics where something does not hold.
pub type FuzzTarget = fn(&[u8]);

/// Every target, by the name of its corpus.
pub const TARGETS: [(&str, FuzzTarget); 5] =
    [("calls", calls), ("walk", walk), ("texts", texts), ("frames", frames), ("gateway", gateway)];

/// Where files are made: in memory, where that can be.
fn place() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let made = if memory.is_dir() { memory } else { std::env::temp_dir() };
    made.canonicalize().unwrap_or(made)
}
