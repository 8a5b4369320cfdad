//! The audit log: its contents, its integrity, and what happens if it cannot be written.
#![forbid(unsafe_code)]

mod attacks;
mod collector;
mod export;
mod flood;
mod full;
mod lines;
mod reach;
mod read;
mod secrets;
