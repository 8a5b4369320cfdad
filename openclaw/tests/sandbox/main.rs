//! OpenClaw's sandboxes: its own answers (policy/tests/data/README.md), and properties that hold for all settings.
#![allow(missing_docs)]

#[path = "../../../policy/tests/common/mod.rs"]
mod common;

mod binds;
mod docker;
mod properties;
