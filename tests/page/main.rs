//! The approvals page: who gets in, what it says, and that what is answered there happens.

mod admission;
mod answers;
mod headers;
mod links;
mod reading;
#[path = "../approval/world.rs"]
mod world;
