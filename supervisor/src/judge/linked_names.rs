//! Protected names of the operator's that are symbolic links, such as `.git/hooks` to `../tools/hooks`: what lies behind
//! one runs by that name, whatever its own is.
//!
//! They are looked for in the directories around what is written, at that time: what a search at the start finds, the tree
//! could have filled with other names. In directories of the operator's the tree makes no such link and moves none, so
//! what was found stays true, as far as the tree goes.
//!
//! Why: docs/decisions.md, "A protected name that is a link protects what is behind it"

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_policy::Policy;
use parking_lot::Mutex;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::link_text::as_written;
use super::listing::{ListedName, names_if};
use super::made_directories::MadeDirectories;
use crate::resolve::real_path;

/// How long a directory is not looked into again. The operator may make such a link at any time.
const FRESH: Duration = Duration::from_secs(1);
/// The same in times of what the look took: a tree may have filled the directory.
const FRESH_LOOKS: u32 = 20;
/// How many directories are remembered.
const MAX_DIRECTORIES: usize = 4096;
/// How deep names that lead to protected ones are followed. The tree makes no such directory in one of the operator's.
const MAX_DEPTH: usize = 64;

/// A protected name, or one on the way to it, that is a link.
#[derive(Debug, PartialEq, Eq)]
struct LinkedName {
    /// The link's path.
    name: Vec<u8>,
    /// Where it leads.
    target: Vec<u8>,
}

/// The links found in a directory, and until when they count.
type DatedLinks = (Instant, Arc<Vec<LinkedName>>);

/// The links that were found, by the directory around them.
#[derive(Debug, Default)]
pub struct LinkedNames(Mutex<HashMap<Vec<u8>, DatedLinks>>);

impl LinkedNames {
    /// The other paths by which a real path is found through such links.
    pub fn other_paths(&self, policy: &Policy, made: &MadeDirectories, path: &[u8]) -> Vec<Vec<u8>> {
        let mut paths = Vec::new();
        self.each(policy, made, path, |link| {
            if let Some(rest) = below(path, &link.target) {
                paths.push([&*link.name, rest].concat());
            }
        });
        paths
    }

    /// Whether such a link leads to a place at or below a path.
    pub fn lead_below(&self, policy: &Policy, made: &MadeDirectories, path: &[u8]) -> bool {
        let mut found = false;
        self.each(policy, made, path, |link| found |= below(&link.target, path).is_some());
        found
    }

    fn each(&self, policy: &Policy, made: &MadeDirectories, path: &[u8], mut found: impl FnMut(&LinkedName)) {
        let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
        for directory in slashes.map(|at| &path[..at.max(1)]) {
            self.in_directory(policy, made, directory).iter().for_each(&mut found);
        }
    }

    fn in_directory(
        &self,
        policy: &Policy,
        made: &MadeDirectories,
        directory: &[u8],
    ) -> Arc<Vec<LinkedName>> {
        let now = Instant::now();
        let is_fresh = |found: &&DatedLinks| now < found.0;
        if let Some((_, links)) = self.0.lock().get(directory).filter(is_fresh) {
            return Arc::clone(links);
        }
        let mut search = Search { policy, links: Vec::new() };
        if let Some(open) = open(CWD, directory).filter(|open| !made.contains_open(open.as_fd())) {
            search.run(open.as_fd(), directory, 0);
        }
        let links = Arc::new(search.links);
        let mut known = self.0.lock();
        if known.len() >= MAX_DIRECTORIES {
            known.clear();
        }
        let until = Instant::now() + FRESH.max(now.elapsed() * FRESH_LOOKS);
        known.insert(directory.to_vec(), (until, Arc::clone(&links)));
        links
    }
}

struct Search<'p> {
    policy: &'p Policy,
    links: Vec<LinkedName>,
}

impl Search<'_> {
    fn run(&mut self, directory: BorrowedFd<'_>, path: &[u8], depth: usize) {
        let may_lead = |(_, kind): &ListedName| {
            matches!(kind, FileType::Symlink | FileType::Directory | FileType::Unknown)
        };
        // Whoever may write a directory can keep its user from listing it, but not from finding a name.
        let listed = names_if(directory, may_lead).unwrap_or_else(|| {
            self.policy.names_of_shapes().into_iter().map(|name| (name, FileType::Unknown)).collect()
        });
        let top = path.strip_suffix(b"/").unwrap_or(path);
        for (name, _) in listed {
            let path = [top, b"/", &*name].concat();
            if self.policy.shapes(&path).is_empty() && self.policy.leads_to_shape(&path).is_none() {
                continue;
            }
            let is_git = name.eq_ignore_ascii_case(b".git");
            match rustix::fs::readlinkat(directory, &*name, Vec::new()) {
                // A git directory that `.git` leads to is known by what is in it.
                Ok(_) if is_git => {}
                Ok(text) => self.link(directory, path, &name, text.as_bytes()),
                Err(_) if depth < MAX_DEPTH => {
                    if let Some(open) = open(directory, &name) {
                        self.run(open.as_fd(), &path, depth + 1);
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Where it leads: really, and by its text, if nothing is there yet.
    fn link(&mut self, directory: BorrowedFd<'_>, name: Vec<u8>, last: &[u8], text: &[u8]) {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let there = rustix::fs::openat2(directory, last, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
        let real = there.ok().and_then(|there| real_path(there.as_fd()).ok());
        let target = real.unwrap_or_else(|| as_written(&name, text));
        if target != name && target.len() > 1 {
            self.links.push(LinkedName { name, target });
        }
    }
}

/// What is left of a path below a directory, with a leading slash; empty for the directory itself.
fn below<'p>(path: &'p [u8], directory: &[u8]) -> Option<&'p [u8]> {
    path.strip_prefix(directory).filter(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Opens a directory, as O_PATH if it may not be listed.
fn open(start: BorrowedFd<'_>, path: &[u8]) -> Option<OwnedFd> {
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let with = |flags| {
        let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat2(start, path, flags, Mode::empty(), no_links).ok()
    };
    with(OFlags::RDONLY).or_else(|| with(OFlags::PATH))
}
