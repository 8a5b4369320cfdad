//! The terminal between operator and command: the same keys, typed natively and guarded, show the same.

mod different;
mod ends;
mod jobs;
mod modes;
mod pipelines;
mod remote;
mod screens;
mod session;
mod tools;
