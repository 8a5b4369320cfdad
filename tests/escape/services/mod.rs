//! Attacks by asking somebody else: services outside of the tree act for whoever asks.

mod datagrams;
mod known;
mod memory;
mod processes;
mod sockets;
mod terminals;
