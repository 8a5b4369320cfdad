//! The approvals page: who gets in, what it reports, and that its answers take effect.

mod admission;
mod answers;
mod headers;
mod links;
mod reading;
#[path = "../approval/world.rs"]
mod world;
