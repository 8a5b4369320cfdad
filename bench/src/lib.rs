//! Measures what openclaw-guard costs: `cargo bench -p guard-bench`.
