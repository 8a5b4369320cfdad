//! Security, ask and askFallback: what guard.json sets, and what may only tighten them.

use super::host::{Host, OpenclawStore};
use super::stores::openclaw::{StoreOwner, Stores};
use crate::config::document::Mode;
use crate::config::layers::Layer;
use crate::config::project::ProjectFile;
use crate::programs::modes::{Given, Modes};
use crate::store::{Setting, Store};
use crate::verdict::CompiledReason;
use crate::{Ask, Overrides, Security, Source};

/// Returns the modes that the layers of a document set.
pub(crate) fn modes(layers: &[Layer<'_>]) -> Modes {
    Modes {
        security: scalar(layers, Mode::security, (Security::Allowlist, "security")),
        ask: scalar(layers, Mode::ask, (Ask::OnMiss, "ask")),
        fallback: scalar(layers, Mode::fallback, (Security::Deny, "askFallback")),
        broken: None,
    }
}

/// Returns the modes of the policy without a file.
pub(crate) fn default_modes(agent: &str, host: &Host, overrides: &Overrides) -> Modes {
    modes(&[]).tightened(agent, &Stores::new(host, false), overrides, host.projects)
}

fn scalar<T>(
    layers: &[Layer<'_>],
    get: impl Fn(&Mode) -> Option<(T, &'static str)>,
    default: (T, &'static str),
) -> Given<T> {
    for layer in layers {
        if let Some((value, key)) = get(&layer.mode) {
            return Given { value, source: layer.source, path: format!("{}exec.{key}", layer.prefix) };
        }
    }
    Given { value: default.0, source: Source::Default, path: format!("exec.{}", default.1) }
}

impl Modes {
    /// Applies OpenClaw's own stores, the command line and project files, which only tighten: `minSecurity` of both
    /// securities, `maxAsk` of both asks, `minSecurity` of both fallbacks and of the security (OpenClaw
    /// 2026.9.6).
    pub(crate) fn tightened(
        self,
        agent: &str,
        stores: &Stores<'_>,
        overrides: &Overrides,
        projects: &[ProjectFile],
    ) -> Modes {
        let asked = self.ask.value;
        let mut modes = self;
        for (holder, store) in stores.iter() {
            match store {
                OpenclawStore::Absent => {}
                OpenclawStore::Broken(line) => modes = closed(holder, line, modes.broken),
                OpenclawStore::Present(reading) => modes.tighten(agent, holder, &reading.store),
            }
        }
        let path = |key: &str| format!("exec.{key}");
        modes.security.least(overrides.security.map(|value| (value, path("security"))), Source::Operator);
        modes.ask.most(overrides.ask.map(|value| (value, path("ask"))), Source::Operator);
        projects.iter().for_each(|project| modes.tighten_by(agent, project));
        modes.fallback.value = modes.fallback.value.min_security(modes.security.value);
        // If guard.json never asks, an unanswered question must not allow more than the allowlist does.
        if asked == Ask::Off && modes.ask.value != Ask::Off {
            let source = modes.ask.source;
            modes.fallback.least(Some((Security::Allowlist, path("askFallback"))), source);
        }
        modes
    }

    /// Tightens the modes by a project's file. An `ask` counts only where the policy asks. Where the policy never asks, it
    /// denies instead, and a question could allow more.
    fn tighten_by(&mut self, agent: &str, project: &ProjectFile) {
        let layers = project.layers(agent);
        let place = |layer: &Layer<'_>, key: &str| project.key_path(&format!("{}exec.{key}", layer.prefix));
        let first = |get: &dyn Fn(&Mode) -> Option<(Security, &'static str)>| {
            let found = layers.iter().find_map(|layer| get(&layer.mode).map(|set| (set, layer)));
            found.map(|((value, key), layer)| (value, place(layer, key)))
        };
        self.security.least(first(&Mode::security), Source::Project);
        self.fallback.least(first(&Mode::fallback), Source::Project);
        if self.ask.value != Ask::Off {
            let found = layers.iter().find_map(|layer| layer.mode.ask().map(|set| (set, layer)));
            let ask = found.map(|((value, key), layer)| (value, place(layer, key)));
            self.ask.most(ask, Source::Project);
        }
    }

    fn tighten(&mut self, agent: &str, holder: StoreOwner, store: &Store) {
        fn given<T>(holder: StoreOwner, set: Option<Setting<T>>) -> Option<(T, String)> {
            set.map(|set| (set.value, holder.key_path(&set.path)))
        }
        self.security.least(given(holder, store.security(agent)), Source::Openclaw);
        self.ask.most(given(holder, store.ask(agent)), Source::Openclaw);
        self.fallback.least(given(holder, store.ask_fallback(agent)), Source::Openclaw);
    }
}

/// Returns modes that deny everything: a store that is not known may have denied anything.
fn closed(holder: StoreOwner, line: &str, before: Option<CompiledReason>) -> Modes {
    fn given<T>(value: T, path: String) -> Given<T> {
        Given { value, source: Source::Openclaw, path }
    }
    let (prefix, path) = (holder.prefix(), holder.prefix().to_owned());
    let (rule, text) = match holder {
        StoreOwner::File => (
            "exec-approvals.json cannot be read",
            "no program may start while OpenClaw's approvals cannot be read",
        ),
        StoreOwner::Gateway => (
            "its exec approvals are not known",
            "no program may start until the gateway's exec approvals are fetched",
        ),
    };
    let reason = CompiledReason {
        source: Source::Openclaw,
        path: path.clone(),
        rule: format!("{prefix}: {rule}"),
        text: format!("{text}: {line}"),
    };
    Modes {
        security: given(Security::Deny, path.clone()),
        ask: given(Ask::Off, path.clone()),
        fallback: given(Security::Deny, path),
        broken: before.or(Some(reason)),
    }
}
