//! Where a path of the host leads through symbolic links, including links to paths that do not exist yet.

use std::collections::VecDeque;
use std::io::ErrorKind;

use super::host_path;

/// How many links a path may lead through, as in the kernel (path_resolution(7)).
const MAX_LINKS: usize = 40;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathEntry {
    /// Nothing, or nothing that this user may see.
    Missing,
    /// A symbolic link with this text.
    Link(String),
    /// A link whose text cannot be read as UTF-8.
    Unreadable,
    /// Anything else.
    Other,
}

/// The names of a host.
pub trait HostPaths {
    /// Returns what is at an absolute path whose directories are no links.
    fn at(&self, path: &str) -> PathEntry;
}

/// This machine's disk.
#[derive(Clone, Copy, Debug)]
pub struct HostDisk;

impl HostPaths for HostDisk {
    fn at(&self, path: &str) -> PathEntry {
        if path.contains('\0') {
            return PathEntry::Missing;
        }
        match std::fs::read_link(path) {
            Ok(target) => {
                target.into_os_string().into_string().map_or(PathEntry::Unreadable, PathEntry::Link)
            }
            // readlink(2): it is no link.
            Err(error) if error.kind() == ErrorKind::InvalidInput => PathEntry::Other,
            Err(_) => PathEntry::Missing,
        }
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The path as OpenClaw resolves it: links in its existing part are followed, and the rest is added as written. A
    /// link to nothing counts as not existing.
    pub real: String,
    /// The path as written, and again after each link on the way, normalized. A link to nothing counts, too: if
    /// the link's target is created later, the path means that target.
    pub steps: Vec<String>,
    /// Whether the end is known: there is no loop of links, and every link could be read.
    pub ends: bool,
}

/// The end of a walk, with the names of the path that was walked.
enum Walk {
    Exists(Vec<String>),
    Missing,
    Endless,
}

impl Route {
    /// Follows a normalized path. A path that is relative, or on a drive, leads to itself.
    pub fn new(paths: &impl HostPaths, path: &str) -> Route {
        if !path.starts_with('/') {
            return Route { real: path.to_owned(), steps: vec![path.to_owned()], ends: true };
        }
        let mut steps = vec![path.to_owned()];
        let ends = !matches!(walk(paths, Vec::new(), names(path).collect(), &mut steps), Walk::Endless);
        Route { real: real(paths, path), steps, ends }
    }

    /// Returns the path to which the route leads in the end.
    pub fn end(&self) -> &str {
        self.steps.last().unwrap_or(&self.real)
    }
}

/// Resolves the longest part of a path that exists.
fn real(paths: &impl HostPaths, path: &str) -> String {
    let mut done = Vec::new();
    let mut rest = names(path).peekable();
    while let Some(name) = rest.peek() {
        match walk(paths, done.clone(), VecDeque::from([name.clone()]), &mut Vec::new()) {
            Walk::Exists(real) => done = real,
            Walk::Missing | Walk::Endless => break,
        }
        rest.next();
    }
    done.extend(rest);
    absolute(done.iter())
}

/// Walks `todo` from `done`, which holds no links, and records where each link leads.
fn walk(
    paths: &impl HostPaths,
    mut done: Vec<String>,
    mut todo: VecDeque<String>,
    steps: &mut Vec<String>,
) -> Walk {
    let mut links = 0;
    while let Some(name) = todo.pop_front() {
        if name == ".." {
            done.pop();
            continue;
        }
        done.push(name);
        match paths.at(&absolute(done.iter())) {
            PathEntry::Other => {}
            PathEntry::Missing => return Walk::Missing,
            PathEntry::Unreadable => return Walk::Endless,
            PathEntry::Link(_) if links == MAX_LINKS => return Walk::Endless,
            PathEntry::Link(target) => {
                links += 1;
                done.pop();
                if target.starts_with('/') {
                    done.clear();
                }
                for name in names(&target).rev() {
                    todo.push_front(name);
                }
                steps.push(host_path::normalize(&absolute(done.iter().chain(&todo))));
            }
        }
    }
    Walk::Exists(done)
}

/// The names of a path, without `.`.
fn names(path: &str) -> impl DoubleEndedIterator<Item = String> {
    path.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned)
}

fn absolute<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let mut path = String::new();
    for name in names {
        path.push('/');
        path.push_str(name);
    }
    if path.is_empty() { "/".to_owned() } else { path }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{HostPaths, PathEntry, Route};

    struct Fake(BTreeMap<&'static str, &'static str>);

    /// Links by their text; an empty text stands for a directory.
    impl HostPaths for Fake {
        fn at(&self, path: &str) -> PathEntry {
            match self.0.get(path) {
                None => PathEntry::Missing,
                Some(&"") => PathEntry::Other,
                Some(target) => PathEntry::Link((*target).to_owned()),
            }
        }
    }

    fn host() -> Fake {
        Fake(BTreeMap::from([
            ("/etc", ""),
            ("/run", ""),
            ("/var", ""),
            ("/var/run", "/run"),
            ("/a", ""),
            ("/a/etc", "../etc"),
            ("/a/twice", "one"),
            ("/a/one", "/etc"),
            ("/a/gone", "/run/docker.sock"),
            ("/a/loop", "pool"),
            ("/a/pool", "loop"),
            ("/a/self", "self/x"),
        ]))
    }

    #[test]
    fn links_are_followed() {
        for (path, real, end, ends) in [
            ("/a/etc/x", "/etc/x", "/etc/x", true),
            ("/a/twice", "/etc", "/etc", true),
            ("/var/run/x/y", "/run/x/y", "/run/x/y", true),
            ("/a/none/x", "/a/none/x", "/a/none/x", true),
            ("/a/gone/x", "/a/gone/x", "/run/docker.sock/x", true),
            ("/a/loop/x", "/a/loop/x", "", false),
            ("/a/self", "/a/self", "", false),
            ("/", "/", "/", true),
            ("C:/x", "C:/x", "C:/x", true),
        ] {
            let route = Route::new(&host(), path);
            assert_eq!((&route.real[..], route.ends), (real, ends), "{path}");
            assert!(!ends || route.end() == end, "{path}: {route:?}");
        }
        assert_eq!(Route::new(&host(), "/a/twice/x").steps, ["/a/twice/x", "/a/one/x", "/etc/x"]);
    }
}
