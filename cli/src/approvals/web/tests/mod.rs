//! The page's parts, each by itself.

mod sessions;
mod snapshots;
