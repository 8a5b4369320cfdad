//! The approvals page in a real browser. Only `make test-full` runs these.

mod answers;
mod evil;
mod harness;
mod looks;
