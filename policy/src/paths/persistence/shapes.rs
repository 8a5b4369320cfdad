//! Places that are protected wherever they are, by the components of their path.
//!
//! A search for repositories and workspaces can be misled: by the start directory, by an earlier session, by what was
//! moved away for a moment. A shape cannot. It consists of a *tail*, such as `.vscode/` or `hooks/`, and the directory
//! that holds it. Files that the tree puts into a holder that it made in the same session are its own; the caller of
//! [`crate::decide`] knows which directories those are.

use std::sync::Arc;

use super::Set;
use super::components::{
    Component, Components, GIT_ALTERNATES, GIT_FILES, GIT_GUESTS, GIT_REMOTES, GIT_UNFINISHED, Shape,
    ShapeKind,
};
use super::git_locked::{GIT_LOCKED, is_config_or_lock};
use super::git_parts::GitPart;
use super::tails::{OTHER_REPOSITORIES, ShapeTail, TAILS};
use super::{PersistenceSites, git_directory, git_parts};
use crate::Grant;
use crate::verdict::CompiledReason;

/// What makes a directory look like a git directory (git's setup.c, `is_git_directory`), and what says where its work tree
/// is: git forgets a work tree without it.
const GIT_MARKS: [&[u8]; 5] = [b"HEAD", b"objects", b"refs", b"commondir", b"gitdir"];

/// Directories of installed packages, by the names that npm and pip give them.
const PACKAGES: [&[u8]; 2] = [b"node_modules", b"site-packages"];

/// Returns whether a real path is a directory of installed packages, or lies in one.
pub(crate) fn lies_in_packages(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| PACKAGES.contains(&name))
}

/// The shapes that a policy protects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    /// The reason of each set that is on.
    reasons: Vec<(Set, Arc<CompiledReason>)>,
    /// The reason for git's configuration, which says what may change there.
    git_config: Option<Arc<CompiledReason>>,
    /// Home directories. Lists of their own say which names are protected in them.
    homes: Vec<Vec<u8>>,
    /// The directories of hooks that a configuration names relative to each work tree, as components.
    hooks: Vec<Vec<Vec<u8>>>,
    /// The sets about which the guard asks.
    asked: Vec<Set>,
    /// [`super::PersistenceSites::this_host`].
    this_host: Vec<Vec<u8>>,
}

