//! The sections of a document that apply to one agent: its own, that of `*`, and the top level; below them the template
//! that the document extends.

use super::document::{Agent, Document, Mode, Permissions, SafeBinSection};
use super::persistence::Persistence;
use super::reader::join;
use crate::Template;
use crate::verdict::Source;

/// The template that a document extends, for a host.
#[derive(Clone, Debug)]
pub(crate) struct ExtendedTemplate {
    pub(crate) template: Template,
    pub(crate) document: Document,
}

/// A section of the document that applies to the agent.
pub(crate) struct Layer<'d> {
    pub(crate) source: Source,
    /// `agents.main.`, or nothing for the top level; `template coding: ` for that template.
    pub(crate) prefix: String,
    pub(crate) mode: Mode,
    pub(crate) permissions: &'d Permissions,
    /// The section's safe bins. A template has none.
    pub(crate) safe_bins: Option<&'d SafeBinSection>,
    pub(crate) agent: Option<&'d Agent>,
}

impl<'d> Layer<'d> {
    /// Its `permissions.persistence`, with its source and prefix.
    pub(crate) fn persistence(&self) -> (Option<&'d Persistence>, Source, &str) {
        (self.permissions.persistence.as_ref(), self.source, &self.prefix)
    }
}

/// The sections that apply, the most specific first.
pub(crate) fn layers<'d>(
    doc: &'d Document,
    extended: Option<&'d ExtendedTemplate>,
    agent: &str,
) -> Vec<Layer<'d>> {
    let mut layers = Vec::new();
    let names = if agent == "*" { vec!["*"] } else { vec![agent, "*"] };
    for name in names {
        if let Some(section) = doc.agents.get(name) {
            layers.push(Layer {
                source: Source::Agent,
                prefix: join("agents", name) + ".",
                mode: section.exec.mode,
                permissions: &section.permissions,
                safe_bins: Some(&section.exec.safe_bins),
                agent: Some(section),
            });
        }
    }
    layers.push(Layer {
        source: Source::Global,
        prefix: String::new(),
        mode: doc.exec.mode,
        permissions: &doc.permissions,
        safe_bins: Some(&doc.exec.safe_bins),
        agent: None,
    });
    layers.extend(extended.map(|ExtendedTemplate { template, document }| Layer {
        source: Source::Template,
        prefix: format!("template {}: ", template.as_str()),
        mode: document.exec.mode,
        permissions: &document.permissions,
        safe_bins: None,
        agent: None,
    }));
    layers
}
