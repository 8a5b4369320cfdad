//! Judges a start: the program, its interpreters and its loader, as the kernel will find them.

use std::fs::File;
use std::os::fd::AsFd;

use guard_approvals::Digest;
use guard_policy::{Exec, Role};
use rustix::fs::Access as Mode;
use rustix::io::Errno;

use super::exec_plan::ExecPlan;
use super::image::{self, Image};
use super::scripts::{BareName, Named};
use super::verify::{Expected, Loader};
use super::{
    ExecRequest, approval_subject, arguments, check_runnable, elevated, find, interpreted, loader,
    privileged, runnable, spelled, unreadable,
};
use crate::audit::Operation;
use crate::inflight;
use crate::kernel::requests;
use crate::resolve::{Identity, Object, real_path};
use crate::syscall::Request;
use crate::worker::share::Share;

/// How many scripts may be nested as interpreters (fs/exec.c, exec_binprm).
const MAX_SCRIPTS: usize = 5;

/// A start, as far as it was judged.
struct JudgedStart<'p> {
    /// The real path of the current directory.
    cwd: Vec<u8>,
    /// The same directory.
    here: Identity,
    /// The arguments as the caller gives them.
    called: Vec<Vec<u8>>,
    /// The arguments that the program gets. A script's interpreter gets others than the caller gave.
    argv: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    plan: ExecPlan<'p>,
    /// The scripts, each run by the next.
    scripts: Vec<Named>,
    /// The argument by which the kernel names the last script.
    script_at: Option<usize>,
}

/// The program at the end of a start.
struct Program {
    object: Object,
    path: Vec<u8>,
    file: File,
    role: Role,
    /// The programs that it is a copy of.
    originals: Vec<Vec<u8>>,
    loader: Option<Loader>,
}

/// What an approval is bound to besides the program.
#[derive(Default)]
struct HeldFiles {
    scripts: Vec<Named>,
    others: Vec<Named>,
    names: Vec<BareName>,
    /// Counts `others` among what all starts hold.
    _shares: Vec<Share>,
}

