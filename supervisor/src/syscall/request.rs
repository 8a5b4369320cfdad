//! The context of a handler.

use crate::caller::Caller;
use crate::judge::guard::Guard;

/// A held call, and the guard that judges it.
pub struct Request<'r, 'k> {
    /// The guard.
    pub guard: &'r Guard,
    /// The caller.
    pub caller: &'r Caller<'k>,
}
