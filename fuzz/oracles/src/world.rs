//! A small tree of directories, files and links, on disk and as a table.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use guard_supervisor::resolve::Last;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use tempfile::TempDir;

use super::fixture_root;
use super::input::Input;

/// A node of the table.
pub enum Node {
    Directory {
        parent: usize,
        name: Vec<u8>,
        entries: BTreeMap<Vec<u8>, usize>,
        /// False for the directories above the tree.
        is_known: bool,
    },
    File,
    Link(Vec<u8>),
}

/// Why the table cannot resolve a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Refused(Errno),
    /// The path has left the tree.
    Unknown,
}

/// The result of resolving a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Reached {
    /// A name in a directory, with its node if it exists.
    Entry { parent: usize, name: Vec<u8>, slash: bool, node: Option<usize>, absent: Errno },
    /// A directory that was reached without a name, as by `..`.
    Object(usize),
}

/// The tree, on disk and as a table.
pub struct World {
    _directory: TempDir,
    /// The real path of the tree.
    pub root: Vec<u8>,
    nodes: Vec<Node>,
    /// Its directories, opened.
    pub directories: Vec<(usize, OwnedFd)>,
}

const LONGEST_NAME: [u8; 255] = [b'n'; 255];
const TOO_LONG: [u8; 256] = [b'x'; 256];
const NAMES: [&[u8]; 12] =
    [b"a", b"b", b"c", b"l", b"m", b"...", b" ", b"\xff\n", b".a", b"a (deleted)", &LONGEST_NAME, &TOO_LONG];
/// The beginnings of a path other than the tree itself.
const BEGINNINGS: [&[u8]; 6] = [b"", b"", b"/", b"//", b"/proc/self/root", b"/proc/self/../self/cwd/.."];

impl World {
    /// Builds the tree from an input.
    pub fn from_input(input: &mut Input<'_>) -> World {
        let directory = tempfile::Builder::new().prefix("guard-walk-").tempdir_in(fixture_root()).unwrap();
        let root = directory.path().as_os_str().as_bytes().to_vec();
        let mut nodes: Vec<Node> = Vec::new();
        let mut above = 0;
        for name in root.split(|&byte| byte == b'/') {
            let here = nodes.len();
            nodes.push(Node::Directory {
                parent: above,
                name: name.to_vec(),
                entries: BTreeMap::new(),
                is_known: false,
            });
            if here != 0 {
                insert(&mut nodes, above, name, here);
            }
            above = here;
        }
        if let Node::Directory { is_known, .. } = &mut nodes[above] {
            *is_known = true;
        }
        let opened = open(&root);
        let mut world = World { _directory: directory, root, nodes, directories: vec![(above, opened)] };
        for _ in 0..40 {
            let kind = input.below(6);
            if kind == 0 {
                break;
            }
            let within = input.below(world.directories.len());
            match kind {
                1 | 2 => world.make_directory(within, NAMES[input.below(NAMES.len())]),
                3 => world.make_file(within, NAMES[input.below(NAMES.len())]),
                4 => {
                    let name = NAMES[input.below(NAMES.len())];
                    let target = world.path(input);
                    world.make_link(within, name, &target);
                }
                // A chain of directories that is deeper than the longest path reaches.
                _ => {
                    let mut within = within;
                    for _ in 0..=input.below(20) {
                        let before = world.directories.len();
                        world.make_directory(within, &LONGEST_NAME);
                        if world.directories.len() == before {
                            break;
                        }
                        within = before;
                    }
                }
            }
        }
        world
    }

    /// An arbitrary path.
    pub fn path(&self, input: &mut Input<'_>) -> Vec<u8> {
        let mut path = match input.below(BEGINNINGS.len() + 2) {
            0 | 1 => self.root.clone(),
            beginning => BEGINNINGS[beginning - 2].to_vec(),
        };
        for _ in 0..input.below(14) {
            let choice = input.below(NAMES.len() + 6);
            let names: &[u8] = match choice {
                0 | 1 => b"..",
                2 => b".",
                3 => b"",
                4 => &self.root[1..],
                // Repeats an earlier part.
                5 => {
                    let times = input.below(256);
                    let again = path.clone();
                    for _ in 0..times.min(4096 / again.len().max(1)) {
                        path.push(b'/');
                        path.extend_from_slice(&again);
                    }
                    continue;
                }
                name => NAMES[name - 6],
            };
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(names);
        }
        path.extend(std::iter::repeat_n(b'/', input.below(4).saturating_sub(1)));
        // The kernel's limit on the length of a path.
        path.truncate(4095);
        path
    }

