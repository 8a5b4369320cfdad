//! Computes approval bindings as OpenClaw does. Only `check --batch` reports them; no verdict uses them.

mod binding;
mod collation;

pub use binding::{Binding, EnvBinding, Mismatch};
