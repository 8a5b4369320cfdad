//! Commands that run outside the guard: who may ask for them, what runs, and what the tree gains by trying.

mod attacks;
mod bound;
mod gates;
mod pass;
mod runs;
mod terminal;
mod world;
