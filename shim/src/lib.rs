//! What runs in the child between fork and exec.
