//! A policy that changes while its tree runs.
//!
//! guard.json is read again when its file changes and at SIGHUP to the supervisor. One that is right is in force for
//! the calls that come in after; one that is wrong changes nothing. The tree cannot write the file, nor replace a
//! directory on its real path, for what is in there is denied, nor send the supervisor a signal.

mod watch;

use std::sync::Arc;

use guard_policy::Policy;

pub use watch::Watch;

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
}

/// Reads the policy again.
pub struct Reload {
    source: Source,
    /// The text that was looked at last: one that was found wrong is told of once.
    seen: Option<Vec<u8>>,
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
        let mut reload = Reload { source, seen, current, reporter };
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
        let text = match setup::read(&self.source.places) {
            Ok(Some(text)) => text,
            Ok(None) => return self.missing(wake),
            Err(error) => {
                // Told once: of a file that is gone there is one event, and no text to compare.
                if wake == Wake::Asked || self.seen.take().is_some() {
                    self.refuse(&error.to_string());
                }
                return;
            }
        };
        if wake != Wake::Asked && self.seen.as_ref() == Some(&text) {
            return;
        }
        let Source { options, places, .. } = &self.source;
        let store = store::load(&places.state_directory);
        match setup::compile(options, places, Disk::Used, Some(&text), &store) {
            Ok(policy) => self.apply(policy, text),
            // Somebody is still writing it, perhaps.
            Err(_) if wake == Wake::Changing => {}
            Err(error) => {
                self.seen = Some(text);
                self.refuse(&first(&error));
            }
        }
    }

    /// There is no file, and none was named. One that is removed is no order to do without.
    fn missing(&mut self, wake: Wake) {
        if self.source.text.is_some() && (wake == Wake::Asked || self.seen.is_some()) {
            self.seen = None;
            self.refuse(&format!("{} is gone", shown_path(&self.source.places)));
        } else if wake == Wake::Asked {
            let path = shown_path(&self.source.places);
            self.reporter
                .news(format!("openclaw-guard: there is no {path}; the built-in policy stays in force"));
        }
    }

    fn apply(&mut self, policy: Policy, text: Vec<u8>) {
        let before = self.current.guard();
        let mut lines = remains(&before, &policy);
        let old = before.policy().warnings();
        lines.extend(policy.warnings().iter().filter(|warning| !old.contains(warning)).cloned());
        self.current.replace(before.under(policy));
        self.source.text = Some(text.clone());
        self.seen = Some(text);
        let path = shown_path(&self.source.places);
        self.reporter.news(format!("openclaw-guard: {path} was read again and is in force"));
        for line in &lines {
            self.reporter.news(format!("openclaw-guard: {}", shown(line.as_bytes())));
        }
        self.note(true, lines.join("; "));
    }

    fn refuse(&self, problem: &str) {
        let problem = shown(problem.as_bytes());
        self.reporter.problem(format!("openclaw-guard: {problem}; the policy that was in force stays"));
        self.note(false, problem);
    }

    fn note(&self, applied: bool, text: String) {
        let path = self.source.places.policy_file.display().to_string();
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
    use std::os::unix::ffi::OsStrExt;
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
