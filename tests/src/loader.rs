//! The dynamic loader of the machine's programs.

/// glibc's loader, as programs of this architecture name it.
pub const LOADER: &str =
    if cfg!(target_arch = "aarch64") { "/lib/ld-linux-aarch64.so.1" } else { "/lib64/ld-linux-x86-64.so.2" };