impl Shapes {
    pub(super) fn new(
        reasons: Vec<(Set, Arc<CompiledReason>)>,
        git_config: Option<Arc<CompiledReason>>,
        homes: Vec<Vec<u8>>,
        sites: &PersistenceSites,
        asked: Vec<Set>,
    ) -> Shapes {
        let components = |path: &Vec<u8>| {
            let names = path.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
            names.map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        // A path without a name would be the work tree itself, and one with `..` a place outside of it.
        let is_plain = |path: &Vec<Vec<u8>>| !path.is_empty() && path.iter().all(|name| name != b"..");
        let hooks = sites.hook_directories.iter().map(components).filter(is_plain).collect();
        let has_shape = |set: Set| set == Set::Git || TAILS.all().any(|(_, tail)| tail.set == set);
        let reasons = reasons.into_iter().filter(|(set, _)| has_shape(*set)).collect();
        Shapes { reasons, git_config, homes, hooks, asked, this_host: sites.this_host.clone() }
    }

    /// Returns the names and addresses of this machine.
    pub(crate) fn this_host(&self) -> &[Vec<u8>] {
        &self.this_host
    }

    /// Returns whether nothing is protected by its shape.
    pub(crate) fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Returns the home directories.
    pub(crate) fn homes(&self) -> &[Vec<u8>] {
        &self.homes
    }

    /// Returns the reason of a set, if it is on.
    pub(crate) fn reason(&self, set: Set) -> Option<&CompiledReason> {
        self.reasons.iter().find(|(other, _)| *other == set).map(|(_, reason)| &**reason)
    }

    /// Returns a pattern for each shape, as the operator would write it, with the reason of its set.
    pub(crate) fn patterns(&self) -> Vec<(String, Set, &CompiledReason)> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let mut shapes: Vec<(String, Set)> = Vec::new();
        shapes.extend(TAILS.all().map(|(first, tail)| {
            // A pattern has no sign for a number, so a star takes its place.
            let names = [first].into_iter().chain(tail.rest.iter().copied()).map(text);
            let end = if tail.is_directory { "/**" } else { "" };
            (format!("**/{}{end}", names.collect::<Vec<_>>().join("/")).replace('#', "*"), tail.set)
        }));
        let git = |part: &str| (format!("**/{part}"), Set::Git);
        shapes.push(git(".git"));
        shapes.extend(GIT_REMOTES.map(|name| git(&format!(".git/{}/**", text(name)))));
        shapes.extend(GIT_GUESTS.map(|name| git(&format!(".git/{}/config", text(name)))));
        for top in ["", "modules/**/", "worktrees/**/"] {
            let names = GIT_FILES.iter().copied().chain(GIT_LOCKED.iter().flat_map(|config| config.names()));
            let files = names.map(text).chain(["info/attributes".into(), "hooks/**".into()]);
            let alternates = GIT_ALTERNATES.map(|file| format!("objects/{}", text(file)));
            let unfinished = GIT_UNFINISHED.map(|directory| format!("{}/**", text(directory)));
            let files = files.chain(alternates).chain(unfinished);
            shapes.extend(files.map(|file| git(&format!(".git/{top}{file}"))));
        }
        for (name, files) in OTHER_REPOSITORIES {
            shapes.extend(files.iter().map(|file| git(&format!("{}/{}", text(name), text(file)))));
        }
        let hooks =
            self.hooks.iter().map(|names| names.iter().map(|name| text(name)).collect::<Vec<_>>().join("/"));
        shapes.extend(hooks.map(|path| git(&format!("{path}/**"))));
        shapes.sort();
        let on = shapes.into_iter().filter_map(|(shape, set)| Some((shape, set, self.reason(set)?)));
        on.collect()
    }

    /// Returns whether the guard asks about a set.
    pub(crate) fn asks(&self, set: Set) -> bool {
        self.asked.contains(&set)
    }

    /// Returns what is left of `w` at a protected path, and the reason: that of the first set that denies the path,
    /// else that of a set that asks about it.
    pub(crate) fn first(&self, path: &[u8]) -> Option<(Grant, &CompiledReason)> {
        let mut found = None;
        self.each(path, &mut |shape| {
            let is_config = || path.rsplit(|byte| *byte == b'/').next().is_some_and(is_config_or_lock);
            let reason = match shape.kind {
                ShapeKind::GitLocked if is_config() => self.git_config.as_deref(),
                _ => None,
            };
            let w = if shape.may_be_asked && self.asks(shape.set) { Grant::Ask } else { Grant::No };
            if found.is_none() || w == Grant::No {
                found = reason.or_else(|| self.reason(shape.set)).map(|reason| (w, reason));
            }
            w == Grant::No
        });
        found
    }

