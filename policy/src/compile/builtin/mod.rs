//! The built-in parts: the base of every policy, and the policy used without a `guard.json`.

pub(crate) mod minimal;
mod policy;
pub(crate) mod system;
pub mod templates;
