//! What a human is asked about a held call.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use guard_policy::approval::always;
use guard_policy::{Access, Because, Request};

use crate::caller::Caller;
use crate::exec::{Step, Steps};
use crate::judge::guard::Guard;
use crate::syscall::number::FCHMODAT2;
use guard_approvals::{Exec, Process, Question, Repeat, Subject};

/// Of a file.
pub fn about_file(
    guard: &Guard,
    caller: &Caller<'_>,
    path: &[u8],
    access: Access,
    because: &Because<'_>,
) -> Question {
    let subject = Subject::File { path: path.to_vec(), access, call: name(caller.call().number) };
    about(guard, caller, subject, because, &[Request::File { path, access }])
}

/// Of a program, some of whose files are to be asked for.
pub fn about_exec(guard: &Guard, caller: &Caller<'_>, exec: Exec, steps: &Steps<'_>) -> Question {
    // There is one: without any, nobody is asked.
    let because = steps.asked().next().map(|step| step.verdict().because.clone());
    let because = because.unwrap_or_else(|| Because::unmentioned("nothing is asked"));
    let asked: Vec<_> = steps.asked().flat_map(Step::requests).collect();
    about(guard, caller, Subject::Exec(Box::new(exec)), &because, &asked)
}

fn about(
    guard: &Guard,
    caller: &Caller<'_>,
    subject: Subject,
    because: &Because<'_>,
    asked: &[Request<'_>],
) -> Question {
    let policy = guard.policy();
    let pid = caller.process().unwrap_or(caller.tid());
    let asked_by = guard.tree.line(pid).map(|process| Process {
        pid: process.pid,
        started: process.starttime,
        name: process.comm,
    });
    let each_time = asked.iter().any(|request| policy.repeats(request) == Repeat::AskedEachTime);
    let is_directory = |path: &[u8]| std::path::Path::new(OsStr::from_bytes(path)).is_dir();
    Question {
        agent: policy.agent().to_owned(),
        session: guard.session().to_owned(),
        subject,
        asked_by: asked_by.collect(),
        because: because.clone().into_owned(),
        always: always(policy, asked, &is_directory),
        repeat: if each_time { Repeat::AskedEachTime } else { Repeat::Allowed },
    }
}

/// The system call by which a file is used, as people know it: the forms of one are one.
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
        libc::SYS_ioctl => "ioctl",
        libc::SYS_mmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect => "mmap",
        libc::SYS_execve | libc::SYS_execveat => "execve",
        _ => "another call",
    }
}