    /// Returns every protected shape in a real path.
    pub(crate) fn all<'p>(&self, path: &'p [u8]) -> Vec<Shape<'p>> {
        let mut shapes = Vec::new();
        self.each(path, &mut |shape| {
            shapes.push(shape);
            false
        });
        shapes
    }

    /// Calls `found` for each protected shape until it returns true.
    fn each<'p>(&self, path: &'p [u8], found: &mut dyn FnMut(Shape<'p>) -> bool) {
        if self.is_empty() {
            return;
        }
        let is_on = |set| self.reason(set).is_some();
        for at in Components::all(path) {
            let (name, holder) = (at.name(), at.holder());
            let tail = TAILS
                .after(name)
                .find(|tail| is_on(tail.set) && at.matches(tail) && self.counts(tail, holder));
            if let Some(tail) = tail
                && found(Shape {
                    set: tail.set,
                    holder,
                    kind: if tail.is_directory { ShapeKind::All } else { ShapeKind::File },
                    may_be_asked: tail.may_be_asked,
                })
            {
                return;
            }
            if is_on(Set::Git) && self.repository(&at, found) {
                return;
            }
        }
    }

    /// Calls `found` for what the path is, if the component names a repository or a directory of hooks.
    fn repository<'p>(&self, at: &Component<'p>, found: &mut dyn FnMut(Shape<'p>) -> bool) -> bool {
        if at.name().eq_ignore_ascii_case(b".git") {
            return git_directory::parts(at, found);
        }
        for (name, files) in OTHER_REPOSITORIES {
            let inside = at.rest();
            if at.name().eq_ignore_ascii_case(name) && files.contains(&inside) {
                return found(Shape::of_git(at.itself(), ShapeKind::File, at));
            }
        }
        let leads = |hooks: &Vec<Vec<u8>>| {
            let mut names = at.onward();
            hooks.iter().all(|hook| names.next().is_some_and(|name| name.name() == hook))
        };
        self.hooks.iter().any(leads) && found(Shape::of_git(at.holder(), ShapeKind::All, at))
    }

    /// Whether a tail counts in a directory: in a home, the home's own lists come first. Among installed packages, only
    /// the shapes of git count: a program that installs and removes packages writes all of their files.
    fn counts(&self, tail: &ShapeTail, holder: &[u8]) -> bool {
        let is_of_packages = tail.set != Set::Git && lies_in_packages(holder);
        !is_of_packages && (tail.is_also_of_homes || self.homes.iter().all(|home| home != holder))
    }

    /// Returns the protected shape that a directory or a link at a path could have below it: the path ends before the
    /// shape's tail does. If a directory at the path would itself be the shape's holder, the path is the holder.
    pub(crate) fn leads_to<'p>(&self, path: &'p [u8]) -> Option<Shape<'p>> {
        if self.is_empty() {
            return None;
        }
        let is_on = |set| self.reason(set).is_some();
        let shape = |set, holder| Shape { set, holder, kind: ShapeKind::All, may_be_asked: false };
        Components::all(path).find_map(|at| {
            let holder = at.holder();
            if let Some(holder) = at.leads_into_repository().filter(|_| is_on(Set::Git)) {
                return Some(shape(Set::Git, holder));
            }
            let names: Vec<&[u8]> = at.onward().map(|name| name.name()).collect();
            let leads = |hooks: &Vec<Vec<u8>>| {
                names.len() < hooks.len() && hooks.iter().zip(&names).all(|(a, b)| a == b)
            };
            if is_on(Set::Git) && self.hooks.iter().any(leads) {
                return Some(shape(Set::Git, holder));
            }
            let mut leading = TAILS.after(at.name()).filter(|tail| is_on(tail.set) && at.leads(tail));
            let tail = leading.find(|tail| self.counts(tail, holder))?;
            Some(shape(tail.set, holder))
        })
    }

    /// Returns the directories around a path, each as the holder of everything in it that is git's.
    pub(crate) fn around<'p>(&self, path: &'p [u8]) -> Vec<Shape<'p>> {
        if self.reason(Set::Git).is_none() {
            return Vec::new();
        }
        let directories = Components::all(path).skip(1).map(|at| at.holder());
        let shape = |holder| Shape { set: Set::Git, holder, kind: ShapeKind::All, may_be_asked: false };
        directories.map(shape).collect()
    }

    /// Returns what a path is part of, if the directories on the way are git directories.
    pub(crate) fn git_parts<'p>(&self, path: &'p [u8]) -> Vec<GitPart<'p>> {
        if self.reason(Set::Git).is_none() {
            return Vec::new();
        }
        git_parts::all(path)
    }

    /// Returns each directory on the way in which a directory at the path would mean something to git, if it were a git
    /// directory. Each comes with the holder of what may lie below the path.
    pub(crate) fn git_leads<'p>(&self, path: &'p [u8]) -> Vec<(&'p [u8], &'p [u8])> {
        if self.reason(Set::Git).is_none() {
            return Vec::new();
        }
        git_parts::leads(path)
    }

    /// Returns the directory that may become a git directory by a name that is made in it.
    pub(crate) fn marked<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        self.reason(Set::Git)?;
        let last = Components::all(path).find(Component::is_last)?;
        GIT_MARKS.contains(&last.name()).then(|| last.holder())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GitLook, Source};

    fn shapes() -> Shapes {
        let reason = |set| {
            let reason = CompiledReason {
                source: Source::Builtin,
                path: String::new(),
                rule: String::new(),
                text: String::new(),
            };
            (set, Arc::new(reason))
        };
        let hook_directories = [".githooks", "../up", "./tools/hooks/", "."].map(|path| path.into()).to_vec();
        let sites = PersistenceSites { hook_directories, ..PersistenceSites::default() };
        Shapes::new(
            Set::ALL.into_iter().map(reason).collect(),
            None,
            vec![b"/home/u".to_vec()],
            &sites,
            vec![Set::Git, Set::Direnv, Set::Agents],
        )
    }

    fn holders(path: &str) -> Vec<String> {
        let holder = |shape: &Shape<'_>| String::from_utf8(shape.holder.to_vec()).unwrap();
        shapes().all(path.as_bytes()).iter().map(holder).collect()
    }

    #[test]
    fn a_git_directory_is_known_by_its_name() {
        for part in [
            "config",
            "config.lock",
            "config.worktree",
            "config.worktree.lock",
            "config.openclaw-guard",
            "config.worktree.openclaw-guard",
            "index",
            "index.lock",
            "MERGE_RR",
            "commondir",
            "hooks",
            "hooks/pre-commit",
            "info/attributes",
        ] {
            assert_eq!(holders(&format!("/a/b/.git/{part}")), ["/a/b/.git"], "{part}");
        }
        assert_eq!(holders("/.git/config"), ["/.git"]);
        assert_eq!(holders("/a/.GIT/config"), ["/a/.GIT"]);
        assert_eq!(holders("/a/.git"), ["/a"]);
        // git uses the directory of a submodule when the submodule is initialised, whoever made the directory.
        assert_eq!(holders("/a/.git/modules/x/y/config"), ["/a/.git"]);
        assert_eq!(holders("/a/.git/modules/x/hooks/update"), ["/a/.git"]);
        assert_eq!(holders("/a/.git/modules/x/hooks"), ["/a/.git"]);
        // Nothing runs a sample. But the operator who made the directory may take it for a file that came with git.
        assert_eq!(holders("/a/.git/modules/x/hooks/update.sample"), ["/a/.git/modules/x/hooks"]);
        assert_eq!(holders("/a/.git/modules/x/hooks/.sample"), ["/a/.git"]);
        assert_eq!(holders("/a/.git/modules/x/hooks/a/b.sample"), ["/a/.git"]);
        assert_eq!(holders("/a/.git/hooks/update.sample"), ["/a/.git"]);
        assert_eq!(holders("/a/.git/remotes/origin"), ["/a/.git"]);
        assert_eq!(holders("/a/.git/worktrees/w1/commondir"), ["/a/.git/worktrees/w1"]);
        // A work tree's git directory may hold parts of a submodule. If the guarded tree made that directory, they are its own.
        assert_eq!(holders("/a/.git/worktrees/w1/modules/x/config"), ["/a/.git/worktrees/w1"]);
        assert_eq!(holders("/a/.git/objects/info/alternates"), ["/a/.git"]);
        assert_eq!(holders("/a/.git/rebase-merge/git-rebase-todo"), ["/a/.git/rebase-merge"]);
        // What git does not know, something else reads.
        for other in ["MERGE_AUTOSTASH", "other.yml", "x/y", "sharedindex.1", "worktrees/w/x"] {
            assert_eq!(holders(&format!("/a/.git/{other}")), ["/a/.git"], "{other}");
        }
        assert_eq!(holders("/a/.git/sl/config"), ["/a/.git"]);
        assert_eq!(holders("/a/.git/sl/store/config"), [""; 0]);
        for path in [
            "/a/.git/HEAD",
            "/a/.git/HEAD.lock",
            "/a/.git/refs/heads/config",
            "/a/.git/refs/heads/hooks/x",
            "/a/.git/info/exclude",
            "/a/.git/rebase-merge",
            "/a/.git/index.stash.1.lock",
            "/a/.git/COMMIT_EDITMSG",
            "/a/git/config",
            "/a/.github/config",
            "/a/hooks/x",
        ] {
            assert_eq!(holders(path), [""; 0], "{path}");
        }
    }

    /// If git is given the directory around a `.git`, git takes that `.git` for the repository.
    #[test]
    fn a_git_directory_holds_no_other() {
        let kinds = |path: &'static str| {
            let shapes = shapes();
            shapes.all(path.as_bytes()).iter().map(|shape| shape.kind).collect::<Vec<_>>()
        };
        for path in ["/a/.git/.git", "/a/.git/modules/x/y/.git", "/a/.git/worktrees/w/.GIT"] {
            assert_eq!(kinds(path), [ShapeKind::All, ShapeKind::File], "{path}");
        }
        assert_eq!(kinds("/a/.git/x/.git"), [ShapeKind::All, ShapeKind::File]);
        assert_eq!(kinds("/a/.git/objects/.git"), [ShapeKind::File]);
        let of = |path: &'static [u8]| {
            let part = shapes().git_parts(path).into_iter().find(|part| part.directory == b"/a/x");
            part.map(|part| part.shape.kind)
        };
        assert_eq!((of(b"/a/x/.git"), of(b"/a/x/.git/HEAD")), (Some(ShapeKind::All), None));
    }

    #[test]
    fn files_of_workspaces_are_protected_in_every_directory_but_for_what_a_home_lists() {
        assert_eq!(holders("/a/.envrc"), ["/a"]);
        assert_eq!(holders("/a/b/.vscode"), ["/a/b"]);
        assert_eq!(holders("/a/b/.vscode/x/y"), ["/a/b"]);
        assert_eq!(holders("/home/u/p/.idea/workspace.xml"), ["/home/u/p"]);
        assert_eq!(holders("/home/u/.vscode/argv.json"), [""; 0]);
        assert_eq!(holders("/home/u/.envrc/x"), [""; 0]);
        assert_eq!(holders("/home/u/.cache/uv/sdists-v9/.git").len(), 1);
        assert_eq!(holders("/home/u/.cache/uv/sdists-v9/x/.git").len(), 1);
        assert_eq!(holders("/home/u/sdists-v/.git").len(), 1);
        assert!(!holders("/home/u/.cache/uv/sdists-v9/.git/config").is_empty());
        assert_eq!(holders("/home/u/.idea/workspace.xml"), ["/home/u"]);
        assert_eq!(holders("/home/u/.claude/hooks/x"), [""; 0]);
        assert_eq!(holders("/a/.jj/repo/store/git_target"), ["/a/.jj"]);
        assert_eq!(holders("/a/.git/lazygit.yml"), ["/a", "/a/.git"]);
        assert_eq!(holders("/a/mise.x.toml"), ["/a"]);
        assert_eq!(holders("/a/.config/mise.x.toml"), ["/a", "/a/.config"]);
        assert_eq!(holders("/a/mise.toml.x"), [""; 0]);
        assert_eq!(holders("/a/.hg/requires"), ["/a/.hg"]);
        assert_eq!(holders("/a/.jj/repo/config.toml"), ["/a/.jj"]);
        assert_eq!(holders("/a/.jj/repo"), ["/a/.jj"]);
        assert_eq!(holders("/a/.jj/repo/store/type"), ["/a/.jj"]);
        assert_eq!(holders("/a/.jj/repo/store"), [""; 0]);
    }

    #[test]
    fn what_agents_and_editors_start_from_a_project_is_known() {
        for name in [
            ".cursor/worktrees.json",
            ".agents/hooks.json",
            ".agents/mcp_config.json",
            ".agent/hooks.json",
            ".kiro/agents/x.json",
            ".github/lsp.json",
            ".github/extensions/x/extension.mjs",
            ".roo/tools/x.ts",
            ".vibe/tools/x.py",
            ".vibe/hooks.toml",
            ".openhands/setup.sh",
            ".gitlab/duo/mcp.json",
            ".mux/init",
            ".claude/launch.json",
            ".claude/workflows/x.js",
            ".grok/hooks/x.json",
            ".augment/settings.local.json",
            ".kilo/plugin/x.ts",
            "kilo.jsonc",
            ".kilocode/setup-script",
            ".tabnine/agent/settings.json",
            ".codebuddy/settings.local.json",
            ".gemini/policies/x.toml",
            ".lite_project.lua",
            "x.code-workspace",
            "x.sublime-project",
            ".kateproject",
        ] {
            assert_eq!(holders(&format!("/a/{name}")), ["/a"], "{name}");
        }
        for name in
            [".github/workflows/x.yml", ".cursor/notes.md", ".openhands/skills/x.md", "code-workspace"]
        {
            assert_eq!(holders(&format!("/a/{name}")), [""; 0], "{name}");
        }
    }

    #[test]
    fn hooks_may_be_anywhere_in_a_work_tree() {
        assert_eq!(holders("/a/.githooks/pre-commit"), ["/a"]);
        assert_eq!(holders("/a/b/tools/hooks"), ["/a/b"]);
        assert_eq!(holders("/a/up/x"), [""; 0]);
    }

    #[test]
    fn directories_that_lead_to_a_shape_are_known() {
        let holder = |path: &'static str| shapes().leads_to(path.as_bytes()).map(|shape| shape.holder);
        assert_eq!(holder("/a/.git"), Some(&b"/a/.git"[..]));
        assert_eq!(holder("/a/.git/modules/x"), Some(&b"/a/.git"[..]));
        assert_eq!(holder("/a/.git/worktrees/x"), Some(&b"/a/.git/worktrees/x"[..]));
        assert_eq!(holder("/a/.git/sl"), Some(&b"/a/.git"[..]));
        assert_eq!(holder("/a/.git/sl/x"), None);
        assert_eq!(holder("/a/.git/info"), Some(&b"/a/.git"[..]));
        assert_eq!(holder("/a/.git/tmp"), None);
        assert_eq!(holder("/a/.claude"), Some(&b"/a"[..]));
        assert_eq!(holder("/home/u/.claude"), None);
        assert_eq!(holder("/home/u/.junie"), Some(&b"/home/u"[..]));
        assert_eq!(holder("/a/tools"), Some(&b"/a"[..]), "hooks may be below it");
        assert_eq!(holder("/a/.vscode"), None, "it is one");
        assert_eq!(holder("/a/b"), None);
    }

    #[test]
    fn a_bare_repository_is_known_by_what_lies_in_it() {
        let shapes = shapes();
        let sure = |path: &'static [u8]| {
            let mut parts = shapes.git_parts(path);
            parts.retain(|part| part.look == GitLook::Partial);
            parts.iter().map(|part| part.directory).collect::<Vec<_>>()
        };
        assert_eq!(sure(b"/a/x/hooks/update"), [b"/a/x"]);
        assert_eq!(sure(b"/config"), [b"/"]);
        assert_eq!(sure(b"/a/config/x"), [b""; 0]);
        assert_eq!(shapes.marked(b"/a/x/HEAD"), Some(&b"/a/x"[..]));
        assert_eq!(shapes.marked(b"/a/x/heads"), None);
    }

    #[test]
    fn nothing_is_protected_where_every_set_is_off() {
        let shapes = Shapes::new(Vec::new(), None, Vec::new(), &PersistenceSites::default(), Vec::new());
        assert!(shapes.is_empty() && shapes.all(b"/a/.git/config").is_empty());
        assert!(shapes.first(b"/a/.envrc").is_none() && shapes.leads_to(b"/a/.git").is_none());
        assert!(shapes.git_parts(b"/a/config").is_empty() && shapes.marked(b"/a/HEAD").is_none());
    }
}
