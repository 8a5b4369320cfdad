//! Finds the paths that git's configurations name: git runs the files there, or is configured by them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::git_config::names_program;

use crate::config::agent_settings::TooLong;
use crate::config::git_config::{self, GitSetting};
use crate::config::git_values;
use crate::config::realpath::Links;

/// The maximum number of links in a directory of hooks.
const MAX_LINKS: usize = 1024;
/// The maximum number of included configuration files of a git directory (git limits the depth to 10).
pub(super) const MAX_INCLUDES: usize = 64;
/// The maximum size of the configurations of a repository, in bytes. What is read once for each work tree counts as often.
const MAX_BYTES: usize = 8 << 20;
/// The maximum size of the commands in them that are read, in bytes, and what each counts at least. A repository has a few.
const MAX_COMMANDS: usize = 256 << 10;
const LEAST_COMMAND: usize = 64;

/// Returns the paths that the user's and the system's configurations name for a work tree, or for the home itself. `links`
/// knows what was shut.
pub fn named_by_user(links: &Links, home: &Path, top: &Path) -> Vec<PathBuf> {
    let mut named = NamedPaths::by_user(links, home, top);
    named.links_among_hooks(&[]);
    named.others
}

pub(super) struct NamedPaths<'l> {
    links: &'l Links,
    pub(super) others: Vec<PathBuf>,
    /// Directories of hooks that configurations name relative to the work tree.
    pub(super) hooks: Vec<PathBuf>,
    /// Work trees of repositories of which not everything could be read: git could run any file there.
    pub(super) unread: Vec<PathBuf>,
    max_includes: usize,
    /// What may still be read for the repository at hand.
    bytes_left: usize,
    commands_left: usize,
    /// The included configurations that were read already for the work tree at hand.
    included: Vec<PathBuf>,
    /// The work trees that the configurations name: git looks for relative paths there.
    worktrees: Vec<PathBuf>,
}

