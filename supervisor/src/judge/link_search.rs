//! Looks in one directory for protected names that are symbolic links, and for where each leads; and for what the
//! configurations of repositories and the settings of agents name.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::{GitLook, LinkedSet, Policy};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, readlinkat, statat};
use rustix::io::Errno;

use super::anchored_path::{last_name, names, open_directory, parent_of};
use super::git_look::Look;
use super::link_text::absolute;
use super::listing::{ListedName, names_if};
use super::made_directories::MadeDirectories;
use crate::config::agent_settings::{self, ReadBudget, UnreadSettings};
use crate::config::git_named_paths::named_by_user;
use crate::config::git_repositories::{git_directories_led_to, named_by_git_directory};
use crate::config::realpath::{Links, may_pass};

/// How deep the search follows names that lead to protected names. In the operator's directories, the tree makes no
/// directories of such names.
const MAX_DEPTH: usize = 64;
/// A place of the set that protects what the settings of agents name.
const OF_AGENTS: &[u8] = b"/.mcp.json";
/// A place of the set that protects what configurations of git's name.
const OF_GIT: &[u8] = b"/.git/config";

/// What is protected because a protected name is a link.
#[derive(Debug, PartialEq, Eq)]
pub enum LinkedPlace {
    /// Where a link leads: what is at `place`, and below it, has the name `name` as well.
    End { name: Vec<u8>, place: Vec<u8> },
    /// What a repository's configuration names: git runs what is at `place` and below it, or is configured by it. Or
    /// the settings of an agent make the agent run it.
    Configured { place: Vec<u8>, set: LinkedSet },
    /// A link on the way from another link: whoever exchanges it chooses where the other link leads.
    Passed { place: Vec<u8>, set: LinkedSet },
    /// A directory of this user's that cannot be searched. It holds protected names, or is on the way from a link: a
    /// protected name there may lead to anything in `place`.
    Hidden { place: Vec<u8>, set: LinkedSet },
    /// A project with settings that cannot be read: the settings may start anything in `place`.
    Unread { place: Vec<u8>, set: LinkedSet, why: UnreadSettings },
}

impl LinkedPlace {
    /// Its path.
    pub fn path(&self) -> &[u8] {
        let (LinkedPlace::End { place, .. }
        | LinkedPlace::Configured { place, .. }
        | LinkedPlace::Passed { place, .. }
        | LinkedPlace::Hidden { place, .. }
        | LinkedPlace::Unread { place, .. }) = self;
        place
    }
}

/// Returns where those protected names lead that are links. The search looks at the names in a directory itself, the
/// names in the directories on the way to protected ones below it, and the names of repositories in it, also where the
/// `.git` of a work tree is a file or a link. In directories of the tree's, only repositories that somebody else has made count.
pub fn search(policy: &Policy, made: &MadeDirectories, directory: &[u8]) -> Vec<LinkedPlace> {
    let mut search = Search {
        policy,
        made,
        top: directory,
        found: Vec::new(),
        named: HashSet::new(),
        opened: HashSet::new(),
        budget: ReadBudget::of_all(),
    };
    search.below(CWD, directory, directory, None, 0);
    search.found
}

struct Search<'p> {
    policy: &'p Policy,
    made: &'p MadeDirectories,
    top: &'p [u8],
    found: Vec<LinkedPlace>,
    /// What was added because something names it.
    named: HashSet<(PathBuf, LinkedSet)>,
    /// The git directories that were searched because a `.git` leads there.
    opened: HashSet<PathBuf>,
    /// How much of settings may still be read, for all repositories together.
    budget: ReadBudget,
}

