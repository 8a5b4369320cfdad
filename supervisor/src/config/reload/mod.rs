//! Re-reads the policy while its tree runs.
//!
//! guard.json and the approvals stores are read again when one of the files changes, and when the supervisor gets
//! SIGHUP. A valid policy applies to the calls that come in afterwards; an invalid one changes nothing. Before a human
//! is asked, a worker has the stores read again ([`Reload::catch_up`]): another guard may just have saved the answer.
//! The tree cannot trigger or fake a reload: it may not write the files, replace a directory on their real paths, or
//! signal the supervisor. The text in force is compiled again when a path of it leads elsewhere (`elsewhere.rs`). The tree can
//! cause that by links of its own, which no rule follows.

mod elsewhere;
mod remains;
pub(super) mod stamp;
#[cfg(test)]
mod tests;
mod watch;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_approvals::Settings;
use guard_openclaw::approvals_store::{self, Stores};
use guard_openclaw::gateway::{self, SyncThread};
use guard_policy::approval::GatewayUrl;
use guard_policy::text::shown;
use guard_shim::failpoints::{Fallible, fail_point};
use parking_lot::{Mutex, MutexGuard};

pub use stamp::{Stamp, Stamps};
pub use watch::Watch;

use crate::audit::PolicyChange;
use crate::audit::report::Reporter;
use crate::config::followed_names::Followed;
use crate::config::options::Options;
use crate::config::paths::KnownRuns;
use crate::config::realpath::Links;
use crate::config::{self, Paths, SetupError, files_of_runs, workspace_record};
use crate::judge::active::Current;
use crate::panics::{caught, restart_on_panic};
use remains::remains;
use watch::ReloadCause;

/// Where the policy in force comes from.
#[derive(Debug)]
pub struct PolicySource {
    /// The command line.
    pub options: Options,
    /// The paths found at the start.
    pub paths: Paths,
    /// The text of the policy in force; None for the built-in policy.
    pub text: Option<Vec<u8>>,
    /// The approvals stores in force.
    pub stores: Stores,
    /// What the policy in force was compiled through.
    pub followed: Followed,
}

impl PolicySource {
    /// Returns the real paths of the files that the policy is read from.
    pub fn files(&self) -> Vec<PathBuf> {
        let names = [files_of_runs::NAME, workspace_record::NAME];
        let records = self.paths.records().into_iter().map(|state| state.join("guard"));
        let records = records.flat_map(|directory| names.map(|name| directory.join(name)));
        self.paths.policy_and_stores().into_iter().chain(records).collect()
    }

    fn stores(&self) -> [PathBuf; 3] {
        let [_, stores @ ..] = self.paths.policy_and_stores();
        stores
    }
}

/// Re-reads the policy. All clones share one reader.
#[derive(Clone)]
pub struct Reload {
    reader: Arc<Mutex<PolicyReader>>,
    sync_thread: SyncThread,
    is_over: Arc<AtomicBool>,
}

struct PolicyReader {
    source: PolicySource,
    /// The text read last: an invalid text is reported only once.
    seen: Option<Vec<u8>>,
    /// Why the text could not be read when that was reported last, for the same reason.
    unread: Option<String>,
    /// Why the policy did not follow where its paths lead when that was reported last.
    unfollowed: Option<String>,
    /// The directory that could not be searched when the policy was compiled last.
    as_before: Option<PathBuf>,
    /// The stores' contents read last, for the same reason.
    seen_stores: [Option<Vec<u8>>; 3],
    /// The stamps of the stores' files at the last read; `None` if they must be read again.
    stamps: Option<[Stamp; 3]>,
    current: Arc<Current>,
    sync_thread: SyncThread,
    reporter: Reporter,
    /// Whether this process is about to end.
    is_over: Arc<AtomicBool>,
}

