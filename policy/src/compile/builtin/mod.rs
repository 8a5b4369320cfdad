//! What the guard brings: the base of every policy, and the policy where there is no `guard.json`.

pub(crate) mod minimal;
mod policy;
pub(crate) mod system;
pub mod templates;
