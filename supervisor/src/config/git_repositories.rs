//! Finds repositories.
//!
//! The guard searches for a repository as git does, from the start directory upward. It does not start git, because git
//! would run the programs that the configuration names. A repository made later belongs to the tree.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::config::git_named_paths::{NamedPaths, is_there};
use crate::config::realpath::Links;

/// The maximum number of git directories of a repository whose configurations are read: there can be many submodules and
/// worktrees. And the maximum of all repositories.
const MAX_SITES: usize = 1024;
const MAX_ALL_SITES: usize = 16 << 10;
/// The maximum number of names read in a git directory's `worktrees`.
const MAX_NAMES: usize = 1024;

/// Returns the paths that the configurations of a git directory name: git runs the files there, or is configured by
/// them. `top` is the work tree, or the directory itself if it has none. If not everything could be read, `top` itself
/// is one of the paths, and `links` knows what was shut.
pub fn named_by_git_directory(links: &Links, directory: &Path, top: &Path) -> Vec<PathBuf> {
    let mut found = Repositories::new(links);
    let worktrees = found.names(&directory.join("worktrees"), top);
    found.named.in_each_worktree(top, |named, top| {
        for name in ["config", "config.worktree"] {
            named.read(&directory.join(name), top, directory);
        }
    });
    for worktree in worktrees {
        found.named.in_each_worktree(top, |named, at| {
            named.read(&worktree.join("config.worktree"), at, &worktree);
            // The configuration of them all counts in a work tree that only this one names, too.
            if at != top {
                named.read(&directory.join("config"), at, directory);
            }
        });
    }
    // Links in a plain directory of hooks have names of git's, and are found by them.
    let hooks = [directory.join("hooks")];
    found.named.links_among_hooks(if hooks[0].is_symlink() { &hooks } else { &[] });
    [found.named.others, found.named.unread].concat()
}

/// Returns the git directories that the `.git` of a work tree leads to, if it is a file or a link: its own, and the common
/// one, if it has another. `links` knows what was shut.
pub fn git_directories_led_to(links: &Links, top: &Path) -> Vec<PathBuf> {
    let named = NamedPaths::new(links);
    let real = |path: PathBuf| path.canonicalize().inspect_err(|error| links.unreadable(&path, error)).ok();
    let leads = |around: &Path, file: &Path, word: &str| real(around.join(named.line_after(file, word)?));
    let git = top.join(".git");
    let own = if git.is_dir() { real(git) } else { leads(top, &git, "gitdir:") };
    let common = own.as_ref().and_then(|own| leads(own, &own.join("commondir"), ""));
    own.into_iter().chain(common).collect()
}

pub(super) struct Repositories<'l> {
    links: &'l Links,
    /// Directories with a `.git` in them.
    pub(super) tops: Vec<PathBuf>,
    /// The git directories: `.git`, the common directory, and those of worktrees and modules.
    pub(super) directories: Vec<PathBuf>,
    /// The same, to find one of many.
    known: HashSet<PathBuf>,
    /// How many git directories there were before the repository at hand.
    before: usize,
    /// What is protected beside them.
    pub(super) named: NamedPaths<'l>,
}

