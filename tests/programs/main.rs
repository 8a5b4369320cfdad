//! Programs that people use, natively and guarded: the same output, status and files.

mod archives;
mod builds;
mod cpython;
mod databases;
mod git;
mod go;
mod java;
mod keys;
mod node;
mod privileges;
mod python;
mod terminals;
