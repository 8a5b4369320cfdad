//! Security, ask and askFallback, each with who set it.

use crate::config::mode::{Ask, Security};
use crate::verdict::{CompiledReason, Source};

/// A value with where it comes from.
#[derive(Clone)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
    pub(crate) path: String,
}

/// The three exec scalars with their sources.
pub(crate) struct Modes {
    pub(crate) security: Given<Security>,
    pub(crate) ask: Given<Ask>,
    pub(crate) fallback: Given<Security>,
    /// Why nothing may start, where that is not what somebody wrote.
    pub(crate) broken: Option<CompiledReason>,
}

impl Modes {
    pub(crate) fn ask(&self) -> Ask {
        self.ask.value
    }
}

impl<T: Ord> Given<T> {
    /// The smaller of this and another.
    pub(crate) fn least(&mut self, other: Option<(T, String)>, source: Source) {
        if let Some((value, path)) = other.filter(|(value, _)| *value < self.value) {
            *self = Given { value, source, path };
        }
    }

    /// The larger of this and another.
    pub(crate) fn most(&mut self, other: Option<(T, String)>, source: Source) {
        if let Some((value, path)) = other.filter(|(value, _)| *value > self.value) {
            *self = Given { value, source, path };
        }
    }
}
