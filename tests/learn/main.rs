//! `openclaw-guard learn`: real work succeeds under the learned policy, which refuses what was not seen.

mod own;
mod session;
mod target;
mod work;