    fn make_directory(&mut self, within: usize, name: &[u8]) {
        let (parent, directory) = &self.directories[within];
        if self.directories.len() >= 64 || rustix::fs::mkdirat(directory, name, Mode::RWXU).is_err() {
            return;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(directory, name, flags, Mode::empty()).unwrap();
        let parent = *parent;
        let node = self.nodes.len();
        self.nodes.push(Node::Directory {
            parent,
            name: name.to_vec(),
            entries: BTreeMap::new(),
            is_known: true,
        });
        insert(&mut self.nodes, parent, name, node);
        self.directories.push((node, opened));
    }

    fn make_file(&mut self, within: usize, name: &[u8]) {
        let (parent, directory) = &self.directories[within];
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        if rustix::fs::openat(directory, name, flags, Mode::RUSR).is_ok() {
            let (parent, node) = (*parent, self.nodes.len());
            self.nodes.push(Node::File);
            insert(&mut self.nodes, parent, name, node);
        }
    }

    fn make_link(&mut self, within: usize, name: &[u8], target: &[u8]) {
        let (parent, directory) = &self.directories[within];
        if rustix::fs::symlinkat(target, directory, name).is_ok() {
            let (parent, node) = (*parent, self.nodes.len());
            self.nodes.push(Node::Link(target.to_vec()));
            insert(&mut self.nodes, parent, name, node);
        }
    }

    /// The path of a directory.
    pub fn path_of(&self, node: usize) -> Vec<u8> {
        match &self.nodes[node] {
            Node::Directory { parent, name, .. } if node != 0 => {
                let mut path = self.path_of(*parent);
                if path != b"/" {
                    path.push(b'/');
                }
                path.extend_from_slice(name);
                path
            }
            _ => b"/".to_vec(),
        }
    }

    /// Resolves a path by the table. Returns the result, and the number of links followed (path_resolution(7)).
    pub fn resolve(&self, start: usize, path: &[u8], last: Last) -> (Result<Reached, Stop>, usize) {
        let mut links = 0;
        (self.walk(start, path, last, &mut links), links)
    }

    fn walk(&self, start: usize, path: &[u8], last: Last, links: &mut usize) -> Result<Reached, Stop> {
        if path.is_empty() {
            return Err(Stop::Refused(Errno::NOENT));
        }
        let mut rest = path.to_vec();
        let mut here = if path[0] == b'/' { 0 } else { start };
        loop {
            let text = rest.iter().position(|&byte| byte != b'/').map_or(&[][..], |at| &rest[at..]);
            if text.is_empty() {
                return Ok(Reached::Object(here));
            }
            let end = text.iter().position(|&byte| byte == b'/').unwrap_or(text.len());
            let (name, behind) = (text[..end].to_vec(), text[end..].to_vec());
            let is_last = behind.iter().all(|&byte| byte == b'/');
            let slash = is_last && !behind.is_empty();
            let Node::Directory { parent, entries, is_known, .. } = &self.nodes[here] else {
                return Err(Stop::Refused(Errno::NOTDIR));
            };
            let dots = match &name[..] {
                b"." => Some(here),
                b".." => Some(*parent),
                _ => None,
            };
            if let Some(there) = dots {
                here = there;
                rest = behind;
                continue;
            }
            let entry =
                |node, absent| Ok(Reached::Entry { parent: here, name: name.clone(), slash, node, absent });
            if name.len() > 255 {
                return match is_last && last == Last::Name {
                    true => entry(None, Errno::NAMETOOLONG),
                    false => Err(Stop::Refused(Errno::NAMETOOLONG)),
                };
            }
            let Some(&node) = entries.get(&name) else {
                return match (is_known, is_last) {
                    (false, _) => Err(Stop::Unknown),
                    (true, true) => entry(None, Errno::NOENT),
                    (true, false) => Err(Stop::Refused(Errno::NOENT)),
                };
            };
            if is_last && (last == Last::Name || last == Last::Make && slash) {
                return entry(Some(node), Errno::NOENT);
            }
            match &self.nodes[node] {
                Node::Link(_) if is_last && !slash && last == Last::Keep => {
                    return entry(Some(node), Errno::NOENT);
                }
                Node::Link(target) => {
                    *links += 1;
                    if *links > 40 {
                        return Err(Stop::Refused(Errno::LOOP));
                    }
                    if target[0] == b'/' {
                        here = 0;
                    }
                    rest = [&target[..], &behind[..]].concat();
                }
                Node::Directory { .. } if is_last => return entry(Some(node), Errno::NOENT),
                Node::Directory { .. } => {
                    here = node;
                    rest = behind;
                }
                Node::File if is_last && !slash => return entry(Some(node), Errno::NOENT),
                Node::File => return Err(Stop::Refused(Errno::NOTDIR)),
            }
        }
    }
}

fn insert(nodes: &mut [Node], parent: usize, name: &[u8], node: usize) {
    if let Node::Directory { entries, .. } = &mut nodes[parent] {
        entries.insert(name.to_vec(), node);
    }
}

fn open(path: &[u8]) -> OwnedFd {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
}
