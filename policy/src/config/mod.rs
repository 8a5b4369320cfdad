//! `guard.json`: its data model, and how it is read, edited and explained.

pub(crate) mod allowlist_entry;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod document;
pub(crate) mod edit;
pub(crate) mod elevated;
pub(crate) mod elevated_policy;
pub(crate) mod examples;
pub(crate) mod explain;
pub(crate) mod layers;
pub(crate) mod limits;
pub(crate) mod lint;
pub(crate) mod mode;
pub(crate) mod network;
pub(crate) mod node;
pub(crate) mod persistence;
pub(crate) mod problem;
pub(crate) mod project;
pub(crate) mod reader;
pub(crate) mod schema;
pub(crate) mod schema_patterns;
