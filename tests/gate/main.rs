//! The gate for OpenClaw's own tools: the service, asked over its socket as the plugin asks, and the plugin itself in node.

mod attacks;
mod commands;
mod learned;
mod plugin;
mod service;
mod world;
