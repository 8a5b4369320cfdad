//! The same work natively and guarded has the same results.

mod build;
mod different;
mod edge;
mod files;
mod limits;
mod many;
mod messages;
mod modes;
mod names;
mod own;
mod priority;
mod processes;
mod python;
mod refused;
mod requests;
mod script;
mod waiting;
mod watched;
mod withheld;