impl Repositories<'_> {
    pub(super) fn new(links: &Links) -> Repositories<'_> {
        Repositories {
            links,
            tops: Vec::new(),
            directories: Vec::new(),
            known: HashSet::new(),
            before: 0,
            named: NamedPaths::new(links),
        }
    }

    /// Finds the repositories that contain a directory: for a submodule, the outer one too. If there is none, finds the
    /// repositories directly below the directory.
    pub(super) fn around(&mut self, cwd: &Path) {
        for directory in cwd.ancestors() {
            if is_repository(directory) {
                self.next_repository();
                self.directory(directory.to_owned(), directory);
            } else {
                self.top(directory);
            }
        }
        // It is not known which files the unread part names, so the whole work tree is protected.
        self.named.close_unread();
        let around = self.tops.len();
        // All names are looked at: an earlier run could have made any number of them.
        let names = std::fs::read_dir(cwd).inspect_err(|error| self.links.unreadable(cwd, error));
        for name in names.into_iter().flatten().flatten() {
            if name.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.top(&name.path());
            }
        }
        self.named.close_unread();
        self.tops.truncate(around);
    }

    /// Begins with another repository.
    fn next_repository(&mut self) {
        self.before = self.directories.len();
        self.named.next_repository();
    }

    /// Adds the repository whose `.git` is in this directory, if there is one.
    fn top(&mut self, directory: &Path) {
        let git = directory.join(".git");
        let looked_at =
            std::fs::symlink_metadata(&git).inspect_err(|error| self.links.unreadable(&git, error));
        let Ok(meta) = looked_at else { return };
        self.next_repository();
        if meta.is_file() {
            // This file names the git directory, and so the configuration that git uses.
            self.named.others.push(git.clone());
            let Some(target) = self.named.line_after(&git, "gitdir:") else { return };
            self.tops.push(directory.to_owned());
            self.directory(directory.join(target), directory);
        } else if is_repository(&git) || is_there(&git.join("config")) {
            // Other parts may be missing: an earlier run may have removed them for a while. If `.git` loses its HEAD, a
            // HEAD here makes git take this directory for the repository, with another configuration.
            self.named.others.push(directory.join("HEAD"));
            self.tops.push(directory.to_owned());
            self.directory(git, directory);
        }
    }

    /// Adds a git directory, its common directory, and those of its worktrees and modules.
    fn directory(&mut self, directory: PathBuf, top: &Path) {
        // The path may contain links or `..`.
        let directory = directory.canonicalize().unwrap_or(directory);
        if self.known.contains(&directory) {
            return;
        }
        let count = self.directories.len();
        // The first two are the repository itself and its common directory. They are always read: other repositories must
        // not hide what they name.
        let of_repository = count - self.before;
        if of_repository >= MAX_SITES || of_repository >= 2 && count >= MAX_ALL_SITES {
            return self.named.unread(top);
        }
        self.known.insert(directory.clone());
        self.directories.push(directory.clone());
        let common = self.named.line_after(&directory.join("commondir"), "").map(|at| directory.join(at));
        if let Some(common) = &common {
            self.directory(common.clone(), top);
        }
        let config = directory.join("config");
        let settings = self.named.settings_of(&config, top);
        self.named.in_each_worktree(top, |named, at| {
            named.add(&settings, &config, at, &directory);
            named.read(&directory.join("config.worktree"), at, &directory);
            // The configuration of all worktrees counts in a work tree that only this one names, too.
            if let Some(common) = common.as_deref().filter(|_| at != top) {
                named.read(&common.join("config"), at, common);
            }
        });
        for worktree in self.names(&directory.join("worktrees"), top) {
            // The `.git` file of the worktree.
            let git = self.named.line_after(&worktree.join("gitdir"), "").map(|git| worktree.join(git));
            self.named.others.extend(git);
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

    /// Returns the directories in a directory. If there are more names than are looked at, the work tree counts as unread.
    fn names(&mut self, directory: &Path, top: &Path) -> Vec<PathBuf> {
        let listed =
            std::fs::read_dir(directory).inspect_err(|error| self.links.unreadable(directory, error));
        let mut names = listed.into_iter().flatten().flatten();
        let found =
            names.by_ref().take(MAX_NAMES).filter(|name| name.file_type().is_ok_and(|kind| kind.is_dir()));
        let found = found.map(|name| name.path()).collect();
        if names.next().is_some() {
            self.named.unread(top);
        }
        found
    }

    /// Adds the links among the hooks.
    pub(super) fn links(&mut self) {
        let hooks: Vec<PathBuf> = self.directories.iter().map(|directory| directory.join("hooks")).collect();
        self.named.links_among_hooks(&hooks);
    }
}

/// Returns whether git takes the directory for a repository (setup.c, is_git_directory); the content of
/// `HEAD` is not checked.
fn is_repository(directory: &Path) -> bool {
    let has = |name: &str| is_there(&directory.join(name));
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::git_config;
    use crate::config::git_named_paths::MAX_INCLUDES;

    fn repository(at: &Path) {
        for name in ["objects", "refs"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        fs::write(at.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    fn around(cwd: &Path) -> Repositories<'static> {
        let mut found = Repositories::new(Box::leak(Box::default()));
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
        assert_eq!(
            found.named.others,
            [top.join("HEAD"), top.join("hooks"), PathBuf::from("/w/.git"), module]
        );
        // From a submodule: both repositories, and the `.git` file that leads to the first.
        let found = around(&root.join("top/sub"));
        assert_eq!(found.tops, [top.join("sub"), top.clone()]);
        assert_eq!(found.directories[..2], [git.join("modules/a/b"), git.clone()]);
        assert_eq!(found.named.others[0], top.join("sub/.git"));
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
        let is_whole = || around(&root).named.others.contains(&root);
        assert!(!is_whole());
        fs::write(git.join("config"), " ".repeat(git_config::MAX_BYTES as usize + 1)).unwrap();
        assert!(is_whole());
        let includes = (0..=MAX_INCLUDES).map(|i| format!("[include]\npath = /none/{i}\n"));
        fs::write(git.join("config"), includes.collect::<String>()).unwrap();
        assert!(is_whole());
        fs::write(git.join("config"), format!("[core]\n{}", "\tpager = a/b\n".repeat(5000))).unwrap();
        assert!(is_whole());
        // Each of these can be read, but not all.
        let includes: String =
            (0..10).map(|i| format!("[include]\npath = {}/{i}\n", root.display())).collect();
        (0..10).for_each(|i| fs::write(root.join(i.to_string()), " ".repeat(1_000_000)).unwrap());
        fs::write(git.join("config"), includes).unwrap();
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
        let others = around(&root).named.others;
        assert!(others.contains(&root.join("below")) && !others.contains(&root));
    }

    /// Whatever other repositories have, and in whatever order they are found.
    #[test]
    fn the_configuration_of_each_repository_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for other in 0..=MAX_ALL_SITES / MAX_SITES {
            let git = root.join(format!("{other}/.git"));
            repository(&git);
            fs::write(git.join("config"), format!("[core]\n\thooksPath = /hooks/{other}\n")).unwrap();
            (1..MAX_SITES)
                .for_each(|name| fs::create_dir_all(git.join(format!("worktrees/{name}"))).unwrap());
        }
        let others = around(&root).named.others;
        for other in 0..=MAX_ALL_SITES / MAX_SITES {
            assert!(others.contains(&format!("/hooks/{other}").into()), "{other}");
        }
    }

    #[test]
    fn odd_git_files_are_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for text in ["", "gitdir:", "gitdir: \n", "other: x", "gitdir: .\n", "gitdir: /none\n"] {
            fs::write(root.join(".git"), text).unwrap();
            let found = around(&root);
            assert_eq!(found.named.others[0], root.join(".git"), "{text:?}");
        }
        // A repository that is its own common directory.
        fs::remove_file(root.join(".git")).unwrap();
        repository(&root.join(".git"));
        fs::write(root.join(".git/commondir"), ".\n").unwrap();
        assert_eq!(around(&root).directories, [root.join(".git")]);
    }

    /// An included file names other files in each work tree. Of the work trees in one file, git takes the last.
    #[test]
    fn included_configurations_are_read_for_each_work_tree() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let git = root.join(".git");
        repository(&git);
        let many: String = (0..1000).map(|i| format!("\tworktree = /none/{i}\n")).collect();
        fs::write(git.join("config"), format!("[include]\n\tpath = common\n[core]\n{many}")).unwrap();
        fs::write(git.join("config.worktree"), "[core]\n\tworktree = /other\n").unwrap();
        fs::write(git.join("common"), "[core]\n\tfsmonitor = tools/f\n").unwrap();
        for found in [around(&root).named.others, named_by_git_directory(&Links::default(), &git, &root)] {
            let programs: Vec<_> = found.iter().filter(|path| path.ends_with("tools/f")).collect();
            let expected =
                [&root, Path::new("/none/999"), Path::new("/other")].map(|top| top.join("tools/f"));
            assert!(expected.iter().all(|path| programs.contains(&path)), "{programs:?}");
            assert!(!found.contains(&"/none/0/tools/f".into()));
        }
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
            assert!(found.named.others.contains(&root.join(name)), "{name}: {:?}", found.named.others);
        }
        assert!(!found.named.others.contains(&git.join("hooks/plain")));
    }
}
