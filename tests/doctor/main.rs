//! `doctor`: each thing that it finds is made to happen.

mod environment;
mod files;
mod found;
mod gateway;
mod inside;
mod kernel;
mod openclaw;
mod path;
mod policy;
mod shape;
