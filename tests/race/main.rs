//! Attackers that change what a call refers to between the guard's check and the kernel's.
//!
//! Each runs under the guard, where it must not get anything outside the policy, and under a build with
//! layers switched off, where it must win: an attacker that cannot win proves nothing. Each tries a number of
//! times, or for GUARD_RACE_SECONDS.

mod arena;
mod files;
mod moved;
mod programs;
mod reload;
