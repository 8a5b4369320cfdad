//! The one place where a decision is made: the policy's, within what no policy can allow.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use guard_approvals::{Approvals, DenyReason, Question, served};
use guard_openclaw::peer::process_tree::Tree;
use guard_policy::learn::Used;
use guard_policy::{
    Access, Connection, Exec, Outcome, Page, Policy, Reason, Request, Role, Source, Transport, Verdict,
    decide, decide_copy,
};
use parking_lot::Mutex;
use rustix::io::Errno;

use crate::audit::report::{Logged, Reporter};
use crate::audit::{DecisionEvent, Operation, shortened};
use crate::caller::Caller;
use crate::exec::{ContentMatcher, ExecLocks, Scripts};
use crate::judge::bound_sockets::Servers;
use crate::judge::consent::{Background, ConsentState, about_file};
use crate::judge::local_address::interface_of;
use crate::judge::recorder::Recorder;
use crate::landlock;
use crate::resolve::special_files::{Classification, classify, is_the_machines};
use crate::resolve::{Object, Resolver};

/// Everything that the handlers of one guarded tree share, with the policy by which they judge. A call has one of these
/// from its beginning to its end, so that it is judged by one policy however often that is asked.
#[derive(Clone)]
pub struct Guard {
    policy: Arc<Policy>,
    /// Walks paths.
    pub resolver: Arc<Resolver>,
    /// Who belongs to the tree.
    pub tree: Tree,
    /// Tells the operator.
    pub reporter: Reporter,
    /// `--observe`: nothing is blocked.
    pub observe: bool,
    /// Where what the tree does is recorded, if it is.
    recorder: Option<Arc<Recorder>>,
    /// Who is asked, where somebody is.
    approvals: Option<Arc<Approvals>>,
    /// The state directory; None where nobody looks for a page.
    state: Option<Arc<Path>>,
    /// The name of this run.
    session: Arc<str>,
    /// What the floor lets the kernel do by itself.
    pub floor: landlock::LandlockPlan,
    /// Whether the filter lets ptrace(2) go on.
    lets_trace: bool,
    /// Held from judgement to operation by what moves rights: rename and link.
    pub moving: Arc<Mutex<()>>,
    /// One exec of a process at a time.
    pub turns: Arc<ExecLocks>,
    /// The scripts that were approved.
    pub scripts: Arc<Scripts>,
    /// The programs that the policy withholds, wherever they are copied.
    pub copies: Arc<ContentMatcher>,
    /// The sockets that the tree has bound.
    pub servers: Arc<Servers>,
}

/// What the policy says of a program that is a copy of these: the strictest of what it says of each.
pub fn decide_program<'p>(policy: &'p Policy, exec: Exec<'_>, originals: &[Vec<u8>]) -> Verdict<'p> {
    let copies = originals.iter().map(|original| decide_copy(policy, &exec, original));
    let strictest = copies.min_by_key(|verdict| verdict.outcome);
    strictest.unwrap_or_else(|| decide(policy, &Request::Exec(exec)))
}

/// An access, as it is recorded.
fn used(access: Access, is_made: bool) -> Used {
    let written = if is_made { Used::WRITTEN | Used::MADE } else { Used::WRITTEN };
    let all = [(Access::READ, Used::READ), (Access::WRITE, written), (Access::MAP, Used::MAPPED)];
    all.into_iter()
        .filter(|(bit, _)| access.contains(*bit))
        .fold(Used::default(), |all, (_, used)| all | used)
}

/// Why a call was refused by what no policy can allow.
fn builtin(text: impl Into<Cow<'static, str>>) -> Reason<'static> {
    let text = text.into();
    Reason::new(Source::Builtin, "", text.clone(), text)
}

/// Why a call was refused that the policy allows.
fn unlogged() -> Reason<'static> {
    let text = "it cannot be logged, and audit.onError is \"deny\"";
    Reason::new(Source::Global, "audit.onError", format!("audit.onError: {text}"), text)
}

impl Guard {
    /// Puts the parts together.
    pub fn new(
        policy: Policy,
        resolver: Resolver,
        tree: Tree,
        reporter: Reporter,
        observe: bool,
        floor: landlock::LandlockPlan,
        session: &str,
    ) -> Guard {
        let policy = Arc::new(policy);
        Guard {
            lets_trace: policy.allow_ptrace() && floor.roots.is_some(),
            copies: Arc::new(ContentMatcher::new(Arc::clone(&policy))),
            policy,
            resolver: Arc::new(resolver),
            tree,
            reporter,
            observe,
            recorder: None,
            approvals: None,
            state: None,
            session: session.into(),
            floor,
            moving: Arc::default(),
            turns: Arc::default(),
            scripts: Arc::default(),
            servers: Arc::default(),
        }
    }

    /// The same, asking.
    pub fn with_approvals(self, approvals: Arc<Approvals>) -> Guard {
        Guard { approvals: Some(approvals), ..self }
    }

