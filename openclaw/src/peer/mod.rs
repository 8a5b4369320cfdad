//! Identifies processes by their place in the process tree, as `/proc` shows it.

pub mod nested_guard;
pub mod proc;
pub mod process_tree;
