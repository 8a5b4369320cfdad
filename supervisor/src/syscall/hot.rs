//! The calls that programs make most, each repeated as often as requested. `make bench-check` counts their
//! instructions.
//!
//! `GUARD_HOT=NAME:CALLS` makes this a driver. It prints its thread ID on stderr and waits for a line. Then it makes
//! `CALLS` calls, and after them three times `CALLS`, and raises SIGUSR2 before, between and after the two runs. The
//! difference of the two counts is the cost of the calls alone. The fake plays the kernel's side of the caller; the
//! files are real.

use std::hint::black_box;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use guard_openclaw::peer::process_tree::Tree;
use guard_policy::{Access, Hierarchy, HierarchyKind, Outcome, Policy, Request as Question, decide};
use nix::sys::signal::{Signal, raise};
use rustix::io::Errno;

use super::tests::SyscallFixture;
use super::{Request, handle};
use crate::caller::Caller;
use crate::kernel::fake::Fake;
use crate::landlock::{Grants, HeldCall, LandlockPlan, Untrapped};
use crate::reply::{ContinueReason, Reply, send};
use crate::worker::Worker;

const NAMES: [&str; 6] =
    ["open-absolute", "open-relative", "open-floored", "open-missing", "open-denied", "decide"];

/// One kind of call, ready to run.
struct Hot {
    fixture: SyscallFixture,
    kernel: Fake,
    name: &'static str,
    worker: Worker,
}

impl Hot {
    fn new(name: &'static str) -> Hot {
        // The ancestors listed in a denial end here, wherever the tests are started from.
        let parent = nix::unistd::getppid().as_raw();
        let mut fixture = SyscallFixture::with_tree(Tree {
            reaper: parent,
            supervisor: parent,
            front: parent,
            leader: None,
        });
        let root = fixture.root().canonicalize().unwrap();
        let below = |path: &str| root.join(path).to_str().unwrap().to_owned();
        let path = match name {
            "open-relative" => "open/file".to_owned(),
            "open-missing" => below("open/missing"),
            "open-denied" => below("shut/file"),
            _ => below("open/file"),
        };
        if name == "open-floored" {
            fixture.guard.floor = floored(&root.join("open"), fixture.guard.policy());
        }
        let kernel = Fake::new(&root, &[&path]);
        Hot { fixture, kernel, name, worker: Worker::alone() }
    }

    /// Makes the call once. Panics if the reply is not the expected one.
    fn once(&self) {
        if self.name == "decide" {
            let path = self.kernel.memory[&0x1000].split_last().unwrap().1;
            let question = Question::File { path: black_box(path), access: Access::READ };
            assert!(decide(self.fixture.guard.policy(), &question).outcome == Outcome::Allow);
            return;
        }
        let call = Fake::call(libc::SYS_openat, &[libc::AT_FDCWD as u64, 0x1000, libc::O_RDONLY as u64]);
        let caller = Caller::new(&self.kernel, black_box(call));
        let outcome = handle(&Request { guard: &self.fixture.guard, caller: &caller, worker: &self.worker });
        let right = match self.name {
            "open-missing" => matches!(outcome, Err(Errno::NOENT)),
            "open-denied" => matches!(outcome, Err(Errno::ACCESS)),
            "open-floored" => matches!(outcome, Ok(Reply::Continue(ContinueReason::Floored))),
            _ => matches!(outcome, Ok(Reply::Descriptor { .. })),
        };
        assert!(right, "{}: {outcome:?}", self.name);
        send(&caller, outcome);
        // The fake's record would grow and use up descriptors.
        self.kernel.installed.lock().unwrap().clear();
        self.kernel.answers.lock().unwrap().clear();
    }

    fn times(&self, calls: usize) {
        (0..calls).for_each(|_| self.once());
    }
}

/// A Landlock floor that grants what the policy allows.
fn floored(directory: &Path, policy: &Policy) -> LandlockPlan {
    let path = directory.as_os_str().as_bytes().to_vec();
    let access = Access::READ | Access::WRITE;
    let (grants, _) = Grants::open(vec![Hierarchy { path, access, kind: HierarchyKind::Directory }], 1);
    let roots = Some(vec![directory.to_owned()]);
    LandlockPlan::new(roots, Arc::new(grants), HeldCall::Floored, Untrapped::default(), policy)
}

#[test]
fn the_hottest_calls_are_answered_again_and_again() {
    let Ok(requested) = std::env::var("GUARD_HOT") else {
        return NAMES.into_iter().for_each(|name| Hot::new(name).times(3));
    };
    let (requested, calls) = requested.split_once(':').expect("GUARD_HOT is NAME:CALLS");
    let name = NAMES.into_iter().find(|name| *name == requested).expect("a name that is known");
    let calls: usize = calls.parse().expect("a number of calls");
    let hot = Hot::new(name);
    // Warm up, so that one-time work is not counted.
    hot.times(3);
    writeln!(std::io::stderr().lock(), "{}", nix::unistd::gettid()).expect("somebody counts");
    std::io::stdin().read_line(&mut String::new()).expect("whoever counts says when");
    for count in [calls, 3 * calls] {
        raise(Signal::SIGUSR2).unwrap();
        hot.times(count);
    }
    raise(Signal::SIGUSR2).unwrap();
}
