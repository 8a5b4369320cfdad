//! Prompts on the operator's terminal, cell by cell.

mod answers;
mod hostile;
mod picture;
mod places;
mod restored;
mod screens;
mod session;
mod typed;
