//! Tests against the recorded conversation of OpenClaw's own node and a gateway (2026.9.6), and against malformed calls.

mod calls;
mod recorded;
