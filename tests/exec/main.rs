//! Starting programs: every way to do it, from every kind of process.

mod calls;
mod denied;
mod load;
mod scripts;
mod staying;
mod threads;
