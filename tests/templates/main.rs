//! The templates of `openclaw-guard init`, each with real work of its kind: what it is for runs without a
//! question or a denial, and everything else is refused.

mod administration;
mod agents;
mod coding;
mod document;
mod every;
mod issue;
mod session;
