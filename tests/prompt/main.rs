//! Prompts on the operator's terminal, compared cell by cell.

mod answers;
mod hostile;
mod picture;
mod places;
mod restored;
mod screens;
mod session;
mod typed;
