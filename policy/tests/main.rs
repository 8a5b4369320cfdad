//! What the engine answers. All of it is one program, because the gate would link each alone for seconds.
#![allow(missing_docs)]

mod allowlist;
mod always;
mod answers;
mod approval;
mod common;
mod copies;
mod document;
mod edit;
mod enclosure;
mod environment;
mod extends;
mod gateway;
mod gateways_store;
mod git_config;
mod globset;
mod learn;
mod network;
mod openclaw;
mod oracle;
mod persistence;
mod project;
mod properties;
mod quiet;
mod remedy;
mod schema;
mod ssrf;
mod store;
mod store_properties;
mod tiers;
mod tiers_properties;
mod tools;
mod verdicts;
mod web;
mod without_file;
mod workspace;
