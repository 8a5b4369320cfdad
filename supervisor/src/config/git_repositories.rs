//! Finds repositories, and the paths that their configurations name: git runs the files there, or is configured by
//! them.
//!
//! The guard searches for a repository as git does, from the start directory upward. It does not start git, because git
//! would run the programs that the configuration names. A repository made later belongs to the tree.

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

/// The maximum number of git directories whose configurations are read: there can be many submodules and worktrees.
const MAX_SITES: usize = 1024;
/// The maximum number of names read in a git directory's `worktrees`, and of links in a directory of hooks.
const MAX_NAMES: usize = 1024;
/// The maximum number of included configuration files of a repository (git limits the depth to 10).
pub(super) const MAX_INCLUDES: usize = 64;

/// Returns the paths that the configurations of a git directory name: git runs the files there, or is configured by
/// them. `top` is the work tree, or the directory itself if it has none. If not everything could be read, `top` itself
/// is one of the paths, and `links` knows what was shut.
pub fn named_by_git_directory(links: &Links, directory: &Path, top: &Path) -> Vec<PathBuf> {
    let mut found = Repositories::new(links, MAX_INCLUDES);
    let (worktrees, is_cut) = found.names(&directory.join("worktrees"));
    if is_cut {
        found.unread(top);
    }
    let of_worktrees = worktrees.iter().map(PathBuf::as_path).chain([directory]);
    let configs: Vec<PathBuf> = [directory.join("config")]
        .into_iter()
        .chain(of_worktrees.map(|of| of.join("config.worktree")))
        .collect();
    found.in_each_worktree(top, |found, top| {
        configs.iter().for_each(|config| found.others_of(config, top, directory));
    });
    // Links in a plain directory of hooks have names of git's, and are found by them.
    if directory.join("hooks").is_symlink() {
        found.directories.push(directory.to_owned());
    }
    found.links();
    [found.others, found.unread].concat()
}

/// Returns the paths that the user's and the system's configurations name for a work tree, or for the home itself. `links`
/// knows what was shut.
pub fn named_by_user(links: &Links, home: &Path, top: &Path) -> Vec<PathBuf> {
    let mut found = Repositories::of_user(links, home, top);
    found.links();
    found.others
}

/// Returns the git directories that the `.git` of a work tree leads to, if it is a file or a link: its own, and the common
/// one, if it has another. `links` knows what was shut.
pub fn git_directories_led_to(links: &Links, top: &Path) -> Vec<PathBuf> {
    let found = Repositories::new(links, 0);
    let real = |path: PathBuf| path.canonicalize().inspect_err(|error| links.unreadable(&path, error)).ok();
    let leads = |around: &Path, file: &Path, word: &str| real(around.join(found.line_after(file, word)?));
    let git = top.join(".git");
    let own = if git.is_dir() { real(git) } else { leads(top, &git, "gitdir:") };
    let common = own.as_ref().and_then(|own| leads(own, &own.join("commondir"), ""));
    own.into_iter().chain(common).collect()
}

#[derive(Debug)]
pub(super) struct Repositories<'l> {
    links: &'l Links,
    /// How many included configuration files are read for each repository.
    max_includes: usize,
    /// Directories with a `.git` in them.
    pub(super) tops: Vec<PathBuf>,
    /// The git directories: `.git`, the common directory, and those of worktrees and modules.
    pub(super) directories: Vec<PathBuf>,
    pub(super) others: Vec<PathBuf>,
    /// Directories of hooks that configurations name relative to the work tree.
    pub(super) hooks: Vec<PathBuf>,
    /// Work trees of repositories of which not everything could be read: git could run any file there.
    unread: Vec<PathBuf>,
    /// The included configuration files that were read already, of the repository at hand.
    included: Vec<PathBuf>,
    /// The work trees that its configurations name: git looks for relative paths there.
    worktrees: Vec<PathBuf>,
}

