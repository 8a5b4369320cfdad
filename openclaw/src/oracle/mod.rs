//! What OpenClaw computes of an approval and the guard only says on request: `check --batch` asks, and no verdict does.

mod binding;
mod collation;

pub use binding::{Binding, EnvBinding, Mismatch};
