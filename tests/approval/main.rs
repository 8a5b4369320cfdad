//! Calls that a human decides about, while they sleep.

mod answers;
mod moot;
mod replays;
mod tools;
mod world;