/// Judges the program, its interpreters and its loader; the result is what the kernel must find.
///
/// # Errors
/// EACCES if a file is refused; the kernel's; ESRCH if the caller is gone.
pub fn judge(request: &Request<'_, '_>, exec_request: ExecRequest) -> Result<Expected, Errno> {
    let directory = request.caller.directory(libc::AT_FDCWD)?;
    let mut name = as_kernel_names(&exec_request);
    let mut target = find(request, exec_request.dirfd, &exec_request.path, exec_request.flags)?;
    let mut argv = exec_request.argv.items;
    if argv.is_empty() {
        // Since Linux 5.18 a program always has an argv[0].
        argv.push(Vec::new());
    }
    let mut start = JudgedStart {
        cwd: real_path(directory.as_fd())?,
        here: Identity::from_stat(&rustix::fs::fstat(&directory)?),
        called: argv.clone(),
        argv,
        environment: exec_request.environment.items,
        plan: ExecPlan::default(),
        scripts: Vec::new(),
        script_at: None,
    };
    let mut role = Role::Program;
    for _ in 0..=MAX_SCRIPTS {
        let (object, path) = target.into_object()?;
        inflight::wait_for(Identity::from_stat(&object.stat));
        let file = runnable(request, &object, &path)?;
        let exec = Exec { path: &path, argv: &start.argv, cwd: &start.cwd, role };
        let originals = start.plan.judge(request, exec, &object)?;
        match image::read(&file)? {
            Image::Elf { interpreter } => {
                let program = Program { object, path, file, role, originals, loader: None };
                return start.with_program(request, program, interpreter);
            }
            Image::Script { interpreter, argument } => {
                // The kernel replaces argv[0] with these (fs/binfmt_script.c).
                start.script_at = Some(1 + usize::from(argument.is_some()));
                let lead = [Some(interpreter.clone()), argument, Some(name.clone())];
                start.argv.splice(..1, lead.into_iter().flatten());
                target = find(request, libc::AT_FDCWD, &interpreter, 0)?;
                let written = std::mem::replace(&mut name, interpreter);
                role = Role::Interpreter;
                let name = spelled(&start.cwd, &written);
                start.scripts.push(Named { path, name, file, is_until_changed: false });
            }
            Image::Foreign => {
                let text = "a program for another machine";
                request.guard.refuse(request.caller, Operation::Exec, &path, text)?;
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

impl<'p> JudgedStart<'p> {
    /// Judges the loader, and settles the start as a whole.
    fn with_program(
        mut self,
        request: &Request<'p, '_>,
        mut program: Program,
        interpreter: Option<Vec<u8>>,
    ) -> Result<Expected, Errno> {
        let guard = request.guard;
        if let Some(lost) = privileged::lost(&program.object, &program.file) {
            guard.remark(
                &program.path,
                &format!("starts without {lost}: guarded programs gain no privileges"),
            );
        }
        match interpreter {
            Some(written) => program.loader = Some(self.judge_loader(request, &written)?),
            None => {
                let JudgedStart { plan, argv, environment, cwd, .. } = &mut self;
                loader::judge_operand(request, plan, &program.path, argv, environment, cwd)?;
            }
        }
        let is_outside =
            program.role == Role::Program && guard.starts.outside.is_asked(&program.object, &self.called);
        let pass = is_outside.then(|| elevated::settle(request, &self.plan, &self.called)).transpose()?;
        let content = match pass {
            // This start only asks for a command outside, which `elevated::settle` has settled.
            Some(_) => None,
            None => self.settle(request, &mut program)?,
        };
        Ok(Expected {
            program: Identity::from_stat(&program.object.stat),
            content,
            loader: program.loader,
            copy: guard.copies.expected(&program.path, &program.originals),
            strings: arguments::joined(self.argv.iter().chain(&self.environment)),
            counts: (self.argv.len(), self.environment.len()),
            cwd: self.here,
            path: program.path,
            pass,
        })
    }

    /// The loader that the program names: it runs first, with the program's rights.
    fn judge_loader(&mut self, request: &Request<'p, '_>, written: &[u8]) -> Result<Loader, Errno> {
        if !written.starts_with(b"/") {
            request.guard.refuse(
                request.caller,
                Operation::Exec,
                written,
                "a loader with a relative path",
            )?;
            return Err(Errno::ACCESS);
        }
        let (object, path) = find(request, libc::AT_FDCWD, written, 0)?.into_object()?;
        check_runnable(request, &object, &path)?;
        if requests::may(object.fd.as_fd(), Mode::READ_OK) == Err(Errno::ACCESS) {
            return unreadable(request, &path);
        }
        let exec = Exec { path: &path, argv: &self.argv, cwd: &self.cwd, role: Role::Loader };
        let originals = self.plan.judge(request, exec, &object)?;
        let copy = request.guard.copies.expected(&path, &originals);
        Ok(Loader { identity: Identity::from_stat(&object.stat), object, path, content: None, copy })
    }

    /// Asks a human, if one must be asked. After a yes, holds the files that the program may run as they were approved.
    /// Returns the digest of the approved program.
    fn settle(&mut self, request: &Request<'p, '_>, program: &mut Program) -> Result<Option<Digest>, Errno> {
        let scripts = std::mem::take(&mut self.scripts);
        let mut held = HeldFiles::default();
        let subject = || {
            let (exec, files) = self.subject(request, program, scripts)?;
            held = files;
            Ok(exec)
        };
        let Some(approved) = self.plan.settle(request, &self.called, subject)? else { return Ok(None) };
        held.bind(request, &approved)?;
        if let Some(loader) = program.loader.as_mut().filter(|_| self.plan.has_changeable_loader) {
            // The loader is the last of the approved files.
            loader.content = approved.files.last().map(|file| file.sha256);
        }
        Ok(Some(approved.executable.sha256))
    }

    /// What a human is asked about, and the files that are held after a yes.
    fn subject(
        &self,
        request: &Request<'_, '_>,
        program: &Program,
        mut scripts: Vec<Named>,
    ) -> Result<(guard_approvals::Exec, HeldFiles), Errno> {
        let Program { object, path, file, loader, .. } = program;
        let executable = approval_subject::executable(request.caller, object, path, file)?;
        for named in &scripts {
            interpreted::refuse_ambiguous(request, named)?;
        }
        let mut runs = interpreted::interpreted(
            request,
            path,
            &self.argv,
            &self.cwd,
            self.script_at,
            &self.environment,
        )?;
        scripts.extend(runs.script.take());
        let bound = |all: &[Named]| {
            let bound = all.iter().map(|named| approval_subject::script(request, named));
            bound.collect::<Result<Vec<_>, _>>()
        };
        let mut through = bound(&scripts)?.into_iter();
        let script = through.next();
        let mut files = bound(&runs.others)?;
        for (named, file) in runs.others.iter().zip(&files) {
            runs.check_text(request, named, file.sha256)?;
        }
        if let Some(loader) = loader.as_ref().filter(|_| self.plan.has_changeable_loader) {
            files.push(approval_subject::loader(request.caller, loader)?);
        }
        let exec = guard_approvals::Exec {
            argv: self.argv.clone(),
            executable,
            script,
            through: through.collect(),
            files,
            inputs: runs.inputs,
            cwd: self.cwd.clone(),
            environment: Digest::of_environment(self.environment.iter().map(Vec::as_slice)),
            program_variables: approval_subject::program_variables(&self.environment),
            is_outside: false,
        };
        Ok((exec, HeldFiles { scripts, others: runs.others, names: runs.names, _shares: runs.shares }))
    }
}

impl HeldFiles {
    /// Makes the program find what was approved.
    ///
    /// # Errors
    /// EACCES if something has changed; the kernel's; ESRCH if the caller is gone.
    fn bind(self, request: &Request<'_, '_>, approved: &guard_approvals::Exec) -> Result<(), Errno> {
        request.guard.starts.scripts.start_anew(request.caller)?;
        let scripts = approved.script.iter().chain(&approved.through).zip(self.scripts);
        for (script, named) in scripts.chain(approved.files.iter().zip(self.others)) {
            approval_subject::bind_script(request, script, named)?;
        }
        for name in self.names {
            approval_subject::bind_name(request, name)?;
        }
        Ok(())
    }
}
