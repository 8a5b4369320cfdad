//! The sections of a document that apply to one agent: its own, that of `*`, and the top level.

use super::document::{Agent, Document, Mode, Permissions};
use super::persistence::Persistence;
use super::reader::join;
use crate::verdict::Source;

/// A section of the document that applies to the agent.
pub(crate) struct Layer<'d> {
    pub(crate) source: Source,
    /// `agents.main.`, or nothing for the top level.
    pub(crate) prefix: String,
    pub(crate) mode: Mode,
    pub(crate) permissions: &'d Permissions,
    pub(crate) agent: Option<&'d Agent>,
}

impl<'d> Layer<'d> {
    /// Its `permissions.persistence`, with its source and prefix.
    pub(crate) fn persistence(&self) -> (Option<&'d Persistence>, Source, &str) {
        (self.permissions.persistence.as_ref(), self.source, &self.prefix)
    }
}

/// The sections that apply, the most specific first.
pub(crate) fn layers<'d>(doc: &'d Document, agent: &str) -> Vec<Layer<'d>> {
    let mut layers = Vec::new();
    let names = if agent == "*" { vec!["*"] } else { vec![agent, "*"] };
    for name in names {
        if let Some(section) = doc.agents.get(name) {
            layers.push(Layer {
                source: Source::Agent,
                prefix: join("agents", name) + ".",
                mode: section.exec,
                permissions: &section.permissions,
                agent: Some(section),
            });
        }
    }
    layers.push(Layer {
        source: Source::Global,
        prefix: String::new(),
        mode: doc.exec.mode,
        permissions: &doc.permissions,
        agent: None,
    });
    layers
}
