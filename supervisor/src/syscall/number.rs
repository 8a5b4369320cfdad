//! System-call numbers, and their common names.

use guard_shim::table;

/// fchmodat2(2), which the libc crate does not name yet (scripts/syscall.tbl).
pub const FCHMODAT2: i64 = 452;

/// The common name of a system call; all variants of a call share one name.
pub fn name(number: i64) -> &'static str {
    match u32::try_from(number).ok().and_then(table::name).unwrap_or_default() {
        "open" | "openat" | "openat2" | "creat" => "open",
        "unlink" | "unlinkat" | "rmdir" => "unlink",
        "rename" | "renameat" | "renameat2" => "rename",
        "link" | "linkat" => "link",
        "symlink" | "symlinkat" => "symlink",
        "mkdir" | "mkdirat" => "mkdir",
        "mknod" | "mknodat" => "mknod",
        "truncate" => "truncate",
        "chmod" | "fchmod" | "fchmodat" | "fchmodat2" => "chmod",
        "chown" | "lchown" | "fchown" | "fchownat" => "chown",
        "utime" | "utimes" | "futimesat" | "utimensat" => "utimes",
        "setxattr" | "lsetxattr" | "fsetxattr" => "setxattr",
        "removexattr" | "lremovexattr" | "fremovexattr" => "removexattr",
        "connect" => "connect",
        "bind" => "bind",
        "sendto" | "sendmsg" | "sendmmsg" => "send",
        "ioctl" => "ioctl",
        "mmap" | "mprotect" | "pkey_mprotect" => "mmap",
        "execve" | "execveat" => "execve",
        _ => "another call",
    }
}
