//! The compiled policy.

use crate::{Ask, Document, Problem, Rights, Security};

/// Where the policy applies: everything the compiler must know of the machine, gathered by the caller.
pub struct Host<'a> {
    /// What `~` means.
    pub home: &'a [u8],
    /// The real path of the start directory.
    pub cwd: &'a [u8],
    /// The real directories of `$PATH`: where the toolchains are, for the policy without a file.
    pub path_dirs: Vec<Vec<u8>>,
    /// Real paths denied with all below them, whatever the document says: OpenClaw's state
    /// directory, the guard's own files and audit.
    pub always_denied: Vec<Vec<u8>>,
    /// `/tmp`, `/var/tmp`, `$TMPDIR`.
    pub temp_dirs: Vec<Vec<u8>>,
    /// The real path of something that exists; `None` otherwise. `&|_| None` in pure use.
    pub realpath: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
}

/// What the command line and the environment ask for. Only ever tightens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// `--exec-security`, `OC_EXEC_SECURITY`.
    pub security: Option<Security>,
    /// `--exec-ask`, `OC_EXEC_ASK`.
    pub ask: Option<Ask>,
}

/// A document compiled for one agent on one host. Immutable.
#[derive(Debug)]
pub struct Policy {
    agent: String,
    warnings: Vec<String>,
}

impl Policy {
    /// Compiles a document for one agent.
    pub fn compile(
        doc: &Document,
        agent: &str,
        host: &Host,
        overrides: &Overrides,
    ) -> Result<Policy, Vec<Problem>> {
        let _ = (doc, host, overrides);
        Ok(Policy { agent: agent.to_owned(), warnings: Vec::new() })
    }

    /// The policy where there is no `guard.json`.
    pub fn without_file(agent: &str, host: &Host, overrides: &Overrides) -> Policy {
        let _ = (host, overrides);
        Policy { agent: agent.to_owned(), warnings: Vec::new() }
    }

    /// The agent it was compiled for.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// `exec.security`, tightened by the overrides.
    pub fn security(&self) -> Security {
        Security::Allowlist
    }

    /// `exec.ask`, tightened by the overrides.
    pub fn ask(&self) -> Ask {
        Ask::OnMiss
    }

    /// `exec.askFallback`, never wider than the security.
    pub fn ask_fallback(&self) -> Security {
        Security::Deny
    }

    /// `exec.timeoutMs`: how long a human has to answer.
    pub fn timeout_ms(&self) -> u64 {
        120_000
    }

    /// `network.unixDatagram`.
    pub fn unix_datagram(&self) -> bool {
        false
    }

    /// `exec.allowPtrace`.
    pub fn allow_ptrace(&self) -> bool {
        false
    }

    /// `audit.path`.
    pub fn audit_path(&self) -> Option<&str> {
        None
    }

    /// What the operator should know: keys that are read but not acted on, patterns that match nothing.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The directories (and single files) whose programs may start.
    pub fn exec_roots(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// True when `dir` and every object below it may be read without asking.
    pub fn reads_uniform(&self, dir: &[u8]) -> bool {
        let _ = dir;
        false
    }

    /// True when the tree may write at this real path, or may after asking.
    pub fn writable(&self, path: &[u8]) -> bool {
        let _ = path;
        true
    }

    /// What a real path grants.
    pub fn rights(&self, path: &[u8]) -> Rights {
        let _ = path;
        Rights::NONE
    }

    /// True when moving `old` to `new` gives it no right that it did not have: for a directory,
    /// nothing below it either. False where that cannot be proven.
    pub fn may_move(&self, old: &[u8], new: &[u8], directory: bool) -> bool {
        let _ = (old, new, directory);
        false
    }
}
