//! What the guarded tree may write, by the policy in force: the engine says.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::{Access, Outcome, Policy, Request, decide};
use guard_supervisor::config::realpath::Links;

/// What it reaches.
pub struct Exposure<'p> {
    policy: Option<&'p Policy>,
    links: Links,
}

impl<'p> Exposure<'p> {
    /// Under this policy; without one nothing is known.
    pub fn new(policy: Option<&'p Policy>) -> Exposure<'p> {
        Exposure { policy, links: Links::default() }
    }

    /// The policy.
    pub fn policy(&self) -> Option<&'p Policy> {
        self.policy
    }

    /// Whether it may write, replace or remove what is at a real path: [`Outcome::Deny`] where nothing is known.
    pub fn writes(&self, path: &Path) -> Outcome {
        let request = Request::File { path: path.as_os_str().as_bytes(), access: Access::WRITE };
        self.policy.map_or(Outcome::Deny, |policy| decide(policy, &request).outcome)
    }

    /// Whether it may leave a program in a directory, by any name. What the kernel keeps this user from is kept from the
    /// tree, too.
    pub fn leaves_in(&self, directory: &Path) -> Outcome {
        /// A name that no rule is about.
        const NEW: &str = "openclaw-guard-doctor-looks";
        if is_writable(directory) {
            self.writes(&guard_openclaw::real_path::real(directory).join(NEW))
        } else {
            Outcome::Deny
        }
    }

    /// Whether it may make a directory that is missing.
    pub fn makes(&self, directory: &Path) -> Outcome {
        let around = directory.ancestors().find(|around| around.exists());
        if around.is_some_and(is_writable) {
            self.writes(&guard_openclaw::real_path::real(directory))
        } else {
            Outcome::Deny
        }
    }

    /// The symbolic links on the way to a path, and at last where it leads.
    pub fn trail(&self, path: &Path) -> (Vec<PathBuf>, PathBuf) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let trail = self.links.trail(path.as_os_str().as_bytes());
        let mut trail: Vec<PathBuf> =
            trail.into_iter().map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(&path))).collect();
        let end = trail.pop().unwrap_or(path);
        (trail, end)
    }
}

/// Whether the kernel lets this user change what is in it.
fn is_writable(directory: &Path) -> bool {
    nix::unistd::access(directory, nix::unistd::AccessFlags::W_OK).is_ok()
}
