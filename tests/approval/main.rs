//! Calls that a human decides about, while they sleep.

mod always;
mod answers;
mod lifecycle;
mod moot;
mod replays;
mod shell;
mod tools;
mod world;
