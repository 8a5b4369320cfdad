//! A policy that changes while its tree runs.
//!
//! guard.json and OpenClaw's own store are read again when their file changes and at SIGHUP to the supervisor. What is
//! right is in force for the calls that come in after; what is wrong changes nothing. The tree cannot write the files, nor
//! replace a directory on their real paths, for what is in there is denied, nor send the supervisor a signal.

mod plain;
mod watch;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_policy::Policy;

pub use watch::Watch;

use crate::approval::Settings;
use crate::audit::Change;
use crate::cli::Options;
use crate::current::Current;
use crate::guard::Guard;
use crate::report::Reporter;
use crate::setup::{self, Disk, Places, SetupError};
use crate::store;
use crate::text::shown;
use watch::Wake;

/// Where the policy in force comes from.
#[derive(Debug)]
pub struct Source {
    /// The command line.
    pub options: Options,
    /// Where things were at the start.
    pub places: Places,
    /// The text that is in force; None for the built-in policy.
    pub text: Option<Vec<u8>>,
    /// OpenClaw's store that is in force.
    pub store: store::File,
}

impl Source {
    /// The files that it is read from, by their real paths.
    pub fn files(&self) -> Vec<PathBuf> {
        vec![self.places.policy_file.clone(), self.places.state_directory.join(store::NAME)]
    }
}

/// Reads the policy again.
pub struct Reload {
    source: Source,
    /// The text that was looked at last: one that was found wrong is told of once.
    seen: Option<Vec<u8>>,
    /// The same of OpenClaw's store.
    seen_store: Option<Vec<u8>>,
    current: Arc<Current>,
    reporter: Reporter,
}

impl Reload {
    /// Starts the thread that waits for changes.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(
        source: Source,
        mut watch: Watch,
        current: Arc<Current>,
        reporter: Reporter,
    ) -> std::io::Result<()> {
        let seen = source.text.clone();
        let mut reload = Reload { source, seen, seen_store: None, current, reporter };
        let work = move || {
            // What has changed between the first look and the watch.
            reload.look(Wake::Changed);
            loop {
                let wake = watch.next();
                reload.look(wake);
            }
        };
        std::thread::Builder::new().name("policy".into()).spawn(work).map(drop)
    }

    fn look(&mut self, wake: Wake) {
        let (text, store) = (self.new_text(wake), self.new_store(wake));
        let Some(error) = self.take(text.clone(), store.clone()).err() else { return };
        if wake == Wake::Changing {
            // Somebody is still writing it, perhaps.
            return;
        }
        self.seen = text;
        self.refuse(&first(&error), &self.source.places.policy_file);
        // What was in force compiles with any store.
        let _ = self.take(None, store);
    }

    /// The text of guard.json, if it is another one or is asked for.
    fn new_text(&mut self, wake: Wake) -> Option<Vec<u8>> {
        let is_asked = wake == Wake::Asked;
        let gone = match setup::read(&self.source.places, plain::read) {
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

    /// OpenClaw's store, if it is another one. One that is broken denies every start of a tree; a tree that runs keeps what
    /// it has, and so it does with one that is removed.
    fn new_store(&mut self, wake: Wake) -> Option<store::File> {
        let file = self.source.places.state_directory.join(store::NAME);
        let bytes = plain::read(&file).ok();
        if bytes == self.seen_store {
            return None;
        }
        let store = store::load(&self.source.places.state_directory);
        let had = matches!(self.source.store, store::File::Present(_));
        let problem = match &store {
            // As at the start.
            store if *store == self.source.store => {
                self.seen_store = bytes;
                return None;
            }
            store::File::Broken(line) => line.clone(),
            store::File::Absent | store::File::Elsewhere if had => format!("{} is gone", file.display()),
            _ => {
                self.seen_store = bytes;
                return Some(store);
            }
        };
        if wake != Wake::Changing {
            self.seen_store = bytes;
            self.refuse(&problem, &file);
        }
        None
    }

    /// Puts what is new in force.
    fn take(&mut self, text: Option<Vec<u8>>, store: Option<store::File>) -> Result<(), SetupError> {
        if text.is_none() && store.is_none() {
            return Ok(());
        }
        let Source { options, places, .. } = &self.source;
        let (now, beside) =
            (text.as_ref().or(self.source.text.as_ref()), store.as_ref().unwrap_or(&self.source.store));
        let policy = setup::compile(options, places, Disk::Used, now.map(Vec::as_slice), beside)?;
        let before = self.current.guard();
        let mut lines = remains(&before, &policy);
        let old = before.policy();
        lines.extend(policy.warnings().iter().filter(|warning| !old.warnings().contains(warning)).cloned());
        // OpenClaw notes each use of an entry in its store: that is no news.
        let is_news = text.is_some() || !lines.is_empty() || policy.explain(None) != old.explain(None);
        if let Some(approvals) = before.approvals() {
            approvals.manager().configure(Settings::of(&policy));
        }
        self.current.replace(before.under(policy));
        let file = match text {
            Some(text) => {
                self.seen = Some(text.clone());
                self.source.text = Some(text);
                self.source.places.policy.clone()
            }
            None => self.source.places.state_directory.join(store::NAME),
        };
        if let Some(store) = store {
            self.source.store = store;
        }
        if is_news {
            let path = shown(file.as_os_str().as_bytes());
            self.reporter.news(format!("openclaw-guard: {path} was read again and is in force"));
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
        self.reporter.changed(Change { path, applied, text });
    }
}

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

fn shown_path(places: &Places) -> String {
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
    if policy.allow_ptrace() != guard.policy().allow_ptrace() {
        lines.push("exec.allowPtrace: counts in full only after a restart of the guard".to_owned());
    }
    if !policy.hands_in_the_same(guard.policy()) {
        lines.push(
            "exec.environment, exec.pathPrepend: count for commands started after a restart".to_owned(),
        );
    }
    lines
}
