//! The audit log: what stands in it, that it is whole, and what happens where it cannot be written.
#![forbid(unsafe_code)]

mod attacks;
mod collector;
mod export;
mod full;
mod lines;
mod reach;
mod read;
mod secrets;
