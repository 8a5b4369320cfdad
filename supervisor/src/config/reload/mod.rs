//! A policy that changes while its tree runs.
//!
//! guard.json and the approvals stores are read again when their file changes and at SIGHUP to the supervisor. What is
//! right is in force for the calls that come in after; what is wrong changes nothing. Before a human is asked a worker has
//! the stores read again ([`Reload::catch_up`]): another guard may have saved the answer a moment ago. The tree cannot
//! write the files, nor replace a directory on their real paths, for what is in there is denied, nor send the supervisor a
//! signal.

mod stamp;
#[cfg(test)]
mod tests;
mod watch;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_approvals::Settings;
use guard_openclaw::approvals_store::{self, Stores};
use guard_openclaw::gateway::{self, SyncThread};
use guard_policy::Policy;
use guard_policy::approval::GatewayUrl;
use guard_policy::text::shown;
use guard_shim::failpoints::{Fallible, fail_point};
use parking_lot::{Mutex, MutexGuard};

pub use watch::Watch;

use crate::audit::PolicyChange;
use crate::audit::report::Reporter;
use crate::config::options::Options;
use crate::config::{self, Disk, Paths, SetupError};
use crate::judge::active::Current;
use crate::judge::guard::Guard;
use crate::panics::{caught, restart_on_panic};
use stamp::Stamp;
use watch::ReloadCause;

/// Where the policy in force comes from.
#[derive(Debug)]
pub struct PolicySource {
    /// The command line.
    pub options: Options,
    /// Where things were at the start.
    pub places: Paths,
    /// The text that is in force; None for the built-in policy.
    pub text: Option<Vec<u8>>,
    /// The approvals stores that are in force.
    pub stores: Stores,
}

impl PolicySource {
    /// The files that it is read from, by their real paths.
    pub fn files(&self) -> Vec<PathBuf> {
        let [openclaws, own, gateways] = self.stores();
        vec![self.places.policy_file.clone(), openclaws, own, gateways]
    }

    fn stores(&self) -> [PathBuf; 3] {
        let state = &self.places.state_directory;
        [state.join(approvals_store::NAME), approvals_store::own(state), approvals_store::gateways(state)]
    }
}

/// Reads the policy again; all clones are one.
#[derive(Clone)]
pub struct Reload {
    reader: Arc<Mutex<PolicyReader>>,
    follower: SyncThread,
}

struct PolicyReader {
    source: PolicySource,
    /// The text that was looked at last: one that was found wrong is told of once.
    seen: Option<Vec<u8>>,
    /// The same of the stores.
    seen_stores: [Option<Vec<u8>>; 3],
    /// The stores' files when they were looked at last; `None` where they must be looked at again.
    stamps: Option<[Stamp; 3]>,
    current: Arc<Current>,
    follower: SyncThread,
    reporter: Reporter,
}

impl Reload {
    /// Of the policy that `current` has. What a gateway says comes by the follower.
    pub fn new(
        source: PolicySource,
        current: Arc<Current>,
        reporter: Reporter,
        follower: SyncThread,
    ) -> Reload {
        let seen = source.text.clone();
        let seen_stores = Default::default();
        let stamps = None;
        follower.follow(current.guard().policy());
        let reader =
            PolicyReader { source, seen, seen_stores, stamps, current, follower: follower.clone(), reporter };
        Reload { reader: Arc::new(Mutex::new(reader)), follower }
    }