impl Repositories<'_> {
    pub(super) fn new(links: &Links, max_includes: usize) -> Repositories<'_> {
        let (tops, directories, others) = (Vec::new(), Vec::new(), Vec::new());
        let (hooks, unread, included, worktrees) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Repositories { links, max_includes, tops, directories, others, hooks, unread, included, worktrees }
    }

    /// Reads the user's and the system's configurations (git-config(1), FILES). A relative path in them is one in `top`.
    /// They have no limit, because no guarded program writes them.
    pub(super) fn of_user<'l>(links: &'l Links, home: &Path, top: &Path) -> Repositories<'l> {
        let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let configs = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let mut found = Repositories::new(links, usize::MAX);
        for config in [
            variable("GIT_CONFIG_GLOBAL").unwrap_or_else(|| home.join(".gitconfig")),
            configs.join("git/config"),
            // The path at which nearly every build of git reads the system's configuration.
            variable("GIT_CONFIG_SYSTEM").unwrap_or_else(|| PathBuf::from("/etc/gitconfig")),
        ] {
            found.others_of(&config, top, home);
        }
        found
    }

    /// Finds the repositories that contain a directory: for a submodule, the outer one too. If there is none, finds the
    /// repositories directly below the directory.
    pub(super) fn around(&mut self, cwd: &Path) {
        for directory in cwd.ancestors() {
            if is_repository(directory) {
                self.included.clear();
                self.directory(directory.to_owned(), directory);
            } else {
                self.top(directory);
            }
        }
        // It is not known which files the unread part names, so the whole work tree is protected.
        self.others.append(&mut self.unread);
        let around = self.tops.len();
        // All names are looked at: an earlier run could have made any number of them.
        let names = std::fs::read_dir(cwd).inspect_err(|error| self.links.unreadable(cwd, error));
        for name in names.into_iter().flatten().flatten() {
            if name.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.top(&name.path());
            }
        }
        self.others.append(&mut self.unread);
        self.tops.truncate(around);
    }

    /// Adds the repository whose `.git` is in this directory, if there is one.
    fn top(&mut self, directory: &Path) {
        let git = directory.join(".git");
        let looked_at =
            std::fs::symlink_metadata(&git).inspect_err(|error| self.links.unreadable(&git, error));
        let Ok(meta) = looked_at else { return };
        self.included.clear();
        if meta.is_file() {
            // This file names the git directory, and so the configuration that git uses.
            self.others.push(git.clone());
            let Some(target) = self.line_after(&git, "gitdir:") else { return };
            self.tops.push(directory.to_owned());
            self.directory(directory.join(target), directory);
        } else if is_repository(&git) || is_there(&git.join("config")) {
            // Other parts may be missing: an earlier run may have removed them for a while. If `.git` loses its HEAD, a
            // HEAD here makes git take this directory for the repository, with another configuration.
            self.others.push(directory.join("HEAD"));
            self.tops.push(directory.to_owned());
            self.directory(git, directory);
        }
    }

    /// Adds a git directory, its common directory, and those of its worktrees and modules.
    fn directory(&mut self, directory: PathBuf, top: &Path) {
        // The path may contain links or `..`.
        let directory = directory.canonicalize().unwrap_or(directory);
        if self.directories.contains(&directory) {
            return;
        }
        if self.directories.len() >= MAX_SITES {
            return self.unread(top);
        }
        self.directories.push(directory.clone());
        if let Some(common) = self.line_after(&directory.join("commondir"), "") {
            self.directory(directory.join(common), top);
        }
        let config = directory.join("config");
        let settings = self.settings_of(&config, top);
        self.in_each_worktree(top, |found, top| {
            found.others_in(&settings, &config, top, &directory);
            found.others_of(&directory.join("config.worktree"), top, &directory);
        });
        let (worktrees, is_cut) = self.names(&directory.join("worktrees"));
        if is_cut {
            self.unread(top);
        }
        for worktree in worktrees {
            // The `.git` file of the worktree.
            let git = self.line_after(&worktree.join("gitdir"), "").map(|git| worktree.join(git));
            self.others.extend(git);
            self.directory(worktree, top);
        }
        // git keeps a submodule's git directory by the name in the configuration (gitsubmodules(7)). All of `modules`
        // is protected by its shape, but not what the configurations there name.
        for setting in settings.iter().filter(|setting| setting.section == "submodule") {
            let name = &setting.subsection;
            let is_plain = name.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."));
            let module = directory.join("modules").join(OsStr::from_bytes(name));
            if is_plain && is_repository(&module) {
                self.directory(module, top);
            }
        }
    }

    /// Calls `read` for `top`, and for each other work tree that the configurations it reads name.
    fn in_each_worktree(&mut self, top: &Path, read: impl Fn(&mut Self, &Path)) {
        read(self, top);
        let mut worktrees = std::mem::take(&mut self.worktrees);
        worktrees.sort();
        worktrees.dedup();
        // What they include is read again: it names files relative to a work tree.
        self.included.clear();
        worktrees.iter().filter(|worktree| *worktree != top).for_each(|worktree| read(self, worktree));
        // The next repository has its own.
        self.worktrees.clear();
    }

    fn unread(&mut self, top: &Path) {
        if !self.unread.iter().any(|other| other == top) {
            self.unread.push(top.to_owned());
        }
    }

    /// Reads a configuration. If it exists and cannot be read as git reads it, the work tree counts as unread.
    fn settings_of(&mut self, config: &Path, top: &Path) -> Vec<GitSetting> {
        let (settings, is_whole) = git_config::read(config).unwrap_or_else(|error| {
            self.links.unreadable(config, &error);
            (Vec::new(), false)
        });
        if !is_whole && is_there(config) {
            self.unread(top);
        }
        settings
    }

    fn line_after(&self, file: &Path, word: &str) -> Option<OsString> {
        let line = git_config::line_after(file, word);
        line.inspect_err(|error| self.links.unreadable(file, error)).ok().flatten()
    }

    /// Returns the directories in a directory, and whether there are more names than were looked at.
    fn names(&self, directory: &Path) -> (Vec<PathBuf>, bool) {
        let listed =
            std::fs::read_dir(directory).inspect_err(|error| self.links.unreadable(directory, error));
        let mut names = listed.into_iter().flatten().flatten();
        let found =
            names.by_ref().take(MAX_NAMES).filter(|name| name.file_type().is_ok_and(|kind| kind.is_dir()));
        let found = found.map(|name| name.path()).collect();
        (found, names.next().is_some())
    }

    /// Adds the paths that a configuration names.
    pub(super) fn others_of(&mut self, config: &Path, top: &Path, around: &Path) {
        let settings = self.settings_of(config, top);
        self.others_in(&settings, config, top, around);
    }

    /// Adds the paths that these settings of a configuration name: hooks, attributes, templates, included files, programs,
    /// and a submodule's worktree.
    fn others_in(&mut self, settings: &[GitSetting], config: &Path, top: &Path, around: &Path) {
        let home = env::var_os("HOME").map(PathBuf::from);
        let paths = |value: &[u8], base: &Path| git_values::paths(value, base, home.as_deref());
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
                ("core", "worktree") => {
                    let worktree = around.join(OsStr::from_bytes(value));
                    let git = worktree.join(".git");
                    if !self.others.contains(&git) {
                        self.others.push(git);
                    }
                    self.worktrees.push(worktree.canonicalize().unwrap_or(worktree));
                }
                ("include" | "includeif", "path") => {
                    for included in paths(value, config.parent().unwrap_or(top)) {
                        self.include(included, top, around);
                    }
                }
                _ => {}
            }
            let name = Some(&**subsection).filter(|name| !name.is_empty());
            let command = match names_program(section.as_bytes(), name, key.as_bytes()) {
                true => Some(&**value),
                false => git_values::of_ext(if section == "url" { subsection } else { value }),
            };
            if let Some(command) = command {
                self.others.extend(git_values::programs(command, top, home.as_deref()));
                // An alias runs when somebody types it, as a program does that somebody starts.
                if let Some(home) = home.as_deref().filter(|_| section != "alias") {
                    match git_values::scripts(command, top, home) {
                        Ok(scripts) => self.others.extend(scripts),
                        Err(TooLong) => self.unread(top),
                    }
                }
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
        self.others_of(&included, top, around);
    }
}

