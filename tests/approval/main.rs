//! Calls that sleep while a human decides about them.

mod always;
mod answers;
mod input;
mod known;
mod last_use;
mod lifecycle;
mod load;
mod many_files;
mod moot;
mod notify;
mod own;
mod peers;
mod persistence;
mod reasons;
mod replays;
mod scripts;
mod session;
mod shell;
mod tools;
mod watch;
mod widths;
mod world;
