//! Starting programs: judged before the exec, followed with ptrace, and checked again before the first instruction.
//!
//! Why: docs/decisions.md, "Programs that cannot be read cannot be checked"

mod approval_subject;
pub mod arguments;
mod bound_file;
mod content_match;
mod elevated;
mod exec_lock;
mod exec_plan;
mod exec_time;
mod home_names;
pub mod image;
mod interpreted;
mod judge;
mod loader;
mod mapped_files;
mod naming_texts;
mod outside_program;
mod privileged;
mod python_module;
mod runnable_argument;
mod script_paths;
mod scripts;
mod sealed_script;
mod traced;
mod verify;
mod withheld_files;

use std::os::fd::AsFd;

use guard_shim::failpoints::{Fallible, Layer, fail_point, is_layer_off};
use rustix::fs::{Access as Mode, FileType};
use rustix::io::Errno;

pub use content_match::ContentMatcher;
pub use exec_lock::ExecLocks;
pub use exec_plan::{ExecPlan, PlannedFile};
pub use script_paths::spelled;
pub use scripts::Scripts;

use crate::audit::Operation;
use crate::caller::CallerPath;
use crate::kernel::{Followed, requests};
use crate::reply::{ContinueReason, HandlerResult, Reply};
use crate::resolve::{Dots, FastLookup, FastPath, Last, Object, Target};
use crate::syscall::Request;
use arguments::{StringBudget, Strings, Windows};

/// execveat(2), Linux 6.14: checks whether the file could be run, without running it.
const AT_EXECVE_CHECK: i32 = 0x10000;

/// What the caller asked the kernel to run.
struct ExecRequest {
    dirfd: i32,
    path: Vec<u8>,
    flags: i32,
    argv: Strings,
    environment: Strings,
}

pub(crate) fn execve(request: &Request<'_, '_>) -> HandlerResult {
    let word = |index| request.caller.word(index);
    start(request, libc::AT_FDCWD, word(0), (word(1), word(2)), 0)
}

pub(crate) fn execveat(request: &Request<'_, '_>) -> HandlerResult {
    let word = |index| request.caller.word(index);
    let flags = request.caller.int(4);
    if flags & !(libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW | AT_EXECVE_CHECK) != 0 {
        return Err(Errno::INVAL);
    }
    if flags & AT_EXECVE_CHECK != 0 {
        // The flags are in a register: whatever the path becomes, nothing runs.
        return Ok(Reply::Continue(ContinueReason::NoAccess));
    }
    start(request, request.caller.int(0), word(1), (word(2), word(3)), flags)
}

