//! README.md and docs: their commands are run, their examples read, their links followed.

mod commands;
mod coverage;
mod documents;
mod examples;
mod links;
mod messages;
mod places;
mod replay;
