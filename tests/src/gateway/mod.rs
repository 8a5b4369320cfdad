//! Real gateways of OpenClaw on the loopback interface, as scripts/gateways installs them, and their clients:
//! the official command line, and clients that can answer.

mod client;
mod identity;
mod official;
mod process;

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{is_foreign, skip};

pub use client::{Client, Login, PATIENCE, Refused};
pub use identity::Identity;
pub use official::CliPending;
pub use process::{Gateway, node};

/// A release of OpenClaw that the tests use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// 2026.9.6.
    Current,
    /// 2026.7.35, with the older protocol and `exec-approvals.json`.
    Older,
}

impl Release {
    /// Returns its version in npm.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Release::Current => "2026.9.6",
            Release::Older => "2026.7.35",
        }
    }

    /// Returns whether its command line has `approvals pending` and `approvals resolve`.
    #[must_use]
    pub fn has_cli(self) -> bool {
        self == Release::Current
    }
}

/// Returns the directory into which scripts/gateways installs.
pub(crate) fn installed() -> PathBuf {
    let named = std::env::var_os("GUARD_GATEWAYS").filter(|path| !path.is_empty());
    let cache = || std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    named.map_or_else(|| cache().unwrap_or_else(home).join("openclaw-guard-tests"), PathBuf::from)
}

/// Returns a package that scripts/gateways installed: this version, or the only one.
///
/// # Panics
/// When it is not there: `scripts/gateways` was not run.
#[must_use]
pub fn package(name: &str, version: Option<&str>) -> PathBuf {
    installed_directory(name, version).join("node_modules").join(name)
}

/// Returns the directory that scripts/gateways installed under a name.
///
/// # Panics
/// As [`package`].
#[must_use]
pub fn installed_directory(name: &str, version: Option<&str>) -> PathBuf {
    let directory = installed();
    // The name of an unfinished installation has a suffix after its version.
    let is_version = |found: &str| match version {
        Some(version) => found == version,
        None => {
            found.split('.').count() == 3 && found.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit())
        }
    };
    let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let found = names.find(|entry| {
        entry.strip_prefix(name).and_then(|rest| rest.strip_prefix('-')).is_some_and(is_version)
    });
    let found = found.unwrap_or_else(|| panic!("no {name} in {}: scripts/gateways", directory.display()));
    directory.join(found)
}

static CURRENT: Mutex<Option<Gateway>> = Mutex::new(None);
static OLDER: Mutex<Option<Gateway>> = Mutex::new(None);

/// Returns the gateway of a release, for one test at a time. It starts once, and again if a test has ended
/// it. Returns None, with a message, in the short form of the tests: a start takes ten seconds.
#[must_use]
pub fn gateway(release: Release) -> Option<Alone> {
    if !is_foreign() {
        skip("OpenClaw's gateways are left to make test-full");
        return None;
    }
    let gateway = match release {
        Release::Current => &CURRENT,
        Release::Older => &OLDER,
    };
    let mut gateway = gateway.lock().unwrap_or_else(PoisonError::into_inner);
    gateway.get_or_insert_with(|| Gateway::new(release)).ensure();
    Some(Alone(gateway))
}

/// A gateway that no other test uses meanwhile.
#[derive(Debug)]
pub struct Alone(MutexGuard<'static, Option<Gateway>>);

impl std::ops::Deref for Alone {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        self.0.as_ref().expect("it was started")
    }
}

impl std::ops::DerefMut for Alone {
    fn deref_mut(&mut self) -> &mut Gateway {
        self.0.as_mut().expect("it was started")
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let output = self.output();
            let lines: Vec<&str> = output.lines().collect();
            eprintln!("the gateway's log ends so:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}
