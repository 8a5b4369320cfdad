//! What a guarded tree may write, by the engine's verdicts under the policy in force.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::{Access, Outcome, Policy, Request, decide};
use guard_supervisor::config::realpath::Links;

/// What a tree can reach.
pub struct Exposure<'p> {
    policy: Option<&'p Policy>,
    links: Links,
}

impl<'p> Exposure<'p> {
    /// What a tree can reach under this policy; without a policy, nothing is known.
    pub fn new(policy: Option<&'p Policy>) -> Exposure<'p> {
        Exposure { policy, links: Links::default() }
    }

    /// The policy.
    pub fn policy(&self) -> Option<&'p Policy> {
        self.policy
    }

    /// Whether the tree may write, replace or remove the file at a real path: [`Outcome::Deny`] if there is no policy.
    pub fn writes(&self, path: &Path) -> Outcome {
        let request = Request::File { path: path.as_os_str().as_bytes(), access: Access::WRITE };
        self.policy.map_or(Outcome::Deny, |policy| decide(policy, &request).outcome)
    }

    /// Whether the tree may create a program under any name in a directory. If this user cannot write the directory,
    /// the tree cannot either.
    pub fn leaves_in(&self, directory: &Path) -> Outcome {
        /// A name that no rule mentions.
        const NEW: &str = "openclaw-guard-doctor-looks";
        if is_writable(directory) {
            self.writes(&guard_openclaw::real_path::real(directory).join(NEW))
        } else {
            Outcome::Deny
        }
    }

    /// Whether the tree may create a missing directory.
    pub fn makes(&self, directory: &Path) -> Outcome {
        let around = directory.ancestors().find(|around| around.exists());
        if around.is_some_and(is_writable) {
            self.writes(&guard_openclaw::real_path::real(directory))
        } else {
            Outcome::Deny
        }
    }

    /// The symbolic links along a path, and the path that it resolves to.
    pub fn trail(&self, path: &Path) -> (Vec<PathBuf>, PathBuf) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let trail = self.links.trail(path.as_os_str().as_bytes());
        let mut trail: Vec<PathBuf> =
            trail.into_iter().map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(&path))).collect();
        let end = trail.pop().unwrap_or(path);
        (trail, end)
    }
}

/// Whether this user may write the directory.
fn is_writable(directory: &Path) -> bool {
    nix::unistd::access(directory, nix::unistd::AccessFlags::W_OK).is_ok()
}