impl NamedPaths<'_> {
    pub(super) fn new(links: &Links) -> NamedPaths<'_> {
        let (others, hooks, unread) = (Vec::new(), Vec::new(), Vec::new());
        let (included, worktrees) = (Vec::new(), Vec::new());
        NamedPaths {
            links,
            others,
            hooks,
            unread,
            max_includes: MAX_INCLUDES,
            bytes_left: MAX_BYTES,
            commands_left: MAX_COMMANDS,
            included,
            worktrees,
        }
    }

    /// Reads the user's and the system's configurations (git-config(1), FILES). A relative path in them is one in `top`.
    /// They have no limit, because no guarded program writes them.
    pub(super) fn by_user<'l>(links: &'l Links, home: &Path, top: &Path) -> NamedPaths<'l> {
        let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let configs = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let mut named = NamedPaths::new(links);
        (named.max_includes, named.bytes_left, named.commands_left) = (usize::MAX, usize::MAX, usize::MAX);
        for config in [
            variable("GIT_CONFIG_GLOBAL").unwrap_or_else(|| home.join(".gitconfig")),
            configs.join("git/config"),
            // The path at which nearly every build of git reads the system's configuration.
            variable("GIT_CONFIG_SYSTEM").unwrap_or_else(|| PathBuf::from("/etc/gitconfig")),
        ] {
            named.read(&config, top, home);
        }
        named
    }

    /// Begins with another repository.
    pub(super) fn next_repository(&mut self) {
        (self.bytes_left, self.commands_left) = (MAX_BYTES, MAX_COMMANDS);
    }

    /// Calls `read` for `top`, and for each other work tree that the configurations it reads name.
    pub(super) fn in_each_worktree(&mut self, top: &Path, read: impl Fn(&mut Self, &Path)) {
        self.included.clear();
        read(self, top);
        let mut worktrees = std::mem::take(&mut self.worktrees);
        worktrees.sort();
        worktrees.dedup();
        for worktree in worktrees.iter().filter(|worktree| *worktree != top) {
            // An included file names other files for each work tree.
            self.included.clear();
            read(self, worktree);
        }
        // The next git directory has its own.
        self.worktrees.clear();
    }

    /// Protects the work trees of which not everything could be read: it is not known which files the rest names.
    pub(super) fn close_unread(&mut self) {
        self.others.append(&mut self.unread);
    }

    pub(super) fn unread(&mut self, top: &Path) {
        if !self.unread.iter().any(|other| other == top) {
            self.unread.push(top.to_owned());
        }
    }

    /// Reads a configuration. If it exists and cannot be read as git reads it, the work tree counts as unread.
    pub(super) fn settings_of(&mut self, config: &Path, top: &Path) -> Vec<GitSetting> {
        let read = git_config::read(config).unwrap_or_else(|error| {
            self.links.unreadable(config, &error);
            git_config::Read::default()
        });
        let Some(left) = self.bytes_left.checked_sub(read.bytes) else {
            self.bytes_left = 0;
            self.unread(top);
            return Vec::new();
        };
        self.bytes_left = left;
        if !read.is_whole && is_there(config) {
            self.unread(top);
        }
        read.settings
    }

    pub(super) fn line_after(&self, file: &Path, word: &str) -> Option<OsString> {
        let line = git_config::line_after(file, word);
        line.inspect_err(|error| self.links.unreadable(file, error)).ok().flatten()
    }

    /// Adds the paths that a configuration names.
    pub(super) fn read(&mut self, config: &Path, top: &Path, around: &Path) {
        let settings = self.settings_of(config, top);
        self.add(&settings, config, top, around);
    }

    /// Adds the paths that these settings of a configuration name: hooks, attributes, templates, included files, programs,
    /// and a submodule's worktree.
    pub(super) fn add(&mut self, settings: &[GitSetting], config: &Path, top: &Path, around: &Path) {
        let home = env::var_os("HOME").map(PathBuf::from);
        let paths = |value: &[u8], base: &Path| git_values::paths(value, base, home.as_deref());
        // For git, the last one counts.
        let mut worktree = None;
        for GitSetting { section, subsection, key, value } in settings {
            match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => {
                    // husky's hooks only start the hooks in the directory around them.
                    let end = value.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
                    let value = value[..end].strip_suffix(b"/_").unwrap_or(&value[..end]);
                    // git looks for a relative path at the top of each work tree.
                    self.hooks.extend(git_values::relative(value).map(Path::to_owned));
                    self.others.extend(paths(value, top));
                }
                ("core", "attributesfile") | ("init", "templatedir") => self.others.extend(paths(value, top)),
                ("core", "worktree") => worktree = Some(around.join(OsStr::from_bytes(value))),
                ("include" | "includeif", "path") => {
                    for included in paths(value, config.parent().unwrap_or(top)) {
                        self.include(included, top, around);
                    }
                }
                _ => {}
            }
            let name = Some(&**subsection).filter(|name| !name.is_empty());
            let command = match names_program(section.as_bytes(), name, key.as_bytes(), value) {
                true => Some(&**value),
                false => git_values::of_ext(if section == "url" { subsection } else { value }),
            };
            if let Some(command) = command {
                // An alias runs when somebody types it, as a program does that somebody starts.
                self.command(command, section != "alias", top, home.as_deref());
            }
        }
        if let Some(worktree) = worktree {
            let git = worktree.join(".git");
            if !self.others.contains(&git) {
                self.others.push(git);
            }
            self.worktrees.push(worktree.canonicalize().unwrap_or(worktree));
        }
    }

    /// Adds the programs that a command names, and the scripts if it runs by itself. What is beyond the bound is left out.
    fn command(&mut self, command: &[u8], runs_by_itself: bool, top: &Path, home: Option<&Path>) {
        let Some(left) = self.commands_left.checked_sub(command.len().max(LEAST_COMMAND)) else {
            return self.unread(top);
        };
        self.commands_left = left;
        self.others.extend(git_values::programs(command, top, home));
        if let Some(home) = home.filter(|_| runs_by_itself) {
            match git_values::scripts(command, top, home) {
                Ok(scripts) => self.others.extend(scripts),
                Err(TooLong) => self.unread(top),
            }
        }
    }

    /// Adds an included configuration, and the paths that it names.
    fn include(&mut self, included: PathBuf, top: &Path, around: &Path) {
        self.others.push(included.clone());
        if self.included.contains(&included) {
            return;
        }
        if self.included.len() >= self.max_includes {
            return self.unread(top);
        }
        self.included.push(included.clone());
        self.read(&included, top, around);
    }

    /// Adds the links in these directories of hooks, and in those that configurations name: hooks are often links to scripts
    /// in the workspace.
    pub(super) fn links_among_hooks(&mut self, directories: &[PathBuf]) {
        for directory in directories.iter().cloned().chain(self.others.clone()) {
            let names =
                std::fs::read_dir(&directory).inspect_err(|error| self.links.unreadable(&directory, error));
            let names = names.into_iter().flatten().flatten().take(MAX_LINKS);
            let links = names.filter(|name| name.file_type().is_ok_and(|kind| kind.is_symlink()));
            self.others.extend(links.map(|name| name.path()));
        }
    }
}

/// Returns whether a name is there, or may be: in a directory that cannot be searched, anything could be.
pub(super) fn is_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}
