//! Attackers that change what a call is about between the guard's look and the kernel's.
//!
//! Each runs under the guard, where nothing outside the policy may come of it, and under a build whose layers are
//! switched off, where it must win: an attacker that cannot win shows nothing. Each tries a number of times, or for
//! GUARD_RACE_SECONDS.

mod arena;
mod files;
mod programs;
mod reload;
