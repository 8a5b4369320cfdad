//! The page's parts, each by itself.

mod boards;
mod sessions;