    /// Starts the thread that waits for changes, and first looks for those that there were.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn watch(self, mut watch: Watch) -> std::io::Result<()> {
        let reporter = self.reader().reporter.clone();
        let look = move || {
            watch.attend();
            // What has changed between the first look and the watch.
            self.reader().check(ReloadCause::Changed);
            loop {
                let wake = watch.next();
                self.reader().check(wake);
            }
        };
        // The policy that was in force stays.
        let work = move || restart_on_panic(look, |fault| reporter.fault(fault, None));
        std::thread::Builder::new().name("policy".into()).spawn(work).map(drop)
    }

    /// Makes sure that what the approvals stores say now is in force. Where nothing has changed that is two looks at their
    /// inodes. For many threads at once: one reads, the others wait for it.
    pub fn catch_up(&self) {
        // Not under the lock: many may wait for one answer of the gateway.
        self.follower.look();
        let mut reader = self.reader();
        let stamps = reader.source.stores().map(|file| Stamp::read(&file));
        if reader.stamps.as_ref() != Some(&stamps) {
            // Somebody may still be writing: what is wrong is told of when the file has come to rest.
            reader.reload_stores(ReloadCause::Changing);
        }
    }

    fn reader(&self) -> MutexGuard<'_, PolicyReader> {
        // Whoever panicked has put nothing in force by halves.
        self.reader.lock()
    }
}

