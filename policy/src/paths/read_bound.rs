//! `permissions.filesystem.maxReadBytes`: how large a file may be that is opened to be read.
//!
//! Why: docs/decisions.md, "The size of what is read is that of the descriptor that is handed over"

use crate::config::document::Document;
use crate::config::layers::Layer;
use crate::paths::path_rules::PathRules;
use crate::{Grant, Outcome, Reason, Source, Verdict};

/// The bound in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadBound {
    bytes: u64,
    source: Source,
    /// The key that sets it.
    key: String,
}

impl ReadBound {
    /// The bound of a document: that of the most specific section, or `tools.read.maxSizeBytes`, if that is less.
    pub(crate) fn compile(doc: &Document, layers: &[Layer<'_>]) -> Option<ReadBound> {
        let of_layer = |layer: &Layer<'_>| {
            let bytes = layer.permissions.filesystem.max_read_bytes?;
            let key = format!("{}permissions.filesystem.maxReadBytes", layer.prefix);
            Some(ReadBound { bytes, source: layer.source, key })
        };
        let of_tool = doc.tools.read.max_size_bytes.map(|bytes| ReadBound {
            bytes,
            source: Source::Global,
            key: "tools.read.maxSizeBytes".to_owned(),
        });
        layers.iter().find_map(of_layer).into_iter().chain(of_tool).min_by_key(|bound| bound.bytes)
    }

    /// In bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The key that sets it.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Who set it.
    pub(crate) fn source(&self) -> Source {
        self.source
    }

    /// Judges the size of a file.
    fn judge(&self, size: u64) -> Verdict<'_> {
        let ReadBound { bytes, source, key } = self;
        let (outcome, rule, text) = if size > *bytes {
            let rule = format!("{key} {bytes}: the file has {size} bytes");
            (Outcome::Deny, rule, format!("a file of {size} bytes is not read, because {key} is {bytes}"))
        } else {
            let rule = format!("{key} {bytes}");
            (Outcome::Allow, rule, format!("{key} allows reading files of up to {bytes} bytes"))
        };
        Verdict { outcome, reason: Reason::new(*source, key.as_str(), rule, text) }
    }
}

/// Judges the size of a file that may be read, if there is a bound. What the base grants is not bounded, unless the tree may
/// write it unasked: programs read it to start (libraries) or at every start (archives of locales).
pub(crate) fn judge_size<'p>(
    bound: Option<&'p ReadBound>,
    map: &'p PathRules,
    path: &[u8],
    size: u64,
) -> Verdict<'p> {
    let found = map.find(path);
    let allow = |reason| Verdict { outcome: Outcome::Allow, reason };
    let Some(bound) = bound else { return allow(found.r.to_reason()) };
    // A path that is not real has no rights, whatever pattern it looks like.
    let may_be_of_base = found.rights.r != Grant::No && !found.is_the_trees();
    let mut base = map.base().iter().filter(|_| may_be_of_base);
    match base.find(|entry| entry.rights.r == Grant::Yes && entry.glob.covers(path)) {
        Some(entry) => allow(entry.reason.to_reason()),
        None => bound.judge(size),
    }
}
