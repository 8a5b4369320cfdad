//! The templates of `openclaw-guard init`, each with real work of its kind: what it is for goes on without a question and
//! without a denial, and what it is not for is refused.

mod agents;
mod coding;
mod document;
mod every;
mod issue;
mod session;
