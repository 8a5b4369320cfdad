//! Security, ask and askFallback, each with who set it, and what may only tighten them.

use crate::openclaw::OpenclawStore;
use crate::rwx::Reason;
use crate::{Ask, Overrides, Security, Source};

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
    pub(crate) broken: Option<Reason>,
}

impl Modes {
    pub(crate) fn ask(&self) -> Ask {
        self.ask.value
    }

    /// With OpenClaw's own store and the command line, which only tighten: `minSecurity` of both securities, `maxAsk`
    /// of both asks, `minSecurity` of both fallbacks and of the security (OpenClaw 2026.9.6).
    pub(crate) fn tightened(self, agent: &str, store: &OpenclawStore<'_>, overrides: &Overrides) -> Modes {
        let asked = self.ask.value;
        let mut modes = match store {
            OpenclawStore::Absent => self,
            OpenclawStore::Broken(line) => closed(line),
            OpenclawStore::Present(reading) => {
                let (mut modes, store) = (self, &reading.store);
                modes
                    .security
                    .least(store.security(agent).map(|set| (set.value, set.path)), Source::Openclaw);
                modes.ask.most(store.ask(agent).map(|set| (set.value, set.path)), Source::Openclaw);
                modes.fallback.least(store.ask_fallback(agent).map(|s| (s.value, s.path)), Source::Openclaw);
                modes
            }
        };
        let path = |key: &str| format!("exec.{key}");
        modes.security.least(overrides.security.map(|value| (value, path("security"))), Source::Operator);
        modes.ask.most(overrides.ask.map(|value| (value, path("ask"))), Source::Operator);
        modes.fallback.value = modes.fallback.value.min_security(modes.security.value);
        // Where guard.json asks nobody, what nobody has answered must not be more than it allows.
        if asked == Ask::Off && modes.ask.value != Ask::Off {
            let source = modes.ask.source;
            modes.fallback.least(Some((Security::Allowlist, path("askFallback"))), source);
        }
        modes
    }
}

impl<T: Ord> Given<T> {
    fn least(&mut self, other: Option<(T, String)>, source: Source) {
        if let Some((value, path)) = other.filter(|(value, _)| *value < self.value) {
            *self = Given { value, source, path };
        }
    }

    fn most(&mut self, other: Option<(T, String)>, source: Source) {
        if let Some((value, path)) = other.filter(|(value, _)| *value > self.value) {
            *self = Given { value, source, path };
        }
    }
}

/// A store that cannot be read may have denied anything.
fn closed(line: &str) -> Modes {
    fn given<T>(value: T) -> Given<T> {
        Given { value, source: Source::Openclaw, path: "openclaw".to_owned() }
    }
    let reason = Reason {
        source: Source::Openclaw,
        path: "openclaw".to_owned(),
        rule: "openclaw: exec-approvals.json cannot be read".to_owned(),
        text: format!("nothing may start while OpenClaw's approvals cannot be read: {line}"),
    };
    Modes {
        security: given(Security::Deny),
        ask: given(Ask::Off),
        fallback: given(Security::Deny),
        broken: Some(reason),
    }
}
