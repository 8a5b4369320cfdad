//! The trusted base of openclaw-guard: everything that decides what a guarded command may do is here and in the crates
//! below.
//!
//! [`run`] starts a command; `process` holds the guard's own processes. Held system calls arrive through [`kernel`] and
//! are received by a [`worker`]. [`syscall`] or [`exec`] performs them on what [`resolve`] found, and [`judge`] decides,
//! on top of the [`landlock`] domain. [`session`] lets the operator see, tighten and end a session from outside.
//! [`config`] builds a policy from the command line and the host, [`audit`] logs what happened, and `terminal` relays
//! what the operator types and sees.
//!
//! `unsafe` occurs only in [`kernel`], and in the crate `guard-shim`.

pub mod audit;
pub mod caller;
pub mod config;
pub mod exec;
pub mod exit;
mod inflight;
pub mod judge;
pub mod kernel;
pub mod landlock;
pub mod outside;
mod panics;
mod process;
pub mod reply;
pub mod resolve;
pub mod run;
pub mod session;
pub mod syscall;
mod terminal;
pub mod web;
pub mod worker;
