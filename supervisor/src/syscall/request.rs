//! What a handler works with.

use crate::caller::Caller;
use crate::judge::guard::Guard;

/// A held call, and the guard that judges it.
pub struct Request<'r, 'k> {
    /// The guard.
    pub guard: &'r Guard,
    /// Who calls.
    pub caller: &'r Caller<'k>,
}
