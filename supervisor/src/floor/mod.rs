//! The floor of a guarded tree: what the kernel grants by itself.

mod names;

pub use names::Names;
