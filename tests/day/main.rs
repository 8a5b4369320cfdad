//! A day's work with real programs, as a person or an agent does it, and what it costs: how many questions somebody has
//! to answer, and how many lines the guard prints.
//!
//! Somebody answers each question with the narrowest answer that is useful.

mod agents;
mod clone;
mod daemon;
mod existing;
mod recording;
mod work;
