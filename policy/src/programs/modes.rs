//! Security, ask and askFallback, each with its source.

use crate::config::mode::{Ask, Security};
use crate::verdict::{CompiledReason, Source};

/// A value with its source.
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
    /// Why nothing may start, if a broken store is the cause rather than a setting.
    pub(crate) broken: Option<CompiledReason>,
}

impl Modes {
    pub(crate) fn ask(&self) -> Ask {
        self.ask.value
    }
}

impl<T: Ord> Given<T> {
    /// Takes the other value if it is smaller.
    pub(crate) fn least(&mut self, other: Option<(T, String)>, source: Source) {
        if let Some((value, path)) = other.filter(|(value, _)| *value < self.value) {
            *self = Given { value, source, path };
        }
    }

    /// Takes the other value if it is larger.
    pub(crate) fn most(&mut self, other: Option<(T, String)>, source: Source) {
        if let Some((value, path)) = other.filter(|(value, _)| *value > self.value) {
            *self = Given { value, source, path };
        }
    }
}