impl Repositories<'_> {
    /// Adds the links in hook directories: hooks are often links to scripts in the workspace.
    pub(super) fn links(&mut self) {
        let hooks = self.directories.iter().map(|directory| directory.join("hooks"));
        let directories: Vec<PathBuf> = hooks.chain(self.others.iter().cloned()).collect();
        for directory in directories {
            let names =
                std::fs::read_dir(&directory).inspect_err(|error| self.links.unreadable(&directory, error));
            let names = names.into_iter().flatten().flatten().take(MAX_NAMES);
            let links = names.filter(|name| name.file_type().is_ok_and(|kind| kind.is_symlink()));
            self.others.extend(links.map(|name| name.path()));
        }
    }
}

/// Returns whether git takes the directory for a repository (setup.c, is_git_directory); the content of
/// `HEAD` is not checked.
fn is_repository(directory: &Path) -> bool {
    let has = |name: &str| is_there(&directory.join(name));
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// Returns whether a name is there, or may be: in a directory that cannot be searched, anything could be.
fn is_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn repository(at: &Path) {
        for name in ["objects", "refs"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    fn around(cwd: &Path) -> Repositories<'static> {
        let mut found = Repositories::new(Box::leak(Box::default()), MAX_INCLUDES);
        found.around(cwd);
        found
    }

    #[test]
    fn a_repository_is_found_with_what_belongs_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let [top, git] = ["top", "top/.git"].map(|name| root.join(name));
        repository(&git);
        repository(&git.join("modules/a/b"));
        repository(&git.join("modules/other"));
        let config = "[core]\nhooksPath = hooks\n[submodule \"a/b\"]\nurl = x\nactive = true\n[submodule \"../..\"]\nurl = x\n";
        fs::write(git.join("config"), config).unwrap();
        fs::write(git.join("modules/a/b/config"), "[core]\nworktree = ../../../../sub\n").unwrap();
        fs::create_dir_all(git.join("worktrees/w")).unwrap();
        for (name, text) in [("HEAD", "x"), ("commondir", "../.."), ("gitdir", "/w/.git\n")] {
            fs::write(git.join("worktrees/w").join(name), text).unwrap();
        }
        for name in ["top/src/deep", "top/sub"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(top.join("sub/.git"), "gitdir: ../.git/modules/a/b\n").unwrap();
        let found = around(&root.join("top/src/deep"));
        assert_eq!(found.tops, std::slice::from_ref(&top));
        assert_eq!(found.directories, [git.clone(), git.join("worktrees/w"), git.join("modules/a/b")]);
        let module = git.join("modules/a/b/../../../../sub/.git");
        assert_eq!(found.others, [top.join("HEAD"), top.join("hooks"), PathBuf::from("/w/.git"), module]);
        // From a submodule: both repositories, and the `.git` file that leads to the first.
        let found = around(&root.join("top/sub"));
        assert_eq!(found.tops, [top.join("sub"), top.clone()]);
        assert_eq!(found.directories[..2], [git.join("modules/a/b"), git.clone()]);
        assert_eq!(found.others[0], top.join("sub/.git"));
        // From the parent: the repositories directly below.
        let found = around(&root);
        assert!(found.tops.is_empty() && found.directories.contains(&git));
        // A repository that lost its HEAD for a while still has a configuration.
        fs::remove_file(git.join("HEAD")).unwrap();
        fs::remove_file(top.join("sub/.git")).unwrap();
        assert!(around(&top).directories.contains(&git));
        // A directory that is only named `.git` is not a repository.
        fs::remove_file(git.join("config")).unwrap();
        assert!(around(&top).directories.is_empty());
    }

    /// Below `modules`, only what the configuration names is looked at.
    #[test]
    fn directories_below_modules_cost_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let git = directory.path().canonicalize().unwrap().join(".git");
        repository(&git);
        repository(&git.join("modules/a"));
        fs::write(git.join("modules/a/config"), "[core]\nattributesFile = x\n").unwrap();
        assert_eq!(around(git.parent().unwrap()).directories, [git]);
    }

    #[test]
    fn a_repository_that_is_not_read_to_its_end_is_protected_as_a_whole() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = root.join(".git");
        repository(&git);
        let is_whole = || around(&root).others.contains(&root);
        assert!(!is_whole());
        fs::write(git.join("config"), " ".repeat(git_config::MAX_BYTES as usize + 1)).unwrap();
        assert!(is_whole());
        let includes = (0..=MAX_INCLUDES).map(|i| format!("[include]\npath = /none/{i}\n"));
        fs::write(git.join("config"), includes.collect::<String>()).unwrap();
        assert!(is_whole());
        fs::remove_file(git.join("config")).unwrap();
        for i in 0..MAX_SITES {
            repository(&git.join(format!("worktrees/{i}")));
        }
        assert!(is_whole());
        // For a repository below the start directory, only the repository itself is protected.
        fs::rename(&git, root.join("moved")).unwrap();
        fs::create_dir(root.join("below")).unwrap();
        fs::rename(root.join("moved"), root.join("below/.git")).unwrap();
        let others = around(&root).others;
        assert!(others.contains(&root.join("below")) && !others.contains(&root));
    }

    #[test]
    fn odd_git_files_are_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for text in ["", "gitdir:", "gitdir: \n", "other: x", "gitdir: .\n", "gitdir: /none\n"] {
            fs::write(root.join(".git"), text).unwrap();
            let found = around(&root);
            assert_eq!(found.others[0], root.join(".git"), "{text:?}");
        }
        // A repository that is its own common directory.
        fs::remove_file(root.join(".git")).unwrap();
        repository(&root.join(".git"));
        fs::write(root.join(".git/commondir"), ".\n").unwrap();
        assert_eq!(around(&root).directories, [root.join(".git")]);
    }

    #[test]
    fn included_git_configuration_is_read_too() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = root.join(".git");
        repository(&git);
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::create_dir_all(root.join("own")).unwrap();
        for (name, text) in [
            (".git/config", "[include]\npath = ../one\n"),
            ("one", "[include]\npath = two\n[include]\npath = one\n"),
            ("two", "[core]\nhooksPath = own\n"),
            ("script", "true"),
            (".git/hooks/plain", "true"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        for link in [".git/hooks/pre-commit", "own/post-commit"] {
            std::os::unix::fs::symlink("../../script", root.join(link)).unwrap();
        }
        let mut found = around(&root);
        found.links();
        let expected = ["HEAD", ".git/../one", ".git/../two", "own", ".git/../one"]
            .into_iter()
            .chain([".git/hooks/pre-commit", "own/post-commit"]);
        for name in expected {
            assert!(found.others.contains(&root.join(name)), "{name}: {:?}", found.others);
        }
        assert!(!found.others.contains(&git.join("hooks/plain")));
    }
}
