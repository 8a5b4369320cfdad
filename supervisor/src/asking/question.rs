//! What a human is asked about a held call.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use guard_policy::approval::always;
use guard_policy::{Access, Because, Request};

use crate::approval::{Exec, Process, Question, Repeat, Subject};
use crate::caller::Caller;
use crate::exec::Steps;
use crate::guard::Guard;

/// Of a file.
pub fn about_file(
    guard: &Guard,
    caller: &Caller<'_>,
    path: &[u8],
    access: Access,
    because: &Because<'_>,
) -> Question {
    let subject = Subject::File { path: path.to_vec(), access };
    about(guard, caller, subject, because, &[Request::File { path, access }])
}

/// Of a program, some of whose files are to be asked for.
pub fn about_exec(guard: &Guard, caller: &Caller<'_>, exec: Exec, steps: &Steps<'_>) -> Question {
    // There is one: without any, nobody is asked.
    let because = steps.asked().next().map(|step| step.verdict().because.clone());
    let because = because.unwrap_or_else(|| Because::unmentioned("nothing is asked"));
    let asked: Vec<_> = steps.asked().map(|step| Request::Exec(step.exec())).collect();
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
    let pid = caller.status().map_or(caller.tid(), |status| status.tgid);
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
