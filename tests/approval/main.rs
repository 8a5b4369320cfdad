//! Calls that a human decides about, while they sleep.

mod always;
mod answers;
mod moot;
mod replays;
mod shell;
mod tools;
mod world;