impl Reload {
    /// Creates a reader for the policy in `current`, and has `sync_thread` fetch the gateway's approvals for it.
    pub fn new(
        source: PolicySource,
        current: Arc<Current>,
        reporter: Reporter,
        sync_thread: SyncThread,
    ) -> Reload {
        let seen = source.text.clone();
        let seen_stores = Default::default();
        let stamps = None;
        sync_thread.follow(current.guard().policy());
        let is_over = Arc::<AtomicBool>::default();
        let reader = PolicyReader {
            source,
            seen,
            unread: None,
            unfollowed: None,
            as_before: None,
            seen_stores,
            stamps,
            current,
            sync_thread: sync_thread.clone(),
            reporter,
            is_over: Arc::clone(&is_over),
        };
        Reload { reader: Arc::new(Mutex::new(reader)), sync_thread, is_over }
    }

    /// Starts the thread that waits for changes; it first checks for changes that happened before.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn watch(self, mut watch: Watch) -> std::io::Result<()> {
        let reporter = self.reader().reporter.clone();
        let look = move || {
            // The pause lets the command start first. The check then finds changes that happened before the watch.
            watch.pause();
            self.reader().check(ReloadCause::Changed);
            loop {
                let wake = watch.next();
                self.reader().check(wake);
            }
        };
        // After a panic the policy in force stays.
        let work = move || restart_on_panic(look, |fault| reporter.fault(fault, None));
        std::thread::Builder::new().name("policy".into()).spawn(work).map(drop)
    }

    /// Asks the gateway if it governs, and puts the current contents of the approvals stores in force. If no file has
    /// changed, that costs one lstat(2) for each file. Many threads may call this at once: one reads, the others wait
    /// for it.
    pub fn catch_up(&self) {
        // The gateway is not asked under the lock, because many threads may wait for one answer from it.
        self.sync_thread.look();
        let mut reader = self.reader();
        let stamps = reader.source.stores().map(|file| Stamp::read(&file));
        if reader.stamps.as_ref() != Some(&stamps) {
            // The file may still be in the middle of a write: problems are reported once it is settled.
            reader.reload_stores(ReloadCause::Changing);
        }
    }

    /// Puts nothing in force from now on, because this process ends: not even what the process itself still writes.
    /// Does not wait.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    fn reader(&self) -> MutexGuard<'_, PolicyReader> {
        // A panic cannot leave a half-applied policy: it is replaced in one step.
        self.reader.lock()
    }
}

impl PolicyReader {
    fn check(&mut self, wake: ReloadCause) {
        self.check_files(wake);
        // If the files have brought another policy, it follows already.
        self.follow();
    }

