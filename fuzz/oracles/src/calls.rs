//! Held calls of a caller with arbitrary registers and memory.
//!
//! First the arguments that the supervisor reads are compared (`reading`). Then the call is handled under a policy that
//! allows only one directory of programs (`fixture`). Whatever the call is, no file changes, and no other file is handed
//! over.

use guard_supervisor::caller::Caller;
use guard_supervisor::kernel::fake::Fake;
use guard_supervisor::reply::{ContinueReason, HandlerResult, Reply, send};
use guard_supervisor::syscall::{Request, handle};
use guard_supervisor::worker::Worker;
use rustix::io::Errno;

use super::fixture::{Fixture, guard};
use super::input::Input;
use super::memory::{Memory, word};
use super::reading::{compare_address, compare_how, compare_open, compare_paths, compare_strings, path};

/// The system calls, with the registers that hold addresses of paths.
const CALLS: [(i64, &[usize]); 63] = [
    (libc::SYS_openat, &[1]),
    (libc::SYS_openat2, &[1]),
    (libc::SYS_execve, &[0]),
    (libc::SYS_execveat, &[1]),
    (libc::SYS_connect, &[]),
    (libc::SYS_bind, &[]),
    (libc::SYS_truncate, &[0]),
    (libc::SYS_mkdirat, &[1]),
    (libc::SYS_mknodat, &[1]),
    (libc::SYS_symlinkat, &[0, 2]),
    (libc::SYS_unlinkat, &[1]),
    (libc::SYS_renameat, &[1, 3]),
    (libc::SYS_renameat2, &[1, 3]),
    (libc::SYS_linkat, &[1, 3]),
    (libc::SYS_fchmodat, &[1]),
    (452, &[1]),
    (libc::SYS_fchmod, &[]),
    (libc::SYS_fchownat, &[1]),
    (libc::SYS_fchown, &[]),
    (libc::SYS_utimensat, &[]),
    (libc::SYS_setxattr, &[0]),
    (libc::SYS_lsetxattr, &[0]),
    (libc::SYS_fsetxattr, &[]),
    (libc::SYS_removexattr, &[0]),
    (libc::SYS_lremovexattr, &[0]),
    (libc::SYS_fremovexattr, &[]),
    (libc::SYS_ioctl, &[]),
    (libc::SYS_fcntl, &[]),
    (libc::SYS_flock, &[]),
    (libc::SYS_mmap, &[]),
    (libc::SYS_mprotect, &[]),
    (libc::SYS_pkey_mprotect, &[]),
    (libc::SYS_kill, &[]),
    (libc::SYS_tkill, &[]),
    (libc::SYS_tgkill, &[]),
    (libc::SYS_rt_sigqueueinfo, &[]),
    (libc::SYS_rt_tgsigqueueinfo, &[]),
    (libc::SYS_ptrace, &[]),
    (libc::SYS_pidfd_send_signal, &[]),
    (libc::SYS_prlimit64, &[]),
    (libc::SYS_sched_setaffinity, &[]),
    (libc::SYS_sched_setscheduler, &[]),
    (libc::SYS_sched_setparam, &[]),
    (libc::SYS_sched_setattr, &[]),
    (libc::SYS_migrate_pages, &[]),
    (libc::SYS_move_pages, &[]),
    (libc::SYS_setpriority, &[]),
    (libc::SYS_ioprio_set, &[]),
    (463, &[]),
    (466, &[]),
    (-1, &[]),
    (i64::MAX, &[]),
    // The first calls again, because they read the most.
    (libc::SYS_openat, &[1]),
    (libc::SYS_openat2, &[1]),
    (libc::SYS_openat2, &[1]),
    (libc::SYS_execve, &[0]),
    (libc::SYS_execve, &[0]),
    (libc::SYS_execveat, &[1]),
    (libc::SYS_connect, &[]),
    (libc::SYS_bind, &[]),
    (libc::SYS_ioctl, &[]),
    (libc::SYS_fcntl, &[]),
    (libc::SYS_setrlimit, &[]),
];

