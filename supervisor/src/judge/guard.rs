//! The one place where decisions are made: the policy decides, within limits that no policy can lift.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use guard_approvals::{Approvals, DenyReason, Question, served};
use guard_openclaw::peer::process_tree::Tree;
use guard_openclaw::real_path::real;
use guard_policy::learn::Used;
use guard_policy::{
    Access, Exec, NamedFile, Outcome, Page, Policy, Reason, Request, Role, Source, Transport, Verdict,
    decide, decide_copy,
};
use rustix::io::Errno;

use crate::audit::report::{Logged, Reporter};
use crate::audit::{DecisionEvent, MAX_ARGV, MAX_DENIED_ARGV, Operation, shortened};
use crate::caller::Caller;
use crate::exec::ContentMatcher;
use crate::judge::anchored_path::AnchoredPath;
use crate::judge::consent::{Background, ConsentState};
use crate::judge::created::Created;
use crate::judge::linked_names::LinkedNames;
use crate::judge::program_starts::ProgramStarts;
use crate::judge::recorder::Recorder;
use crate::judge::session_context::SessionContext;
use crate::judge::session_security::SessionSecurity;
use crate::judge::shapes::{Shapes, Subject};
use crate::landlock;
use crate::resolve::Resolver;

/// The state shared by the handlers of one guarded tree, with the policy by which they judge. A call uses the same
/// guard from beginning to end, so that one policy judges all of it.
#[derive(Clone)]
pub struct Guard {
    /// The policy in force: `own_policy`, tightened by `security`.
    policy: Arc<Policy>,
    /// The policy as it was compiled.
    own_policy: Arc<Policy>,
    security: SessionSecurity,
    /// Resolves paths.
    pub resolver: Arc<Resolver>,
    /// The processes of the tree.
    pub tree: Tree,
    /// Reports to the operator.
    pub reporter: Reporter,
    /// What the floor lets the kernel decide by itself.
    pub floor: landlock::LandlockPlan,
    /// Whether the filter lets ptrace(2) go on.
    lets_trace: bool,
    /// The programs that the policy withholds, recognised wherever they are copied.
    pub copies: Arc<ContentMatcher>,
    /// The protected names that are links.
    linked_names: Arc<LinkedNames>,
    /// What stays the same in this session.
    pub session: Arc<SessionContext>,
    /// The programs that the tree starts.
    pub starts: Arc<ProgramStarts>,
    /// What the tree has created.
    pub created: Arc<Created>,
}

/// The policy's verdict on a program that is a copy of `originals`: the strictest of the verdicts on the program itself
/// and on each original.
///
/// No saved answer counts if a link, on the way to a file that the arguments name, leads to where an earlier run could
/// write.
pub fn decide_program<'p>(policy: &'p Policy, exec: Exec<'_>, originals: &[Vec<u8>]) -> Verdict<'p> {
    let verdict = strictest(policy, exec, originals);
    if verdict.outcome != Outcome::Allow {
        return verdict;
    }
    let is_link = |file: &NamedFile| {
        let real = real(Path::new(OsStr::from_bytes(&file.path))).into_os_string().into_vec();
        real != file.place && policy.knows_written(&real)
    };
    let files = policy.named_by_answer(&exec).into_iter().filter(is_link);
    let links: Vec<_> = files.map(|file| file.place).collect();
    if links.is_empty() {
        return verdict;
    }
    let policy = policy.with_written(links);
    let Verdict { outcome, reason } = strictest(&policy, exec, originals);
    Verdict { outcome, reason: reason.into_owned() }
}

/// As [`decide_program`], where the floor holds: the floor refuses a program that is not below exec.roots, whatever the
/// policy says.
pub fn decide_start<'p>(policy: &'p Policy, exec: Exec<'_>, originals: &[Vec<u8>]) -> Verdict<'p> {
    let verdict = decide_program(policy, exec, originals);
    if verdict.outcome == Outcome::Deny || policy.within_exec_roots(exec.path) {
        return verdict;
    }
    Verdict { outcome: Outcome::Deny, reason: below_no_root(exec.path) }
}