impl PolicyReader {
    fn check(&mut self, wake: ReloadCause) {
        let text = self.new_text(wake);
        let stores = self.new_stores(wake);
        // A policy that makes the compiler panic is wrong like any other, and not tried for ever.
        let error = match caught(|| self.apply(text.clone(), stores.clone())) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => first(&error),
            Err(fault) => fault.to_string(),
        };
        if wake == ReloadCause::Changing {
            // Somebody is still writing it, perhaps.
            return;
        }
        self.seen = text;
        self.refuse(&error, &self.source.places.policy_file);
        // What was in force compiles with any store.
        let _ = self.apply(None, stores);
    }

    fn reload_stores(&mut self, wake: ReloadCause) {
        let stores = self.new_stores(wake);
        let _ = self.apply(None, stores);
    }

    /// The text of guard.json, if it is another one or is asked for.
    fn new_text(&mut self, wake: ReloadCause) -> Option<Vec<u8>> {
        let is_asked = wake == ReloadCause::Asked;
        let gone = match config::read(&self.source.places, guard_openclaw::plain_file::read) {
            Ok(Some(text)) => return Some(text).filter(|text| is_asked || self.seen.as_ref() != Some(text)),
            Ok(None) if self.source.text.is_none() => {
                if is_asked {
                    let path = shown_path(&self.source.places);
                    let line =
                        format!("openclaw-guard: there is no {path}; the built-in policy stays in force");
                    self.reporter.news(line);
                }
                return None;
            }
            // One that is removed is no order to do without.
            Ok(None) => format!("{} is gone", shown_path(&self.source.places)),
            Err(error) => error.to_string(),
        };
        // Told once: there is no text to compare.
        if self.seen.take().is_some() || is_asked {
            self.refuse(&gone, &self.source.places.policy_file);
        }
        None
    }

    /// The stores, if one of them is another one.
    fn new_stores(&mut self, wake: ReloadCause) -> Option<Stores> {
        // Before they are read: a change after that is another one.
        let stamps = self.source.stores().map(|file| Stamp::read(&file));
        let (openclaw, own) = (self.new_openclaw(wake), self.new_own(wake));
        let [openclaw_is_settled, own_is_settled] = [&openclaw, &own].map(Result::is_ok);
        self.stamps = (openclaw_is_settled && own_is_settled).then_some(stamps);
        match (openclaw.unwrap_or_default(), own.unwrap_or_default(), self.new_gateways()) {
            (None, None, None) => None,
            (openclaw, own, gateways) => {
                let before = &self.source.stores;
                Some(Stores {
                    openclaw: openclaw.unwrap_or_else(|| before.openclaw.clone()),
                    own: own.unwrap_or_else(|| before.own.clone()),
                    gateways: gateways.unwrap_or_else(|| before.gateways.clone()),
                })
            }
        }
    }

    /// OpenClaw's store, if it is another one. One that is broken denies every start of a tree; a tree that runs keeps what
    /// it has, and so it does with one that is removed.
    fn new_openclaw(&mut self, wake: ReloadCause) -> Result<Option<approvals_store::File>, Unsettled> {
        let [file, ..] = self.source.stores();
        let bytes = guard_openclaw::plain_file::read(&file).ok();
        if bytes == self.seen_stores[0] {
            return Ok(None);
        }
        let store = approvals_store::load(&self.source.places.state_directory);
        let had = matches!(self.source.stores.openclaw, approvals_store::File::Present(_));
        let problem = match &store {
            // As at the start.
            store if *store == self.source.stores.openclaw => {
                self.seen_stores[0] = bytes;
                return Ok(None);
            }
            approvals_store::File::Broken(line) => line.clone(),
            approvals_store::File::Absent | approvals_store::File::Elsewhere if had => {
                format!("{} is gone", file.display())
            }
            _ => {
                self.seen_stores[0] = bytes;
                return Ok(Some(store));
            }
        };
        if wake == ReloadCause::Changing {
            return Err(Unsettled);
        }
        self.seen_stores[0] = bytes;
        self.refuse(&problem, &file);
        Ok(None)
    }

    /// The guard's own store, if it is another one. It can only allow: what is gone or broken does so no more.
    fn new_own(&mut self, wake: ReloadCause) -> Result<Option<approvals_store::File>, Unsettled> {
        let [_, file, _] = self.source.stores();
        let bytes = guard_openclaw::plain_file::read(&file).ok();
        if bytes == self.seen_stores[1] {
            return Ok(None);
        }
        let store = approvals_store::load_own(&self.source.places.state_directory);
        if wake == ReloadCause::Changing && matches!(store, approvals_store::File::Broken(_)) {
            return Err(Unsettled);
        }
        self.seen_stores[1] = bytes;
        Ok((store != self.source.stores.own).then_some(store))
    }

    /// What the gateway said, if it is something else. It is replaced as a whole, so what cannot be read is no half of
    /// anything; a tree that runs keeps what it has, and so it does where the file is gone or of another gateway.
    fn new_gateways(&mut self) -> Option<approvals_store::Gateways> {
        let [_, _, file] = self.source.stores();
        let bytes = guard_openclaw::plain_file::read(&file).ok();
        if bytes == self.seen_stores[2] {
            return None;
        }
        let known = approvals_store::load_gateways(&self.source.places.state_directory);
        self.seen_stores[2] = bytes;
        if known == self.source.stores.gateways {
            return None;
        }
        let policy = self.current.guard();
        let asked = policy.policy().approvals().gateway();
        let url = asked.url().map(GatewayUrl::as_str);
        let had = approvals_store::governing(&self.source.stores.gateways, url).is_ok();
        match approvals_store::governing(&known, url) {
            Err(why) if asked.admin() && had => {
                self.refuse(&why, &file);
                None
            }
            _ => Some(known),
        }
    }

    /// Puts what is new in force.
    fn apply(&mut self, text: Option<Vec<u8>>, stores: Option<Stores>) -> Result<(), SetupError> {
        if text.is_none() && stores.is_none() {
            return Ok(());
        }
        let PolicySource { options, places, .. } = &self.source;
        let now = text.as_deref().or(self.source.text.as_deref());
        let mut beside = stores.unwrap_or_else(|| self.source.stores.clone());
        let compile = |beside: &Stores| config::compile(options, places, Disk::Used, now, beside);
        let mut policy = compile(&beside)?;
        if text.is_some() && policy.approvals().gateway().admin() {
            // What it says governs from the beginning.
            let asked = gateway::ask_first(&policy, &places.state_directory);
            beside.gateways = approvals_store::load_gateways(&places.state_directory);
            policy = compile(&beside)?;
            if let Err(why) = asked {
                self.reporter.problem(format!("openclaw-guard: {}", shown(why.as_bytes())));
            }
        }
        fail_point(Fallible::Policy, now.unwrap_or_default());
        let before = self.current.guard();
        if !before.floor.is_kept_by(&policy) {
            return Err(SetupError::TakesFromKernel);
        }
        let mut lines = remains(&before, &policy);
        let old = before.policy();
        lines.extend(policy.warnings().iter().filter(|warning| !old.warnings().contains(warning)).cloned());
        // OpenClaw notes each use of an entry in its store: that is no news.
        let is_news = text.is_some() || !lines.is_empty() || policy.explain(None) != old.explain(None);
        // Somebody has just said it, and need not be told.
        let is_theirs = beside.openclaw != self.source.stores.openclaw;
        let is_gateways = beside.gateways != self.source.stores.gateways;
        let is_answer = text.is_none() && !is_theirs && !is_gateways;
        if let Some(approvals) = before.approvals() {
            approvals.manager().configure(Settings::from_policy(&policy));
        }
        self.follower.follow(&policy);
        self.current.replace(before.under(policy));
        let file = match text {
            Some(text) => {
                self.seen = Some(text.clone());
                self.source.text = Some(text);
                self.source.places.policy.clone()
            }
            None if is_answer => approvals_store::own(&self.source.places.state_directory),
            None if is_gateways => approvals_store::gateways(&self.source.places.state_directory),
            None => self.source.places.state_directory.join(approvals_store::NAME),
        };
        self.source.stores = beside;
        if is_news {
            if !is_answer {
                let path = shown(file.as_os_str().as_bytes());
                self.reporter.news(format!("openclaw-guard: {path} was read again and is in force"));
            }
            for line in &lines {
                self.reporter.news(format!("openclaw-guard: {}", shown(line.as_bytes())));
            }
            self.note(true, lines.join("; "), &file);
        }
        Ok(())
    }

    fn refuse(&self, problem: &str, file: &Path) {
        let problem = shown(problem.as_bytes());
        self.reporter.problem(format!("openclaw-guard: {problem}; the policy that was in force stays"));
        self.note(false, problem, file);
    }

    fn note(&self, applied: bool, text: String, file: &Path) {
        let path = file.display().to_string();
        self.reporter.changed(PolicyChange { path, applied, text });
    }
}

