//! Pure policy decisions.
#![forbid(unsafe_code)]
