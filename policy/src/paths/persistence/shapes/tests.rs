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
    for name in [".github/workflows/x.yml", ".cursor/notes.md", ".openhands/skills/x.md", "code-workspace"] {
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
