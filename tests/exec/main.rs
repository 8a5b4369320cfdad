//! Starting programs: every way to do it, from every kind of process.

mod calls;
mod confined;
mod denied;
mod killed;
mod load;
#[cfg(target_arch = "x86_64")]
mod loaders;
mod scripts;
mod staying;
mod threads;
mod tracing;