    fn check_files(&mut self, wake: ReloadCause) {
        let text = self.new_text(wake);
        let mut stores = self.new_stores(wake);
        // Another guard may have started. Its policy or log may be where this tree may write, or its tree may write
        // what this tree runs.
        let known_runs = self.source.paths.look_at_runs();
        if known_runs.is_some() && stores.is_none() {
            stores = Some(self.source.stores.clone());
        }
        // A policy that makes the compiler panic counts as invalid, and is not tried again.
        let error = match caught(|| self.apply(text.clone(), stores.clone(), None)) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => first(&error),
            Err(fault) => fault.to_string(),
        };
        if wake == ReloadCause::Changing {
            // The text may still be in the middle of a write.
            self.forget_runs(known_runs);
            return;
        }
        self.seen = text;
        self.refuse(&error, &self.source.paths.policy_file);
        // The text in force compiles with any store.
        if self.apply(None, stores, None).is_err() {
            self.forget_runs(known_runs);
        }
    }

    /// Takes back what was read of runs, because the policy in force does not have it. The next look must find it as news again.
    fn forget_runs(&mut self, known: Option<KnownRuns>) {
        if let Some(known) = known {
            self.source.paths.set_runs(known);
        }
    }

    fn reload_stores(&mut self, wake: ReloadCause) {
        let stores = self.new_stores(wake);
        let _ = self.apply(None, stores, None);
    }

    /// Returns the text of guard.json if it has changed, or if the operator asked for a reload.
    fn new_text(&mut self, wake: ReloadCause) -> Option<Vec<u8>> {
        let is_asked = wake == ReloadCause::Asked;
        // A link that was made since the start may lead to a file that the tree writes.
        let gone = match config::read(&self.source.paths, guard_openclaw::plain_file::read_without_links) {
            Ok(Some(text)) => {
                self.unread = None;
                return Some(text).filter(|text| is_asked || self.seen.as_ref() != Some(text));
            }
            Ok(None) if self.source.text.is_none() => {
                if is_asked {
                    let path = shown_path(&self.source.paths);
                    let line =
                        format!("openclaw-guard: there is no {path}; the built-in policy stays in force");
                    self.reporter.notice(line);
                }
                self.unread = None;
                return None;
            }
            // A removed policy does not mean that the built-in one should apply.
            Ok(None) => format!("{} is gone", shown_path(&self.source.paths)),
            Err(error) => error.to_string(),
        };
        // Reported once. What comes back counts as new.
        self.seen = None;
        if is_asked || self.unread.as_ref() != Some(&gone) {
            self.refuse(&gone, &self.source.paths.policy_file);
            self.unread = Some(gone);
        }
        None
    }

    /// Returns the stores if one of them has changed.
    fn new_stores(&mut self, wake: ReloadCause) -> Option<Stores> {
        // The stamps are taken before the read, so that a later change is noticed.
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

    /// Returns OpenClaw's store if it has changed. A broken store denies every program when a tree starts; a
    /// running tree keeps the store in force, also if the file is removed.
    fn new_openclaw(&mut self, wake: ReloadCause) -> Result<Option<approvals_store::File>, Unsettled> {
        let [file, ..] = self.source.stores();
        let bytes = guard_openclaw::plain_file::read(&file).ok();
        if bytes == self.seen_stores[0] {
            return Ok(None);
        }
        let store = approvals_store::load(&self.source.paths.state_directory);
        let had = matches!(self.source.stores.openclaw, approvals_store::File::Present(_));
        let problem = match &store {
            // Same as the store in force.
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

    /// Returns the guard's own store if it has changed. The store can only allow, so a missing or broken store allows
    /// nothing.
    fn new_own(&mut self, wake: ReloadCause) -> Result<Option<approvals_store::File>, Unsettled> {
        let [_, file, _] = self.source.stores();
        let bytes = guard_openclaw::plain_file::read(&file).ok();
        if bytes == self.seen_stores[1] {
            return Ok(None);
        }
        let store = approvals_store::load_own(&self.source.paths.state_directory);
        if wake == ReloadCause::Changing && matches!(store, approvals_store::File::Broken(_)) {
            return Err(Unsettled);
        }
        self.seen_stores[1] = bytes;
        Ok((store != self.source.stores.own).then_some(store))
    }

    /// Returns the saved answer of the gateway if it has changed. The file is replaced as a whole, so an
    /// unreadable one is not a partial write. A running tree keeps the answer in force if the file is broken,
    /// missing or of another gateway.
    fn new_gateways(&mut self) -> Option<approvals_store::Gateways> {
        let [_, _, file] = self.source.stores();
        let bytes = guard_openclaw::plain_file::read(&file).ok();
        if bytes == self.seen_stores[2] {
            return None;
        }
        let known = approvals_store::load_gateways(&self.source.paths.state_directory);
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
                self.refuse(&why.to_string(), &file);
                None
            }
            _ => Some(known),
        }
    }

    /// Puts new text, new stores or both in force. The caller has read them. `elsewhere` is a name for which nothing but a
    /// path of the policy leads elsewhere.
    fn apply(
        &mut self,
        text: Option<Vec<u8>>,
        stores: Option<Stores>,
        elsewhere: Option<&Path>,
    ) -> Result<(), SetupError> {
        if (text.is_none() && stores.is_none()) || self.is_over.load(Ordering::SeqCst) {
            return Ok(());
        }
        let PolicySource { options, paths, .. } = &self.source;
        let now = text.as_deref().or(self.source.text.as_deref());
        let mut beside = stores.unwrap_or_else(|| self.source.stores.clone());
        let earlier = self.source.followed.earlier();
        let compile = |beside: &Stores| {
            let in_force = self.current.guard();
            // The tree makes no link on the way to what is denied or protected.
            let is_trees = move |link: &[u8]| {
                in_force.policy().writable_unasked(link) && in_force.policy().keeps_below(link).is_none()
            };
            let links = Links::after(Arc::clone(&earlier), is_trees);
            config::compile_followed(links, options, paths, now, beside)
        };
        let (mut policy, mut followed) = compile(&beside)?;
        if text.is_some() && policy.approvals().gateway().admin() {
            // The gateway's approvals must apply from the first call on, so they are fetched before.
            let asked = gateway::ask_first(&policy, &paths.state_directory);
            beside.gateways = approvals_store::load_gateways(&paths.state_directory);
            (policy, followed) = compile(&beside)?;
            if let Err(why) = asked {
                self.reporter.problem(format!("openclaw-guard: {}", shown(why.to_string().as_bytes())));
            }
        }
        fail_point(Fallible::Policy, || now.unwrap_or_default());
        let before = self.current.guard();
        if !before.floor.is_kept_by(&policy) {
            return Err(SetupError::TakesFromKernel);
        }
        let mut lines = remains(&before, &policy);
        let old = before.own_policy();
        lines.extend(policy.warnings().iter().filter(|warning| !old.warnings().contains(warning)).cloned());
        // OpenClaw records each use of an entry in its store; that alone is not worth a message.
        let is_new = text.is_some() || !lines.is_empty() || policy.explain(None) != old.explain(None);
        // The guard's own store changes when a human answers: that needs no message.
        let is_theirs = beside.openclaw != self.source.stores.openclaw;
        let is_gateways = beside.gateways != self.source.stores.gateways;
        let is_answer = text.is_none() && elsewhere.is_none() && !is_theirs && !is_gateways;
        if let Some(approvals) = before.approvals() {
            approvals.manager().configure(Settings::from_policy(&policy));
        }
        self.sync_thread.follow(&policy);
        // An answer may let the tree write in more places from now on.
        let PolicySource { options, paths, .. } = &mut self.source;
        if let Some(problem) = config::record_workspace(options, paths, &policy)? {
            self.reporter.problem(format!("openclaw-guard: {problem}"));
        }
        self.tell_as_before(followed.as_before());
        self.source.followed.set(followed);
        self.current.update(|before| before.under(policy));
        self.current.guard().keep_answers();
        let file = match text {
            None if let Some(name) = elsewhere => name.to_owned(),
            Some(text) => {
                self.seen = Some(text.clone());
                self.source.text = Some(text);
                self.source.paths.policy.clone()
            }
            None if is_answer => approvals_store::own(&self.source.paths.state_directory),
            None if is_gateways => approvals_store::gateways(&self.source.paths.state_directory),
            None => self.source.paths.state_directory.join(approvals_store::NAME),
        };
        self.source.stores = beside;
        if is_new {
            if !is_answer {
                let path = shown(file.as_os_str().as_bytes());
                let read = || format!("openclaw-guard: {path} was read again and is in force");
                self.reporter.notice(elsewhere.map_or_else(read, elsewhere::followed));
            }
            for line in &lines {
                self.reporter.notice(format!("openclaw-guard: {}", shown(line.as_bytes())));
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

/// A file that may be in the middle of a write.
struct Unsettled;

/// Returns the first of the problems, with the number of the others.
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

fn shown_path(paths: &Paths) -> String {
    shown(paths.policy.as_os_str().as_bytes())
}
