//! What an approval is bound to, and what the person who gives it is shown, as OpenClaw 2026.9.6 has both; and by
//! what ways people are asked (`settings`).

mod binding;
mod collation;
mod display;
mod secrets;
mod settings;

pub use binding::{Binding, EnvBinding, Mismatch};
pub use display::display_text;
pub use settings::{Approvals, Route};