impl Search<'_> {
    /// Looks into a directory. `git` is the git directory, whatever its name, that this directory is or lies in.
    fn run(&mut self, directory: BorrowedFd<'_>, path: &[u8], git: Option<&[u8]>, depth: usize) {
        if self.made.contains_open(directory) {
            // Inside a git directory, git puts nothing into a directory that the tree made, so that is not searched.
            if git.is_none() && !names(path).any(|name| name == b".git") {
                self.in_own(directory, path, depth);
            }
            return;
        }
        // The git directory of a submodule, or of a second work tree, lies in another one.
        let is_found = git != Some(path) && is_repository(directory, b"");
        if is_found {
            let top = if last_name(path).eq_ignore_ascii_case(b".git") { parent_of(path) } else { path };
            self.configured(path, top);
            // What the user's own configuration names is the same for the git directories inside.
            if git.is_none() {
                self.configured_by_user(top);
            }
        }
        let git = git.or_else(|| is_found.then_some(path));
        if git.is_none() && git_lies_elsewhere(directory) {
            self.of_git_elsewhere(path, depth);
        }
        let may_lead = |(name, kind): &ListedName| {
            let is_settings = || agent_settings::is_name_of_project(name);
            matches!(kind, FileType::Symlink | FileType::Directory | FileType::Unknown) || is_settings()
        };
        // Whoever may write a directory can keep its user from listing it, but not from finding a name. Repositories in it, and
        // what only a pattern names, stay unknown.
        let listed = names_if(directory, may_lead).unwrap_or_else(|| {
            if is_this_users(directory) {
                self.hide_all();
            }
            self.policy.names_of_shapes().into_iter().map(|name| (name, FileType::Unknown)).collect()
        });
        let top = path.strip_suffix(b"/").unwrap_or(path);
        if depth == 0 && top == self.policy.home() {
            self.of_home(top);
        }
        for (name, kind) in listed {
            let path = [top, b"/", &*name].concat();
            let Some(set) = self.set_of(&path, git) else {
                // A repository in the directory is searched, too: its links may lead to what lies beside it.
                if depth == 0 && kind != FileType::Symlink {
                    self.beside(directory, &name, &path);
                }
                continue;
            };
            if agent_settings::is_name_of_project(&name)
                && let Ok(name) = str::from_utf8(&name)
            {
                self.of_project(top, name, set);
            }
            match readlinkat(directory, &*name, Vec::new()) {
                Ok(_) => {
                    // A git directory that `.git` leads to is known by what is in it.
                    let has_end = !name.eq_ignore_ascii_case(b".git");
                    self.follow(path, set, has_end);
                }
                // The tree itself may have removed the permission, to hide the links and meanwhile write what they lead
                // to.
                Err(Errno::ACCESS) if is_this_users(directory) => {
                    self.hide(set);
                    return;
                }
                Err(_) if depth < MAX_DEPTH => self.below(directory, &name, &path, git, depth + 1),
                Err(_) => {}
            }
        }
    }

    /// Opens a directory in another one, and looks into it.
    fn below(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &[u8],
        path: &[u8],
        git: Option<&[u8]>,
        depth: usize,
    ) {
        match open(directory, name) {
            Ok(open) => self.run(open.as_fd(), path, git, depth),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => {}
            Err(Errno::ACCESS) if !is_shut_by_user(directory, name) => {}
            // The guard may have no descriptor left for a moment, or the tree may have shut a directory for that long.
            Err(_) => self.hide_all(),
        }
    }

    /// Looks into a directory that lies in the one that is searched, if it is a repository or has one.
    fn beside(&mut self, directory: BorrowedFd<'_>, name: &[u8], path: &[u8]) {
        match repository_in(directory, name) {
            Ok(true) => self.below(directory, name, path, None, 1),
            Ok(false) => {}
            Err(Unsearchable::This) if is_this_users(directory) => self.hide_all(),
            Err(Unsearchable::This) => {}
            // The tree cannot shut a repository of the operator's. One of its own directories may be shut; otherwise somebody
            // else has shut it, and may open it again.
            Err(Unsearchable::Named) => {
                let shut = open(directory, name);
                if shut
                    .is_ok_and(|shut| is_this_users(shut.as_fd()) && !self.made.contains_open(shut.as_fd()))
                {
                    self.hide_all();
                }
            }
        }
    }

    /// Adds what the git directories name to which the `.git` of a work tree leads, and looks into them.
    fn of_git_elsewhere(&mut self, top: &[u8], depth: usize) {
        let Some(set) = self.set_of(OF_GIT, None).filter(|_| depth < MAX_DEPTH) else { return };
        let links = Links::default();
        let directories = git_directories_led_to(&links, as_path(top));
        self.hide_if_shut(&links, set);
        self.configured_by_user(top);
        for directory in directories {
            let path = directory.as_os_str().as_bytes().to_vec();
            self.configured(&path, top);
            if self.opened.insert(directory) {
                self.below(CWD, &path, &path, None, depth + 1);
            }
        }
    }

    /// Something keeps the search from finding where names of this set lead.
    fn hide(&mut self, set: LinkedSet) {
        let hidden = LinkedPlace::Hidden { place: self.top.to_vec(), set };
        // Many directories may be shut, and their paths may be long.
        if !self.found.contains(&hidden) {
            self.found.push(hidden);
        }
    }

    fn hide_if_shut(&mut self, links: &Links, set: LinkedSet) {
        if links.shut().is_some() {
            self.hide(set);
        }
    }

    /// As [`Search::hide`], where it is not known which names there are.
    fn hide_all(&mut self) {
        let sets = [OF_GIT, OF_AGENTS].map(|path| self.set_of(path, None));
        sets.into_iter().flatten().for_each(|set| self.hide(set));
    }

    /// Adds what some settings of a project name. Settings of other projects do not hide that: where too many were read
    /// already, all of the searched directory is closed.
    fn of_project(&mut self, project: &[u8], name: &str, set: LinkedSet) {
        if self.budget.is_empty() {
            let why = UnreadSettings::many(&as_path(project).join(name));
            self.found.push(LinkedPlace::Unread { place: self.top.to_vec(), set, why });
            return;
        }
        let (links, budget) = (Links::default(), ReadBudget::default());
        let home = as_path(self.policy.home());
        let scripts = agent_settings::named_scripts_of(&links, (home, as_path(project)), name, &budget);
        self.budget.take_used(&budget);
        self.scripts_of_agents(&links, scripts, project, set);
    }

    /// Looks into a directory that the tree made. The names in it are the tree's. Only a `.git` there may have been
    /// made by the operator's git.
    fn in_own(&mut self, directory: BorrowedFd<'_>, path: &[u8], depth: usize) {
        let top = path.strip_suffix(b"/").unwrap_or(path);
        let git = [top, b"/.git"].concat();
        // Only the last name is looked up: the path may be long, and nearly all such directories have no `.git`.
        let Some(set) = self.set_of(b"/.git", None).filter(|_| depth < MAX_DEPTH) else { return };
        match open(directory, b".git") {
            Ok(open) => self.run(open.as_fd(), &git, None, depth + 1),
            Err(Errno::ACCESS) if is_this_users(directory) => self.hide(set),
            Err(error) if may_pass(error.raw_os_error()) => self.hide_all(),
            Err(_) => {}
        }
        if depth > 0 {
            return;
        }
        let is_directory = |(name, kind): &ListedName| {
            matches!(kind, FileType::Directory | FileType::Unknown) && name != b".git"
        };
        for (name, _) in names_if(directory, is_directory).unwrap_or_default() {
            self.beside(directory, &name, &[top, b"/", &*name].concat());
        }
    }

    /// Adds what the settings of agents and the configuration of git's in the home name.
    fn of_home(&mut self, home: &[u8]) {
        let links = Links::default();
        if let Some(set) = self.set_of(OF_AGENTS, None) {
            let scripts =
                agent_settings::named_scripts_of_home(&links, as_path(home), &ReadBudget::default());
            self.scripts_of_agents(&links, scripts, home, set);
        }
        self.configured_by_user(home);
    }

    /// Adds what the configuration of a git directory names for the work tree `top`.
    fn configured(&mut self, git: &[u8], top: &[u8]) {
        let config = [git, b"/config"].concat();
        let shapes = self.policy.shapes(&config).into_iter();
        let parts = self.policy.git_parts(&config).into_iter().map(|part| part.shape);
        let Some(set) = shapes.chain(parts).map(|shape| shape.linked()).next() else { return };
        let links = Links::default();
        self.all_named(&links, named_by_git_directory(&links, as_path(git), as_path(top)), set);
        self.hide_if_shut(&links, set);
    }

    /// Adds what the user's own configuration of git's names for a work tree, or for the home.
    fn configured_by_user(&mut self, top: &[u8]) {
        let Some(set) = self.set_of(OF_GIT, None) else { return };
        let links = Links::default();
        self.all_named(&links, named_by_user(&links, as_path(self.policy.home()), as_path(top)), set);
        self.hide_if_shut(&links, set);
    }

    fn all_named(&mut self, links: &Links, all: Vec<PathBuf>, set: LinkedSet) {
        all.iter().for_each(|named| self.named(links, named, set));
    }

    /// Adds what a configuration names, with each link on the way and where they lead.
    fn named(&mut self, links: &Links, named: &Path, set: LinkedSet) {
        // The user's configuration names the same for each repository in a directory.
        if !self.named.insert((named.to_owned(), set)) {
            return;
        }
        let place = absolute(named.as_os_str().as_bytes());
        let mut passed = links.trail(&place);
        let end = passed.pop().filter(|end| *end != place);
        self.found.extend(passed.into_iter().map(|place| LinkedPlace::Passed { place, set }));
        let places = [place].into_iter().chain(end);
        self.found.extend(places.map(|place| LinkedPlace::Configured { place, set }));
    }

    /// Adds the scripts that settings make agents start by themselves.
    fn scripts_of_agents(
        &mut self,
        links: &Links,
        scripts: Result<Vec<PathBuf>, UnreadSettings>,
        project: &[u8],
        set: LinkedSet,
    ) {
        match scripts {
            Ok(scripts) if links.shut().is_none() => self.all_named(links, scripts, set),
            // Only this project is hidden: its settings are not for other projects.
            Ok(_) => self.found.push(LinkedPlace::Hidden { place: project.to_vec(), set }),
            Err(why) => self.found.push(LinkedPlace::Unread { place: project.to_vec(), set, why }),
        }
    }

    /// The set that protects a name, or what the name leads to.
    fn set_of(&self, path: &[u8], git: Option<&[u8]>) -> Option<LinkedSet> {
        let named = || {
            self.policy.shapes(path).first().or(self.policy.leads_to_shape(path).as_ref()).map(|s| s.linked())
        };
        let in_git = || {
            let git = git?;
            let parts = self.policy.git_parts(path);
            let is_part = parts.iter().any(|part| {
                part.directory == git && (part.look == GitLook::Partial || !part.may_be_work_tree)
            });
            let leads = || self.policy.git_leads(path).iter().any(|(directory, _)| *directory == git);
            // Each of these shapes is of git's set.
            let around = self.policy.directories_around(path);
            around.first().filter(|_| is_part || leads()).map(|shape| shape.linked())
        };
        named().or_else(in_git)
    }

    fn follow(&mut self, name: Vec<u8>, set: LinkedSet, has_end: bool) {
        let links = Links::default();
        let mut passed = links.trail(&name);
        // The tree may have shut a directory on the way for a moment.
        self.hide_if_shut(&links, set);
        let end = passed.pop().filter(|end| has_end && *end != name && end.len() > 1);
        let passed = passed.into_iter().filter(|place| *place != name);
        self.found.extend(passed.map(|place| LinkedPlace::Passed { place, set }));
        self.found.extend(end.map(|place| LinkedPlace::End { name, place }));
    }
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Which directory may not be searched.
enum Unsearchable {
    /// The directory itself.
    This,
    /// The one that was named in it.
    Named,
}