/// Those that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLDER: [(i64, &[usize]); 16] = [
    (libc::SYS_open, &[0]),
    (libc::SYS_creat, &[0]),
    (libc::SYS_mkdir, &[0]),
    (libc::SYS_mknod, &[0]),
    (libc::SYS_symlink, &[0, 1]),
    (libc::SYS_unlink, &[0]),
    (libc::SYS_rmdir, &[0]),
    (libc::SYS_rename, &[0, 1]),
    (libc::SYS_link, &[0, 1]),
    (libc::SYS_chmod, &[0]),
    (libc::SYS_chown, &[0]),
    (libc::SYS_lchown, &[0]),
    (libc::SYS_utime, &[0]),
    (libc::SYS_utimes, &[0]),
    (libc::SYS_futimesat, &[]),
    // Again, because it reads the most.
    (libc::SYS_rename, &[0, 1]),
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [(i64, &[usize]); 0] = [];

/// The input is memory, then calls.
pub fn calls(data: &[u8]) {
    let mut input = Input::new(data);
    let memory = Memory::from_input(&mut input);
    let fixture = Fixture::new();
    let known = [CALLS.as_slice(), &OLDER].concat();
    for _ in 0..3 {
        let (number, paths) = *input.pick(&known);
        let mut args = [0; 6];
        args.iter_mut().for_each(|arg| *arg = word(&mut input));
        let choice = input.byte();
        let mut kernel = fixture.kernel(&memory, choice);
        let call = Fake::call(number, &args);
        let caller = Caller::new(&kernel, call);
        let unread: Vec<Errno> = paths.iter().filter_map(|&index| path(&memory, args[index]).err()).collect();
        let mut wrong = None;
        // If the caller dies, every read may fail, so nothing is compared.
        if kernel.lives.is_none() {
            compare_paths(&caller, &memory, args[0]);
            compare_open(args[1] as i32, args[2] as i32);
            compare_address(&caller, &memory, args[1], args[2]);
            compare_strings(&caller, &memory, (args[1], args[2]));
            wrong = compare_how(&caller, &memory, args[2], args[3]).err();
        }
        let outcome = handle(&Request { guard: guard(), caller: &caller, worker: &Worker::alone() });
        check(number, &args, &outcome);
        assert!(unread.is_empty() || outcome.is_err() || is_continued(&outcome), "{number} {args:x?}");
        match (number, wrong) {
            // An invalid structure fails before the path is read.
            (libc::SYS_openat2, Some(wrong)) => assert_eq!(outcome.as_ref().err(), Some(&wrong), "{args:x?}"),
            (libc::SYS_openat | libc::SYS_unlinkat | libc::SYS_mkdirat, _)
                if !unread.is_empty() && kernel.lives.is_none() =>
            {
                let refused = outcome.as_ref().err().unwrap();
                assert!(unread.contains(refused) || *refused == Errno::INVAL, "{args:x?}: {refused}");
            }
            _ => {}
        }
        send(&Caller::new(&kernel, call), outcome);
        fixture.check_handed_over(&mut kernel, number);
        if input.is_empty() {
            break;
        }
    }
    fixture.check_unchanged();
}

fn is_continued(outcome: &HandlerResult) -> bool {
    matches!(outcome, Ok(Reply::Continue(_)))
}

/// Only calls that are known to be harmless may continue in the kernel.
fn check(number: i64, args: &[u64; 6], outcome: &HandlerResult) {
    let Ok(Reply::Continue(why)) = outcome else { return };
    let may = match number {
        libc::SYS_mmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect => *why == ContinueReason::Hardening,
        libc::SYS_fcntl => *why == ContinueReason::Registers || *why == ContinueReason::NoAccess,
        libc::SYS_execveat => args[4] & 0x10000 != 0 && *why == ContinueReason::NoAccess,
        libc::SYS_flock
        | libc::SYS_kill
        | libc::SYS_tkill
        | libc::SYS_tgkill
        | libc::SYS_rt_sigqueueinfo
        | libc::SYS_rt_tgsigqueueinfo
        | libc::SYS_prlimit64
        | libc::SYS_setrlimit
        | libc::SYS_sched_setaffinity
        | libc::SYS_sched_setscheduler
        | libc::SYS_sched_setparam
        | libc::SYS_sched_setattr
        | libc::SYS_migrate_pages
        | libc::SYS_move_pages
        | libc::SYS_setpriority
        | libc::SYS_ioprio_set => *why == ContinueReason::Registers,
        _ => false,
    };
    assert!(may, "{number} {args:x?} goes on: {why:?}");
}