/// A file that may be written just now.
struct Unsettled;

/// The first problem of many.
fn first(error: &SetupError) -> String {
    match error {
        SetupError::Invalid(problems) => {
            let more = problems.len().saturating_sub(1);
            let first = problems.first().map(ToString::to_string).unwrap_or_default();
            if more > 0 { format!("{first} (and {more} more)") } else { first }
        }
        other => other.to_string(),
    }
}

fn shown_path(places: &Paths) -> String {
    shown(places.policy.as_os_str().as_bytes())
}

/// What a new policy says that a running tree cannot be given.
fn remains(guard: &Guard, policy: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    let outside: Vec<String> = policy
        .exec_roots()
        .iter()
        .filter(|root| !guard.floor.starts(root))
        .map(|root| format!("\"{}\"", shown(root)))
        .collect();
    if !outside.is_empty() {
        let roots = outside.join(", ");
        lines.push(format!("exec.roots: programs in {roots} can start only after a restart of the guard"));
    }
    if guard.floor.is_less_than(policy) {
        let line = "permissions.filesystem: what it newly allows of what is not held (`openclaw-guard policy show --tiers`) \
                    counts only after a restart of the guard";
        lines.push(line.to_owned());
    }
    if policy.tcp_ports() != guard.policy().tcp_ports() && guard.floor.roots.is_some() {
        let line = "network.connect.ports: in force; the floor below keeps those of the start until a restart of the guard";
        lines.push(line.to_owned());
    }
    if policy.allow_ptrace() != guard.policy().allow_ptrace() {
        lines.push("exec.allowPtrace: counts in full only after a restart of the guard".to_owned());
    }
    if policy.audit() != guard.policy().audit() {
        lines.push("audit: counts only after a restart of the guard".to_owned());
    }
    if !policy.hands_in_the_same(guard.policy()) {
        lines.push(
            "exec.environment, exec.pathPrepend: count for commands started after a restart".to_owned(),
        );
    }
    lines
}
