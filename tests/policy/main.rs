//! What a policy says is what happens.

mod agreement;
mod builtin;
mod copies;
mod executable;
mod map;
mod network;
mod openclaw;
mod oracle;
mod persistence;
mod planted;
mod read_bound;
mod relinked;
mod reload;
mod safe_bins;
mod tools;
