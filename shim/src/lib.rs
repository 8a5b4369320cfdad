//! What runs in the guarded child between fork and exec.
//!
//! The supervisor makes a [`LaunchPlan`], forks, and calls [`run`] in the child. The child gives up what it does not
//! need, enters the Landlock [`floor`], loads the seccomp [`filter`], hands the filter's listener to the supervisor,
//! and becomes the command. Any failure on the way ends the child, so nothing ever runs unguarded.
//!
//! The crate knows nothing of policies. It is meant to be read in an hour.

#[cfg(not(all(
    target_os = "linux",
    target_endian = "little",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("the table of system calls is for Linux on x86_64 and aarch64 only");

#[cfg(test)]
#[path = "../build/blocks.rs"]
mod blocks;
#[cfg(test)]
mod bpf;
mod descriptors;
mod detached;
pub mod failpoints;
pub mod filter;
mod handover;
pub mod landlock;
mod launch;
mod privileges;
pub mod table;

pub use descriptors::close_all_but;
pub use detached::detach;
pub use handover::{Failure, LaunchReport, Stage, channel, read_report, receive_listener, release};
pub use launch::{JobTerminal, LaunchPlan, run};
pub use privileges::{NO_CORE, clear_capabilities, keep_priority_capability, reset_signals};
