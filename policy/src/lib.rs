//! Pure policy decisions.
//!
//! [`decide`] answers every question that a guarded process tree raises: may this file be read or
//! written, may this program start, may this socket be connected. It takes a compiled [`Policy`] and a [`Request`] and returns a
//! [`Verdict`]; it performs no I/O, reads no clock and keeps no state. The supervisor and every
//! explaining command ask this one function, so they cannot disagree.
//!
//! A policy comes from a [`Document`] (`guard.json`) by [`Policy::compile`], or from
//! [`Policy::without_file`] where there is none. What the compiler must know of the machine it is
//! told through [`Host`].
#![forbid(unsafe_code)]

mod allowlist;
pub mod analysis;
mod answers;
pub mod approval;
mod audit;
mod base;
mod because;
mod build;
mod builtin;
mod compile;
mod copies;
mod decide;
mod document;
mod edit;
pub mod environment;
mod examples;
mod explain;
mod glob;
mod index;
pub mod known;
pub mod learn;
mod lint;
mod lists;
mod mode;
mod modes;
mod moves;
mod network;
mod normalize;
mod openclaw;
mod pattern;
mod permission;
mod persistence;
mod policy;
mod problem;
mod programs;
mod reach;
mod read;
mod reasons;
pub mod redact;
pub mod remedy;
mod request;
mod roots;
mod rwx;
pub mod safe_bins;
mod saved;
mod schema;
pub mod store;
pub mod text;
mod tiers;
mod token;

pub use allowlist::{cwd_argv_pattern, matches_allowlist_pattern, matches_arg_pattern};
pub use audit::{AuditSettings, OnError};
pub use because::{Because, Outcome, Source, Verdict};
pub use copies::{Withheld, decide_copy};
pub use decide::decide;
pub use document::Document;
pub use edit::{BadPattern, Change, Draft, Scope};
pub use examples::{EntryExample, Example};
pub use explain::{Section, Setting};
pub use mode::{Ask, Preset, Security};
pub use network::{Connection, Gateway, GatewayConfig, Interface, Page, Transport};
pub use openclaw::OpenclawStore;
pub use permission::{Bits, Grant, Permission, Rights};
pub use persistence::Premises;
pub use policy::{Host, Overrides, Policy};
pub use problem::Problem;
pub use read::{Place, locate};
pub use request::{Access, Exec, Request, Role};
pub use saved::OwnStore;
pub use schema::schema;
pub use tiers::{Classes, Exactness, Hierarchy, HierarchyKind, MAX_HIERARCHIES, Name, NameKind, Tiers};