    /// The same, beside the page that may be served for this state directory.
    pub fn beside_page_of(self, state: &Path) -> Guard {
        Guard { state: Some(state.into()), ..self }
    }

    /// The same, recording.
    pub fn with_recorder(self, recorder: Option<Arc<Recorder>>) -> Guard {
        Guard { recorder, ..self }
    }

    /// Records what is done with a path, where that is recorded. Says whether it is.
    pub fn saw(&self, path: &[u8], used: Used) -> bool {
        self.recorder.as_ref().inspect(|recorder| recorder.saw(path, used)).is_some()
    }

    /// Whether each access must be seen, allowed or not.
    pub fn sees_all(&self) -> bool {
        self.recorder.is_some() || self.reporter.wants_allowed()
    }

    /// Who is asked; None where nobody is.
    pub fn approvals(&self) -> Option<&Arc<Approvals>> {
        self.approvals.as_ref()
    }

    /// The name of this run.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The same tree under another policy. The floor stays: the kernel has it.
    pub fn under(&self, policy: Policy) -> Guard {
        let floor = self.floor.under(&policy);
        let policy = Arc::new(policy);
        Guard { copies: Arc::new(ContentMatcher::new(Arc::clone(&policy))), policy, floor, ..self.clone() }
    }

    /// The policy by which this judges.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether members of the tree may trace each other: by the policy, now and at the start, and with a floor, which
    /// keeps tracers inside the tree (Landlock scopes ptrace) and programs below `exec.roots`.
    pub fn lets_trace(&self) -> bool {
        self.policy().allow_ptrace() && self.lets_trace
    }

    /// Whether the policy allows this without asking, for a real path whose meaning does not depend on who asks.
    pub fn allows(&self, path: &[u8], access: Access) -> bool {
        decide(self.policy(), &Request::File { path, access }).outcome == Outcome::Allow
    }

    /// Judges an access to the object or entry at the real path `path`.
    ///
    /// # Errors
    /// EACCES when it is refused.
    pub fn judge(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        object: Option<&Object>,
        access: Access,
    ) -> Result<(), Errno> {
        let writes = access.contains(Access::WRITE);
        let asked = match classify(caller, &self.tree, path, object, writes)? {
            Classification::Own => return Ok(()),
            Classification::Policy(path) => path,
            Classification::Refused(text) => return self.refuse(caller, operation, path, text),
            Classification::Hidden(text) => {
                return self.deny(caller, operation, path, &[], &Reason::unmentioned(text));
            }
        };
        // What listens at a socket tells whether it is written.
        if operation != Operation::Connect {
            self.saw(&asked, used(access, object.is_none()));
        }
        let policy = self.policy();
        let request = Request::File { path: &asked, access };
        let verdict = decide(policy, &request);
        if verdict.outcome != Outcome::Ask {
            return self.settle(caller, operation, path, &[], &verdict);
        }
        let stand =
            self.consent(caller, || about_file(&self.background(), caller, &asked, access, &verdict.because));
        if stand == ConsentState::Unasked {
            return Err(Errno::ACCESS);
        }
        let verdict = stand.verdict(verdict, |verdict| policy.fallback(&request, verdict));
        self.settle(caller, operation, path, &[], &verdict)
    }

    /// Judges a change of the object or entry at the real path `path` itself: of its name, its mode, its owner.
    ///
    /// # Errors
    /// EACCES when it is refused.
    pub fn judge_change(
        &self,
        caller: &Caller<'_>,
        path: &[u8],
        object: Option<&Object>,
    ) -> Result<(), Errno> {
        self.judge(caller, Operation::Write, path, object, Access::WRITE)?;
        match object {
            Some(object) if is_the_machines(path, object) => {
                self.refuse(caller, Operation::Write, path, "a device of the machine")
            }
            _ => Ok(()),
        }
    }

    /// Judges whether a symbolic link may come to stand at the real path `path`: not on the way to a place where nothing may
    /// be left behind, for that would be somewhere else then.
    ///
    /// # Errors
    /// EACCES when it is refused.
    pub fn judge_link(&self, caller: &Caller<'_>, path: &[u8]) -> Result<(), Errno> {
        match self.policy().keeps_below(path) {
            Some(because) => self.deny(caller, Operation::Write, path, &[], &because),
            None => Ok(()),
        }
    }

