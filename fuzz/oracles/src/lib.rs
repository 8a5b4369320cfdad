//! Fuzz targets for the code that reads bytes from guarded processes or from peers, with the properties that must hold.
//!
//! The fuzzer runs these functions (`fuzz/`), and the tests replay the corpora. Each target compares with a second,
//! simpler implementation of the same rules that shares no code with the tested one.

mod calls;
mod fixture;
mod frames;
mod gateway;
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

/// Checks one input. Panics if a property does not hold.
pub type FuzzTarget = fn(&[u8]);

/// Every target, by the name of its corpus.
pub const TARGETS: [(&str, FuzzTarget); 5] =
    [("calls", calls), ("walk", walk), ("texts", texts), ("frames", frames), ("gateway", gateway)];

/// The directory for temporary files: in memory if possible.
fn fixture_root() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let made = if memory.is_dir() { memory } else { std::env::temp_dir() };
    made.canonicalize().unwrap_or(made)
}