/// Whether a directory in another one has a `.git`, or is a repository.
fn repository_in(directory: BorrowedFd<'_>, name: &[u8]) -> Result<bool, Unsearchable> {
    match statat(directory, [name, b"/.git"].concat(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::ACCESS) if statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() => {
            Err(Unsearchable::Named)
        }
        Err(Errno::ACCESS) => Err(Unsearchable::This),
        Err(_) => Ok(is_repository(directory, name)),
    }
}

/// Whether git would take a directory for a repository, or would with one more name.
fn is_repository(directory: BorrowedFd<'_>, name: &[u8]) -> bool {
    let path = |part: &[u8]| if name.is_empty() { part.to_vec() } else { [name, b"/", part].concat() };
    let is_there = |part: &[u8]| statat(directory, path(part), AtFlags::SYMLINK_NOFOLLOW).is_ok();
    Look(is_there).is_repository()
}

/// Whether a directory has a `.git` that leads to the git directory: a file, or a link.
fn git_lies_elsewhere(directory: BorrowedFd<'_>) -> bool {
    let kind = |stat: Stat| FileType::from_raw_mode(stat.st_mode);
    statat(directory, ".git", AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| matches!(kind(stat), FileType::RegularFile | FileType::Symlink))
}

fn is_this_users(directory: BorrowedFd<'_>) -> bool {
    fstat(directory).is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
}

/// Whether a directory of this user's keeps the guard from what a path names, or did so a moment ago.
fn is_shut_by_user(start: BorrowedFd<'_>, path: &[u8]) -> bool {
    let owner = |path: &[u8]| statat(start, path, AtFlags::SYMLINK_NOFOLLOW).map(|stat| stat.st_uid);
    let Ok(mut last) = owner(if path.starts_with(b"/") { b"/" } else { b"." }) else { return true };
    let ends = (1..path.len()).filter(|at| path[*at] == b'/').chain([path.len()]);
    for end in ends {
        match owner(&path[..end]) {
            Ok(owner) => last = owner,
            Err(Errno::ACCESS) => return last == rustix::process::geteuid().as_raw(),
            Err(_) => return true,
        }
    }
    true
}

/// Opens a directory, as O_PATH if it may not be listed.
fn open(start: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let no_links = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let listable = rustix::fs::openat2(start, path, flags, Mode::empty(), no_links);
    listable.or_else(|_| open_directory(start, path))
}