    /// What of it is in a question.
    pub fn background(&self) -> Background<'_> {
        Background { policy: self.policy(), session: self.session(), tree: &self.tree }
    }

    /// How a call that is to be asked for stands. Unasked, it is to be refused for now, without a word.
    pub fn consent(&self, caller: &Caller<'_>, question: impl FnOnce() -> Question) -> ConsentState {
        if self.approvals.is_none() {
            return ConsentState::Unanswered(DenyReason::Failed, String::new());
        }
        caller.consent().state_of(question())
    }

    /// Refuses an object that no policy can open to the caller: the source of a link.
    ///
    /// # Errors
    /// EACCES.
    pub fn judge_place(&self, caller: &Caller<'_>, path: &[u8], object: &Object) -> Result<(), Errno> {
        match classify(caller, &self.tree, path, Some(object), true)? {
            Classification::Refused(text) | Classification::Hidden(text) => {
                self.refuse(caller, Operation::Write, path, text)
            }
            Classification::Own | Classification::Policy(_) => Ok(()),
        }
    }

    /// Where the approvals page is that answers for this guard.
    pub fn page(&self, transport: Transport) -> Page {
        match (&self.state, transport) {
            (Some(state), Transport::Tcp) => served(state),
            _ => Page::Down,
        }
    }

    /// Judges a connection of a socket, with the approvals page there.
    ///
    /// # Errors
    /// EACCES when it is refused.
    pub fn judge_connection(
        &self,
        caller: &Caller<'_>,
        address: SocketAddr,
        transport: Transport,
        page: Page,
    ) -> Result<(), Errno> {
        let policy = self.policy();
        let interface = interface_of(policy, address, page);
        let connection = Connection { address, transport, interface, page };
        let verdict = decide(policy, &Request::Connect(connection));
        self.settle(caller, Operation::Connect, address.to_string().as_bytes(), &[], &verdict)
    }

    /// Judges that a socket listens somewhere.
    ///
    /// # Errors
    /// EACCES when it is refused.
    pub fn judge_bind(
        &self,
        caller: &Caller<'_>,
        address: SocketAddr,
        transport: Transport,
    ) -> Result<(), Errno> {
        let request = Request::Bind { address, transport, page: self.page(transport) };
        let verdict = decide(self.policy(), &request);
        self.settle(caller, Operation::Bind, address.to_string().as_bytes(), &[], &verdict)
    }

    /// Judges one file of the start of a program, which is a copy of these. What is to be asked is left to the whole of the
    /// start.
    ///
    /// # Errors
    /// EACCES when it is refused.
    pub fn judge_exec<'p>(
        &'p self,
        caller: &Caller<'_>,
        exec: Exec<'_>,
        originals: &[Vec<u8>],
    ) -> Result<Verdict<'p>, Errno> {
        self.saw(exec.path, if exec.role == Role::Loader { Used::LOADED } else { Used::STARTED });
        let verdict = decide_program(self.policy(), exec, originals);
        if verdict.outcome != Outcome::Deny && !self.floor.starts(exec.path) {
            let path = exec.path;
            let directory = path.iter().rposition(|&byte| byte == b'/').map_or(&path[..0], |at| &path[..at]);
            let text =
                format!("not below exec.roots; add \"{}\" there", guard_policy::text::shown(directory));
            let _ = self.note(caller, Operation::Exec, path, exec.argv, &builtin(text), Outcome::Deny);
            // Even when only observing: the floor would refuse it, whoever approves.
            return Err(Errno::ACCESS);
        }
        if verdict.outcome == Outcome::Deny {
            self.deny(caller, Operation::Exec, exec.path, exec.argv, &verdict.because)?;
        }
        Ok(verdict)
    }

    /// Tells the operator something about a program or file that was not denied.
    pub fn remark(&self, path: &[u8], text: &str) {
        self.reporter.remark(format!("openclaw-guard: {} {text}", guard_policy::text::shown(path)));
    }

    /// Refuses for a reason that is not the policy's.
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

    fn deny(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        argv: &[Vec<u8>],
        because: &Reason<'_>,
    ) -> Result<(), Errno> {
        // It is denied whether that is logged or not.
        let _ = self.note(caller, operation, path, argv, because, Outcome::Deny);
        if self.observe && !because.is_absolute() { Ok(()) } else { Err(Errno::ACCESS) }
    }

    /// Tells what was decided, and does it.
    ///
    /// # Errors
    /// EACCES where that is to refuse.
    pub fn settle(
        &self,
        caller: &Caller<'_>,
        operation: Operation,
        path: &[u8],
        argv: &[Vec<u8>],
        verdict: &Verdict<'_>,
    ) -> Result<(), Errno> {
        if verdict.outcome == Outcome::Allow {
            if operation == Operation::Exec || self.reporter.wants_allowed() {
                let logged = self.note(caller, operation, path, argv, &verdict.because, Outcome::Allow);
                if logged == Logged::No {
                    return self.deny(caller, operation, path, argv, &unlogged());
                }
            }
            return Ok(());
        }
        self.deny(caller, operation, path, argv, &verdict.because)
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
        // Of a program, those with which it was to start.
        let argv = match operation {
            Operation::Exec => Cow::Borrowed(argv),
            _ => Cow::Owned(caller.arguments()),
        };
        // A caller that is refused waits for us anyway; one that goes on should not.
        let chain = if outcome == Outcome::Deny { self.tree.chain(pid) } else { Vec::new() };
        self.reporter.record(DecisionEvent {
            pid,
            chain,
            operation,
            path: path.to_vec(),
            argv: shortened(argv.as_ref()),
            outcome,
            because: because.clone().into_owned(),
            micros: caller.held_for().as_micros() as u64,
        })
    }
}