/// The reason why the floor refuses to start a program.
fn below_no_root(program: &[u8]) -> Reason<'static> {
    let end = program.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    let directory = guard_policy::text::shown(&program[..end]);
    builtin(format!("not below exec.roots; add \"{directory}\" there"))
}

fn strictest<'p>(policy: &'p Policy, exec: Exec<'_>, originals: &[Vec<u8>]) -> Verdict<'p> {
    let copies = originals.iter().map(|original| decide_copy(policy, &exec, original));
    let strictest = copies.min_by_key(|verdict| verdict.outcome);
    strictest.unwrap_or_else(|| decide(policy, &Request::Exec(exec)))
}

/// The reason for a refusal that no policy can lift.
fn builtin(text: impl Into<Cow<'static, str>>) -> Reason<'static> {
    let text = text.into();
    Reason::new(Source::Builtin, "", text.clone(), text)
}

/// The reason for refusing a call that the policy allows, but that cannot be logged.
fn unlogged() -> Reason<'static> {
    let text = "it cannot be logged, and audit.onError is \"deny\"";
    Reason::new(Source::Global, "audit.onError", format!("audit.onError: {text}"), text)
}

impl Guard {
    /// Creates the guard of a session that begins.
    pub fn new(
        policy: Policy,
        floor: landlock::LandlockPlan,
        resolver: Resolver,
        tree: Tree,
        reporter: Reporter,
        session: SessionContext,
        starts: ProgramStarts,
    ) -> Guard {
        let policy = Arc::new(policy);
        Guard {
            lets_trace: policy.allow_ptrace() && floor.roots.is_some(),
            copies: Arc::new(ContentMatcher::new(Arc::clone(&policy))),
            own_policy: Arc::clone(&policy),
            policy,
            security: SessionSecurity::Policy,
            resolver: Arc::new(resolver),
            tree,
            reporter,
            floor,
            linked_names: Arc::default(),
            session: Arc::new(session),
            starts: Arc::new(starts),
            created: Arc::default(),
        }
    }

    /// Records a use of a path, if recording is on. Returns whether recording is on.
    pub fn saw(&self, path: &[u8], used: Used) -> bool {
        self.recorder().inspect(|recorder| recorder.saw(path, used)).is_some()
    }

