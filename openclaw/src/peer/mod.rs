//! Who a process is: by its place in the tree of processes, as `/proc` tells it.

pub mod nested_guard;
pub mod proc;
pub mod process_tree;
