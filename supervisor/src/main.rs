//! openclaw-guard.
fn main() {}