    /// What a learning session is recorded in.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.session.recorder.as_ref()
    }

    /// Whether the broker must see every access, also the allowed ones.
    pub fn sees_all(&self) -> bool {
        self.session.recorder.is_some() || self.reporter.wants_allowed()
    }

    /// The approvals to ask, if there are any.
    pub fn approvals(&self) -> Option<&Arc<Approvals>> {
        self.session.approvals.as_ref()
    }

    /// The same tree under another policy. The floor stays, because the kernel cannot change it.
    pub fn under(&self, policy: Policy) -> Guard {
        let floor = self.floor.under(&policy);
        let own_policy = Arc::new(policy);
        let policy = self.security.applied(&own_policy);
        let copies = Arc::new(ContentMatcher::new(Arc::clone(&own_policy)));
        Guard { copies, policy, own_policy, floor, ..self.clone() }
    }

    /// The same tree under the same policy, with this security.
    pub fn with_security(&self, security: SessionSecurity) -> Guard {
        Guard { policy: security.applied(&self.own_policy), security, ..self.clone() }
    }

    /// What the operator has set for this session.
    pub fn security(&self) -> SessionSecurity {
        self.security
    }

    /// The policy as it was compiled, without what the operator has set for this session.
    pub fn own_policy(&self) -> &Policy {
        &self.own_policy
    }

    /// The same tree after somebody has moved an object that the floor grants.
    pub fn after_relocation(&self) -> Guard {
        Guard { floor: self.floor.under(&self.policy), ..self.clone() }
    }

    /// The policy in force for this guard.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether this guard judges by the very policy of another: then only what the floor has to do may differ.
    pub fn has_policy_of(&self, other: &Guard) -> bool {
        Arc::ptr_eq(&self.policy, &other.policy)
    }

    /// Whether members of the tree may trace each other. The policy must allow it both now and at the start, and there
    /// must be a floor, which keeps tracers inside the tree (Landlock scopes ptrace) and programs below `exec.roots`.
    pub fn lets_trace(&self) -> bool {
        self.policy().allow_ptrace() && self.lets_trace
    }

    /// Whether the policy allows this access without asking, for a real path whose meaning does not depend on the caller.
    pub fn allows(&self, path: &[u8], access: Access) -> bool {
        self.allows_at(AnchoredPath::path(path), access)
    }

    /// Whether the policy allows this access without asking, for a place where something may be made.
    pub fn allows_at(&self, place: AnchoredPath<'_>, access: Access) -> bool {
        let request = self.shapes().request(place, access, Subject::New);
        decide(self.policy(), &request).outcome == Outcome::Allow
    }

    /// What is protected by its shape.
    pub fn shapes(&self) -> Shapes<'_> {
        Shapes { policy: self.policy(), created: &self.created, linked: &self.linked_names }
    }

    /// The guard's part of a question.
    pub fn background(&self) -> Background<'_> {
        Background {
            policy: self.policy(),
            session: &self.session.name,
            tree: &self.tree,
            made: &self.created.directories,
            known: &self.session.known_programs,
            answers: self.approvals().map(|approvals| approvals.manager()),
            written: &self.session.answered_writes,
        }
    }

    /// The consent for a call that needs it. If nobody was asked yet, the caller must refuse for now, without a log
    /// line.
    pub fn consent(&self, caller: &Caller<'_>, question: impl FnOnce() -> Question) -> ConsentState {
        if self.approvals().is_none() {
            return ConsentState::Unanswered(DenyReason::Failed, String::new());
        }
        caller.consent().state_of(question())
    }

    /// The address of the approvals page that serves this guard.
    pub fn page(&self, transport: Transport) -> Page {
        match (&self.session.state, transport) {
            (Some(state), Transport::Tcp) => served(state),
            _ => Page::Down,
        }
    }

    /// Judges one file of a program's start, which is a copy of `originals`. A verdict to ask is left to the start as a
    /// whole.
    ///
    /// # Errors
    /// EACCES if it is refused.
    pub fn judge_exec<'p>(
        &'p self,
        caller: &Caller<'_>,
        exec: Exec<'_>,
        originals: &[Vec<u8>],
    ) -> Result<Verdict<'p>, Errno> {
        self.saw(exec.path, if exec.role == Role::Loader { Used::LOADED } else { Used::STARTED });
        let mut verdict = decide_program(self.policy(), exec, originals);
        // The policy in force may not know yet where a human has just let the tree write, or where another run may write.
        if verdict.outcome == Outcome::Allow
            && let Some(news) = self.session.answered_writes.news(self.policy())
        {
            let policy = self.policy().with_written(news.places());
            let Verdict { outcome, reason } = decide_program(&policy, exec, originals);
            verdict = Verdict { outcome, reason: reason.into_owned() };
        }
        if verdict.outcome != Outcome::Deny
            && let Some(reason) = self.refusal_of_floor(exec.path)
        {
            let _ = self.note(caller, Operation::Exec, exec.path, exec.argv, &reason, Outcome::Deny);
            // The call is refused even if the guard only observes: the floor would refuse the program, whatever a human
            // approves.
            return Err(Errno::ACCESS);
        }
        if verdict.outcome == Outcome::Deny {
            self.deny(caller, Operation::Exec, exec.path, exec.argv, &verdict.reason)?;
        }
        Ok(verdict)
    }

    /// Why the floor does not start a program, if it does not.
    fn refusal_of_floor(&self, program: &[u8]) -> Option<Reason<'static>> {
        if !self.floor.starts(program) {
            return Some(below_no_root(program));
        }
        let root = guard_policy::text::shown(self.floor.grants().lost_root(program)?);
        Some(builtin(format!(
            "{root} is another directory than when the guard started; start the guard anew"
        )))
    }

    /// Reports a note to the operator about a program or file that was not denied.
    pub fn remark(&self, path: &[u8], text: &str) {
        self.reporter.remark(format!("openclaw-guard: {} {text}", guard_policy::text::shown(path)));
    }

    /// Refuses for a reason outside the policy.
    ///
    /// # Errors
    /// EACCES, unless only observing.
    pub fn refuse(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        text: impl Into<Cow<'static, str>>,
    ) -> Result<(), Errno> {
        self.deny(caller, operation, path, &[], &builtin(text))
    }

    /// Refuses for this reason.
    ///
    /// # Errors
    /// EACCES, unless only observing.
    pub fn deny(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        argv: &[Vec<u8>],
        because: &Reason<'_>,
    ) -> Result<(), Errno> {
        // The call is denied whether or not the guard can log it.
        let _ = self.note(caller, operation, path, argv, because, Outcome::Deny);
        if self.session.observe && !because.is_absolute() {
            return Ok(());
        }
        caller.consent().drop_question();
        Err(Errno::ACCESS)
    }

    /// Reports the verdict, and applies it.
    ///
    /// # Errors
    /// EACCES if the verdict is to refuse.
    pub fn settle(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        argv: &[Vec<u8>],
        verdict: &Verdict<'_>,
    ) -> Result<(), Errno> {
        if verdict.outcome == Outcome::Allow {
            if [Operation::Exec, Operation::Elevated].contains(&operation) || self.reporter.wants_allowed() {
                let logged = self.note(caller, operation, path, argv, &verdict.reason, Outcome::Allow);
                if logged == Logged::No {
                    return self.deny(caller, operation, path, argv, &unlogged());
                }
            }
            return Ok(());
        }
        self.deny(caller, operation, path, argv, &verdict.reason)
    }

    /// Reports an allowed change of a file that runs outside the guard, however few allowed calls are logged.
    ///
    /// # Errors
    /// EACCES if the guard must log the change and cannot.
    pub fn log_change(&self, caller: &Caller<'_>, path: &[u8], verdict: &Verdict<'_>) -> Result<(), Errno> {
        let logged = self.note(caller, Operation::Write, path, &[], &verdict.reason, Outcome::Allow);
        match logged {
            Logged::No => self.deny(caller, Operation::Write, path, &[], &unlogged()),
            _ => Ok(()),
        }
    }

    /// Reports a question that is not asked because the session only observes.
    pub fn note_question(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        argv: &[Vec<u8>],
        reason: &Reason<'_>,
    ) {
        // The call goes on whether or not the guard can log it.
        let _ = self.note(caller, operation, path, argv, reason, Outcome::Ask);
    }

    fn note(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        argv: &[Vec<u8>],
        because: &Reason<'_>,
        outcome: Outcome,
    ) -> Logged {
        let pid = caller.process().unwrap_or(caller.tid());
        // For a program, these are the arguments with which it was to start.
        let argv = match operation {
            Operation::Exec | Operation::Elevated | Operation::ElevatedDenied => Cow::Borrowed(argv),
            _ => Cow::Owned(caller.arguments()),
        };
        // A refused caller waits anyway, so it can afford the list of ancestors; one that goes on should not wait for
        // it.
        let (chain, most) = match outcome {
            Outcome::Deny => (self.tree.chain(pid), MAX_DENIED_ARGV),
            _ => (Vec::new(), MAX_ARGV),
        };
        self.reporter.record(DecisionEvent {
            pid,
            chain,
            operation,
            path: path.to_vec(),
            argv: shortened(argv.as_ref(), most),
            outcome,
            reason: because.clone().into_owned(),
            micros: caller.held_for().as_micros() as u64,
        })
    }
}
