//! The context of a handler.

use crate::caller::Caller;
use crate::judge::guard::Guard;
use crate::worker::Worker;

/// A held call, the guard that judges it, and the worker that handles it.
pub struct Request<'r, 'k> {
    /// The guard.
    pub guard: &'r Guard,
    /// The caller.
    pub caller: &'r Caller<'k>,
    /// The worker.
    pub worker: &'r Worker,
}
