//! The trusted base of openclaw-guard: whatever decides what a guarded command may do is here and in the crates below.
//!
//! [`run`] starts a command; the guard's own processes are in `process`. Held system calls come in through [`kernel`], are
//! taken by a `worker`, done by [`syscall`] or [`exec`] on what [`resolve`] found, and judged by [`judge`], over the
//! [`landlock`] domain. [`config`] makes a policy of the command line and the host, [`audit`] writes down what happened, and
//! `terminal` carries what the operator types and sees.
//!
//! `unsafe` is in [`kernel`] alone, and in the crate `guard-shim`.

pub mod audit;
pub mod caller;
pub mod config;
pub mod exec;
pub mod exit;
pub mod judge;
pub mod kernel;
pub mod landlock;
mod panics;
mod process;
pub mod reply;
pub mod resolve;
pub mod run;
pub mod syscall;
mod terminal;
mod worker;
