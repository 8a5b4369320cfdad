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
pub mod image;
mod interpreted;
mod loader;
mod outside_program;
mod privileged;
mod script_paths;
mod scripts;
mod sealed_script;
mod traced;
mod verify;

use std::os::fd::AsFd;

use guard_approvals::Digest;
use guard_policy::{Exec, Role};
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
use crate::inflight;
use crate::kernel::{Followed, requests};
use crate::reply::{ContinueReason, HandlerResult, Reply};
use crate::resolve::{Dots, FastLookup, FastPath, Identity, Last, Object, Target, link_to, real_path};
use crate::syscall::Request;
use crate::worker::ensure_spare_worker;
use arguments::{Strings, Windows};
use image::Image;
use scripts::Named;
use verify::Expected;

/// execveat(2), Linux 6.14: checks whether the file could be run, without running it.
const AT_EXECVE_CHECK: i32 = 0x10000;
/// How many scripts may be nested as interpreters (fs/exec.c, exec_binprm).
const MAX_SCRIPTS: usize = 5;

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
    ensure_spare_worker();
    let caller = request.caller;
    let mut written = CallerPath::default();
    caller.peek(path, &mut written)?;
    caller.check()?;
    fail_point(Fallible::Exec, written.as_bytes());
    // The kernel opens the program before it counts its arguments (fs/exec.c, alloc_bprm). A search of PATH finds
    // nothing in most directories.
    if is_missing(request, dirfd, written.as_bytes()) {
        return Err(Errno::NOENT);
    }
    let mut left = arguments::MAX_BYTES;
    let mut memory = Windows::new(caller);
    let argv = Strings::read(&mut memory, strings.0, &mut left)?;
    let environment = Strings::read(&mut memory, strings.1, &mut left)?;
    caller.check()?;
    let path = written.as_bytes().to_vec();
    let exec_request = ExecRequest { dirfd, path, flags, argv, environment };
    // One exec of a process at a time: the first that succeeds ends the threads that make the others.
    let exec_lock = request.guard.exec_locks.acquire(caller)?;
    let mut expected = judge(request, exec_request)?;
    let mut mismatch = None;
    let mut pass = expected.pass.take();
    let followed = caller.kernel().follow_exec(caller.call().id, caller.tid(), &mut |pid| {
        let differs = verify::differs(caller.kernel(), pid, &expected);
        // A process killed meanwhile cannot be compared: that is not a mismatch to report.
        mismatch = differs.filter(|_| !verify::is_dead(pid));
        request.guard.scripts.begin(pid);
        request.guard.outside.forget(pid);
        if let Some(pass) = pass.take().filter(|_| differs.is_none()) {
            request.guard.outside.admit(pid, pass);
        }
        differs.is_none() || is_layer_off(Layer::Verify)
    });
    let followed = match followed {
        // Another process traces it.
        Err(Errno::PERM) if traced::is_let(request) => {
            drop(exec_lock);
            return traced::continue_exec(request, &expected);
        }
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

/// Judges the program, its interpreters and its loader; the result is what the kernel must find.
fn judge(request: &Request<'_, '_>, exec_request: ExecRequest) -> Result<Expected, Errno> {
    let directory = request.caller.directory(libc::AT_FDCWD)?;
    let cwd = real_path(directory.as_fd())?;
    let mut name = as_kernel_names(&exec_request);
    let mut argv = exec_request.argv.items;
    if argv.is_empty() {
        // Since Linux 5.18 a program always has an argv[0].
        argv.push(Vec::new());
    }
    // A script's interpreter gets other arguments.
    let called = argv.clone();
    let mut target = find(request, exec_request.dirfd, &exec_request.path, exec_request.flags)?;
    let mut role = Role::Program;
    let mut steps = ExecPlan::default();
    let mut scripts = Vec::new();
    let mut script_at = None;
    for _ in 0..=MAX_SCRIPTS {
        let (object, path) = target.into_object()?;
        inflight::wait_for(Identity::from_stat(&object.stat));
        let file = runnable(request, &object, &path)?;
        let exec = Exec { path: &path, argv: &argv, cwd: &cwd, role };
        let originals = steps.judge(request, exec, &object)?;
        match image::read(&file)? {
            Image::Elf { interpreter } => {
                if let Some(lost) = privileged::lost(&object, &file) {
                    request.guard.remark(
                        &path,
                        &format!("starts without {lost}: guarded programs gain no privileges"),
                    );
                }
                let mut loader = match interpreter {
                    Some(loader) => Some(judge_loader(request, &mut steps, &loader, &argv, &cwd)?),
                    None => {
                        let environment = &exec_request.environment.items;
                        loader::judge_operand(request, &mut steps, &path, &argv, environment, &cwd)?;
                        None
                    }
                };
                let environment = exec_request.environment.items;
                let here = Identity::from_stat(&rustix::fs::fstat(&directory)?);
                let (mut others, mut names) = (Vec::new(), Vec::new());
                let is_outside = role == Role::Program && request.guard.outside.is_asked(&object, &called);
                let pass = is_outside.then(|| elevated::settle(request, &steps, &called)).transpose()?;
                let subject = || {
                    let program = approval_subject::executable(request.caller, &object, &path, &file)?;
                    for named in &scripts {
                        interpreted::refuse_ambiguous(request, named)?;
                    }
                    let runs = interpreted::interpreted(request, &path, &argv, &cwd, script_at)?;
                    scripts.extend(runs.script);
                    let held = scripts.iter().map(|named: &Named| approval_subject::script(request, named));
                    let mut held = held.collect::<Result<Vec<_>, _>>()?.into_iter();
                    let script = held.next();
                    let through = held.collect();
                    (others, names) = (runs.others, runs.names);
                    let files = others.iter().map(|named| approval_subject::script(request, named));
                    let mut files = files.collect::<Result<Vec<_>, _>>()?;
                    if let Some(loader) = loader.as_ref().filter(|_| steps.has_changeable_loader) {
                        files.push(approval_subject::loader(request.caller, loader)?);
                    }
                    Ok(guard_approvals::Exec {
                        argv: argv.clone(),
                        executable: program,
                        script,
                        through,
                        files,
                        inputs: runs.inputs,
                        cwd: cwd.clone(),
                        environment: Digest::of_environment(environment.iter().map(Vec::as_slice)),
                        program_variables: approval_subject::program_variables(&environment),
                        is_outside: false,
                    })
                };
                let approved = match pass {
                    // This start only asks for a command outside, which `elevated::settle` has settled.
                    Some(_) => None,
                    None => steps.settle(request, &called, subject)?,
                };
                if let Some(approved) = &approved {
                    request.guard.scripts.start_anew(request.caller)?;
                    let held = approved.script.iter().chain(&approved.through).zip(scripts);
                    for (script, named) in held.chain(approved.files.iter().zip(others)) {
                        approval_subject::bind_script(request, script, named)?;
                    }
                    for name in names {
                        approval_subject::bind_name(request, name)?;
                    }
                    if let Some(loader) = loader.as_mut().filter(|_| steps.has_changeable_loader) {
                        // The last of the files.
                        loader.content = approved.files.last().map(|file| file.sha256);
                    }
                }
                return Ok(Expected {
                    program: Identity::from_stat(&object.stat),
                    content: approved.map(|approved| approved.executable.sha256),
                    loader,
                    copy: request.guard.copies.expected(&path, &originals),
                    strings: arguments::joined(argv.iter().chain(&environment)),
                    counts: (argv.len(), environment.len()),
                    cwd: here,
                    path,
                    pass,
                });
            }
            Image::Script { interpreter, argument } => {
                // The kernel replaces argv[0] with these (fs/binfmt_script.c).
                script_at = Some(1 + usize::from(argument.is_some()));
                let lead = [Some(interpreter.clone()), argument, Some(name.clone())];
                argv.splice(..1, lead.into_iter().flatten());
                target = find(request, libc::AT_FDCWD, &interpreter, 0)?;
                let written = std::mem::replace(&mut name, interpreter);
                role = Role::Interpreter;
                scripts.push(Named { path, name: spelled(&cwd, &written), file, is_until_changed: false });
            }
            Image::Foreign => {
                request.guard.refuse(
                    request.caller,
                    Operation::Exec,
                    &path,
                    "a program for another machine",
                )?;
                return Err(Errno::NOEXEC);
            }
            Image::Unknown => return Err(Errno::NOEXEC),
        }
    }
    Err(Errno::LOOP)
}

/// The path that a script's interpreter receives (fs/exec.c, alloc_bprm).
fn as_kernel_names(exec_request: &ExecRequest) -> Vec<u8> {
    if exec_request.dirfd == libc::AT_FDCWD || exec_request.path.starts_with(b"/") {
        return exec_request.path.clone();
    }
    let mut name = format!("/dev/fd/{}", exec_request.dirfd).into_bytes();
    if !exec_request.path.is_empty() {
        name.push(b'/');
        name.extend_from_slice(&exec_request.path);
    }
    name
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
    if object.stat.st_nlink == 0 || !path.starts_with(b"/") {
        request.guard.refuse(request.caller, Operation::Exec, path, "a program without a path")?;
    }
    Ok(())
}

/// Opens a program to read it, after those checks.
fn runnable(request: &Request<'_, '_>, object: &Object, path: &[u8]) -> Result<std::fs::File, Errno> {
    check_runnable(request, object, path)?;
    let link = link_to(object.fd.as_fd());
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    match rustix::fs::open(&link, flags, rustix::fs::Mode::empty()) {
        Ok(file) => Ok(file.into()),
        Err(Errno::ACCESS) => unreadable(request, path),
        Err(error) => Err(error),
    }
}

fn unreadable<T>(request: &Request<'_, '_>, path: &[u8]) -> Result<T, Errno> {
    let text = "the program cannot be read, so it cannot be checked; chmod +r it";
    request.guard.refuse(request.caller, Operation::Exec, path, text)?;
    Err(Errno::ACCESS)
}

/// The loader that the program names: it runs first, with the program's rights.
fn judge_loader<'p>(
    request: &Request<'p, '_>,
    steps: &mut ExecPlan<'p>,
    written: &[u8],
    argv: &[Vec<u8>],
    cwd: &[u8],
) -> Result<verify::Loader, Errno> {
    if !written.starts_with(b"/") {
        request.guard.refuse(request.caller, Operation::Exec, written, "a loader with a relative path")?;
        return Err(Errno::ACCESS);
    }
    let (object, path) = find(request, libc::AT_FDCWD, written, 0)?.into_object()?;
    check_runnable(request, &object, &path)?;
    if requests::may(object.fd.as_fd(), Mode::READ_OK) == Err(Errno::ACCESS) {
        return unreadable(request, &path);
    }
    let originals = steps.judge(request, Exec { path: &path, argv, cwd, role: Role::Loader }, &object)?;
    let copy = request.guard.copies.expected(&path, &originals);
    Ok(verify::Loader { identity: Identity::from_stat(&object.stat), object, path, content: None, copy })
}
