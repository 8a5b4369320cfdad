//! `openclaw-guard learn`: real work is learned from, and goes on under what was learned; what was not seen is refused.

mod own;
mod session;
mod target;
mod work;