fn start(request: &Request<'_, '_>, dirfd: i32, path: u64, strings: (u64, u64), flags: i32) -> HandlerResult {
    // This may take long: a large program, waiting for the exec lock, and the kernel's start of the program.
    request.worker.ensure_spare();
    let caller = request.caller;
    let mut written = CallerPath::default();
    caller.peek(path, &mut written)?;
    caller.check()?;
    fail_point(Fallible::Exec, || written.as_bytes());
    // The kernel opens the program before it counts its arguments (fs/exec.c, alloc_bprm). A search of PATH finds
    // nothing in most directories.
    if is_missing(request, dirfd, written.as_bytes()) {
        return Err(Errno::NOENT);
    }
    // One exec of a process at a time: the first that succeeds ends the threads that make the others. They have read nothing
    // by then.
    let exec_lock = request.guard.starts.locks.acquire(request.worker, caller)?;
    let mut budget = StringBudget::default();
    let mut memory = Windows::new(caller);
    let argv = Strings::read(&mut memory, strings.0, &mut budget)?;
    let environment = Strings::read(&mut memory, strings.1, &mut budget)?;
    caller.check()?;
    let path = written.as_bytes().to_vec();
    let exec_request = ExecRequest { dirfd, path, flags, argv, environment };
    let mut expected = judge::judge(request, exec_request)?;
    let mut mismatch = None;
    let mut pass = expected.pass.take();
    let followed = caller.kernel().follow_exec(caller.call().id, caller.tid(), &mut |pid| {
        let differs = verify::differs(caller.kernel(), pid, &expected);
        // A process killed meanwhile cannot be compared: that is not a mismatch to report.
        mismatch = differs.filter(|_| !verify::is_dead(pid));
        request.guard.starts.scripts.begin(pid);
        request.guard.starts.outside.forget(pid);
        if let Some(pass) = pass.take().filter(|_| differs.is_none()) {
            request.guard.starts.outside.admit(pid, pass);
        }
        differs.is_none() || is_layer_off(Layer::Verify)
    });
    let followed = match followed {
        // Another process traces the caller.
        Err(Errno::PERM) if traced::is_let(request) => {
            drop(exec_lock);
            return traced::continue_exec(request, &expected);
        }
        // A caller that was killed meanwhile cannot be traced either, and waits no longer.
        Err(Errno::PERM) if caller.check().is_err() => return Err(Errno::PERM),
        Err(Errno::PERM) => {
            let text = "the process is traced, so the guard cannot check the program after it starts";
            let _ = request.guard.refuse(caller, Operation::Exec, &expected.path, text);
            return Err(Errno::PERM);
        }
        other => other?,
    };
    if followed == Followed::Killed
        && let Some(what) = mismatch
    {
        // Reported even when only observing: the program was killed because nobody had judged it.
        let text = format!("killed: {what} changed between check and exec");
        let _ = request.guard.refuse(caller, Operation::Exec, &expected.path, text);
    }
    drop(exec_lock);
    Ok(if followed == Followed::Runs { Reply::Started } else { Reply::Done })
}

/// Whether nothing exists at a path without links.
fn is_missing(request: &Request<'_, '_>, dirfd: i32, path: &[u8]) -> bool {
    let mut fast_path = FastPath::default();
    let is_spelled = fast_path.spell(request.caller, dirfd, path, &request.guard.floor).is_some();
    is_spelled && fast_path.lookup() == FastLookup::Missing
}

fn find(request: &Request<'_, '_>, dirfd: i32, path: &[u8], flags: i32) -> Result<Target, Errno> {
    if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
        return request.guard.resolver.descriptor(request.caller, dirfd);
    }
    let resolver = &request.guard.resolver;
    if flags & libc::AT_SYMLINK_NOFOLLOW != 0 {
        return resolver.resolve(request.caller, dirfd, path, Last::Keep);
    }
    match resolver.lookup_once(request.caller, dirfd, path)? {
        Some((object, path)) => Ok(Target::Object { object, path, dots: Dots::No }),
        None => resolver.resolve(request.caller, dirfd, path, Last::Follow),
    }
}

/// Makes the checks that the kernel makes before it opens a program.
fn check_runnable(request: &Request<'_, '_>, object: &Object, path: &[u8]) -> Result<(), Errno> {
    match object.kind() {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(Errno::LOOP),
        _ => return Err(Errno::ACCESS),
    }
    requests::may(object.fd.as_fd(), Mode::EXEC_OK)?;
    if object.stat.st_nlink == 0 || object.held.is_some() || !path.starts_with(b"/") {
        request.guard.refuse(request.caller, Operation::Exec, path, "a program without a path")?;
    }
    Ok(())
}

/// Makes the checks of [`check_runnable`], and opens a program to read it.
fn runnable(request: &Request<'_, '_>, object: &Object, path: &[u8]) -> Result<std::fs::File, Errno> {
    check_runnable(request, object, path)?;
    match object.open_to_read() {
        Err(Errno::ACCESS) => unreadable(request, path),
        opened => opened,
    }
}

fn unreadable<T>(request: &Request<'_, '_>, path: &[u8]) -> Result<T, Errno> {
    let text = "the program cannot be read, so it cannot be checked; chmod +r it";
    request.guard.refuse(request.caller, Operation::Exec, path, text)?;
    Err(Errno::ACCESS)
}
