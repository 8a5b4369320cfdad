//! What an approval is bound to, and what the person who gives it is shown. As OpenClaw 2026.9.6 has both.

mod binding;
mod collation;
mod display;
mod secrets;

pub use binding::{Binding, EnvBinding, Mismatch};
pub use display::display_text;
