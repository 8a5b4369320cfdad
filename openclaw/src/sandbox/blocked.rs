//! The paths of a host that no container may see: OpenClaw's lists (src/agents/sandbox/validate-sandbox-security.ts),
//! and the guard's additions to them.

use super::host_path::{is_within, normalize};
use super::links::{HostPaths, Route};

/// System directories, and those that usually hold docker's socket.
const SYSTEM: [&str; 13] = [
    "/etc",
    "/private/etc",
    "/proc",
    "/sys",
    "/dev",
    "/root",
    "/boot",
    "/run",
    "/var/run",
    "/private/var/run",
    "/var/run/docker.sock",
    "/private/var/run/docker.sock",
    "/run/docker.sock",
];
/// Credentials below a home directory.
const CREDENTIALS: [&str; 8] = [".aws", ".cargo", ".config", ".docker", ".gnupg", ".netrc", ".npm", ".ssh"];

/// Paths below a home that OpenClaw's list lacks: OpenClaw's own state, a cluster's credentials, and the files
/// that a shell runs at its start.
const ALSO_HOME: [&str; 10] = [
    ".openclaw",
    ".kube",
    ".bashrc",
    ".bash_login",
    ".bash_profile",
    ".profile",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
];
/// Directories in OpenClaw's state directory in which agents work. A workspace's name may have a suffix:
/// `workspace-work`.
const WORKSPACES: [&str; 2] = ["workspace", "sandboxes"];
/// Directories that may be mounted in part, but not as a whole: all homes, and the programs of the host.
const WHOLE: [&str; 3] = ["/home", "/usr", "/bin"];

/// How a path overlaps a blocked path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// The path is the blocked path, or is below it.
    Targets(String),
    /// The blocked path is below the path.
    Covers(String),
}

/// The paths that are blocked on a host.
#[derive(Clone, Debug)]
pub struct BlockedPaths {
    openclaw: Vec<String>,
    /// Paths that the guard blocks, with everything below them.
    also: Vec<String>,
    /// Paths that the guard blocks, with every directory that contains them.
    whole: Vec<String>,
    /// OpenClaw's state directories.
    states: Vec<String>,
}

impl BlockedPaths {
    /// Collects the paths. `homes` are OPENCLAW_HOME, HOME and USERPROFILE, in this order; each of them counts as
    /// written and by its real path. `state` is OpenClaw's state directory, if that is not in a home.
    pub fn new<'h>(
        homes: impl IntoIterator<Item = &'h str>,
        state: Option<&str>,
        paths: &impl HostPaths,
    ) -> BlockedPaths {
        let mut roots = Vec::new();
        let mut also_roots = Vec::new();
        for home in homes {
            let home = normalize(home);
            let route = Route::new(paths, &home);
            for root in [home, route.real].into_iter().filter(|root| root != "/") {
                add(&mut roots, root);
            }
            also_roots.extend(route.steps.into_iter().filter(|root| root != "/"));
        }
        let mut openclaw: Vec<String> = SYSTEM.map(str::to_owned).into();
        for root in &roots {
            for name in CREDENTIALS {
                add(&mut openclaw, normalize(&format!("{root}/{name}")));
            }
        }
        let mut also = Vec::new();
        for root in also_roots.iter().chain(&roots) {
            for name in ALSO_HOME.iter().chain(&CREDENTIALS) {
                add(&mut also, normalize(&format!("{root}/{name}")));
            }
        }
        if let Some(state) = state {
            add(&mut also, normalize(state));
        }
        let with_links = |listed: &[String]| -> Vec<String> {
            let mut all = listed.to_vec();
            for step in listed.iter().flat_map(|path| Route::new(paths, path).steps) {
                // A link to the root would block everything.
                if step != "/" {
                    add(&mut all, step);
                }
            }
            all
        };
        let mut states: Vec<_> = also.iter().filter(|path| path.ends_with("/.openclaw")).cloned().collect();
        states.extend(state.map(normalize));
        BlockedPaths {
            also: with_links(&[also, openclaw.clone()].concat()),
            whole: with_links(&WHOLE.map(str::to_owned)),
            states: with_links(&states),
            openclaw,
        }
    }

    /// Returns how OpenClaw 2026.9.6 finds that a normalized path overlaps a blocked path.
    pub fn openclaw(&self, path: &str) -> Option<Overlap> {
        if path == "/" {
            return Some(Overlap::Covers("/".to_owned()));
        }
        overlap(self.openclaw.iter(), path)
    }

    /// Returns how a normalized path that OpenClaw allows overlaps a path that the guard blocks.
    pub fn also(&self, path: &str) -> Option<Overlap> {
        if path == "/" {
            return Some(Overlap::Covers("/".to_owned()));
        }
        let opens = |blocked: &&String| self.states.contains(blocked) && is_workspace(blocked, path);
        let whole = || self.whole.iter().find(|whole| is_within(path, whole)).cloned().map(Overlap::Covers);
        overlap(self.also.iter().filter(|blocked| !opens(blocked)), path).or_else(whole)
    }
}

fn overlap<'b>(mut blocked: impl Iterator<Item = &'b String>, path: &str) -> Option<Overlap> {
    blocked.find_map(|blocked| {
        if is_within(blocked, path) {
            return Some(Overlap::Targets(blocked.clone()));
        }
        is_within(path, blocked).then(|| Overlap::Covers(blocked.clone()))
    })
}

/// Returns whether a path is in one of the directories for agents below OpenClaw's state directory `state`.
fn is_workspace(state: &str, path: &str) -> bool {
    let name = path.strip_prefix(state).and_then(|rest| rest.strip_prefix('/')?.split('/').next());
    name.is_some_and(|name| WORKSPACES.contains(&name) || name.starts_with("workspace-"))
}

fn add(paths: &mut Vec<String>, path: String) {
    if !paths.contains(&path) {
        paths.push(path);
    }
}
