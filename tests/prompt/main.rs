//! Prompts on the operator's terminal, cell by cell.

mod answers;
mod screens;
mod session;
