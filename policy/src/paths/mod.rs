//! File permissions: what a real path grants, by patterns of paths.

pub(crate) mod bounds;
pub(crate) mod ceilings;
pub(crate) mod earlier_runs;
pub(crate) mod entry;
pub(crate) mod exec_roots;
pub(crate) mod expansion;
pub(crate) mod glob;
pub(crate) mod hierarchy;
pub(crate) mod index;
pub(crate) mod link_targets;
pub mod normalize;
pub(crate) mod path_rules;
pub(crate) mod permission;
pub(crate) mod persistence;
pub(crate) mod read_bound;
pub(crate) mod saved_rules;
pub(crate) mod tiers;
pub(crate) mod workspace;
