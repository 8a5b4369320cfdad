//! System-call numbers, and their common names.

/// fchmodat2(2), which the libc crate does not name yet (arch/x86/entry/syscalls/syscall_64.tbl).
pub const FCHMODAT2: i64 = 452;

/// The common name of a system call; all variants of a call share one name.
pub fn name(number: i64) -> &'static str {
    match number {
        libc::SYS_open | libc::SYS_openat | libc::SYS_openat2 | libc::SYS_creat => "open",
        libc::SYS_unlink | libc::SYS_unlinkat | libc::SYS_rmdir => "unlink",
        libc::SYS_rename | libc::SYS_renameat | libc::SYS_renameat2 => "rename",
        libc::SYS_link | libc::SYS_linkat => "link",
        libc::SYS_symlink | libc::SYS_symlinkat => "symlink",
        libc::SYS_mkdir | libc::SYS_mkdirat => "mkdir",
        libc::SYS_mknod | libc::SYS_mknodat => "mknod",
        libc::SYS_truncate => "truncate",
        libc::SYS_chmod | libc::SYS_fchmod | libc::SYS_fchmodat | FCHMODAT2 => "chmod",
        libc::SYS_chown | libc::SYS_lchown | libc::SYS_fchown | libc::SYS_fchownat => "chown",
        libc::SYS_utime | libc::SYS_utimes | libc::SYS_futimesat | libc::SYS_utimensat => "utimes",
        libc::SYS_setxattr | libc::SYS_lsetxattr | libc::SYS_fsetxattr => "setxattr",
        libc::SYS_removexattr | libc::SYS_lremovexattr | libc::SYS_fremovexattr => "removexattr",
        libc::SYS_connect => "connect",
        libc::SYS_bind => "bind",
        libc::SYS_sendto | libc::SYS_sendmsg | libc::SYS_sendmmsg => "send",
        libc::SYS_ioctl => "ioctl",
        libc::SYS_mmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect => "mmap",
        libc::SYS_execve | libc::SYS_execveat => "execve",
        _ => "another call",
    }
}
