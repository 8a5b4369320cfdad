//! The keys of a repository's configuration: those that run nothing, and what the best known others do.
//!
//! The tables follow git-config(1) of git 2.47 and the pages that it includes. A key that is not in the first table counts
//! as one that runs something. Left out on purpose are keys that switch a check off (`core.protectNTFS`, `safe.*`,
//! `transfer.fsckObjects`), that choose a program by its name (`branch.*.mergeOptions` with `-s`, `merge.tool`), that
//! make git work in submodules (`submodule.recurse`), or that decide how other keys are read (`extensions.*`).
//!
//! Why: docs/decisions.md, "The table lists what passes, and everything else must stay as it was, in order."

use super::values::{Values, is_word};
use Values::{Bool, Name, Number, OneOf, Ref, Refspec, Remote, Text, Url, Worktree};

/// A key that runs nothing.
pub(super) struct SafeKey {
    /// `*` stands for any subsection.
    pub(super) name: &'static str,
    pub(super) values: Values,
    /// Why it runs nothing.
    #[cfg_attr(not(test), expect(dead_code, reason = "the table is also its documentation"))]
    pub(super) why: &'static str,
}

/// Returns the safe key of this name in lower case.
pub(super) fn safe_key(section: &[u8], subsection: Option<&[u8]>, key: &[u8]) -> Option<&'static SafeKey> {
    SAFE.iter().find(|safe| fits(safe.name, section, subsection, key))
}

/// Returns the name of a key as its documentation writes it, and what it does, where that is known.
pub(super) fn executing_key(
    section: &[u8],
    subsection: Option<&[u8]>,
    key: &[u8],
) -> Option<(&'static str, &'static str)> {
    PROGRAMS.iter().chain(OTHERS).find(|(name, _)| fits(name, section, subsection, key)).copied()
}

/// Whether git, or a tool that keeps its settings in git's configuration, runs what the value of a key names.
pub fn names_program(section: &[u8], subsection: Option<&[u8]>, key: &[u8], value: &[u8]) -> bool {
    // Git may add any number of values that run nothing, for whoever calls it.
    let is_safe = |safe: &SafeKey| matches!(safe.values, OneOf(words) if is_word(value, words));
    let runs_nothing = || safe_key(section, subsection, key).is_some_and(is_safe);
    PROGRAMS.iter().any(|(name, _)| fits(name, section, subsection, key)) && !runs_nothing()
}

/// Whether a name is one of the table: `section.key`, `section.*.key`, or `section.**` for all of a section.
fn fits(name: &str, section: &[u8], subsection: Option<&[u8]>, key: &[u8]) -> bool {
    let Some((first, rest)) = name.split_once('.') else { return false };
    if !first.as_bytes().eq_ignore_ascii_case(section) {
        return false;
    }
    match (rest, rest.strip_prefix("*.")) {
        ("**", _) => true,
        (_, Some(rest)) => subsection.is_some() && rest.as_bytes().eq_ignore_ascii_case(key),
        (_, None) => subsection.is_none() && rest.as_bytes().eq_ignore_ascii_case(key),
    }
}

const fn safe(name: &'static str, values: Values, why: &'static str) -> SafeKey {
    SafeKey { name, values, why }
}

const WHO: &str = "text in commits";
const SHOWN: &str = "how something is shown";
const WORK_TREE: &str = "how files of the work tree are compared or written";
const HOW_TO_JOIN: &str = "how commits are joined, with git's own strategies";
const SPEED: &str = "how much work or memory something takes";
const BOOL: Values = Bool(&[]);

const SAFE: &[SafeKey] = &[
    safe("user.name", Text, WHO),
    safe("user.email", Text, WHO),
    safe("user.useConfigOnly", BOOL, WHO),
    safe("author.name", Text, WHO),
    safe("author.email", Text, WHO),
    safe("committer.name", Text, WHO),
    safe("committer.email", Text, WHO),
    safe(
        "core.repositoryFormatVersion",
        OneOf(&["0", "1"]),
        "what extensions mean, which have keys of their own; git clone changes it twice",
    ),
    safe("core.bare", OneOf(&["false", "no", "off", "0"]), "there is a work tree, as without the key"),
    safe("core.fileMode", BOOL, WORK_TREE),
    safe("core.ignoreCase", BOOL, WORK_TREE),
    safe("core.trustCtime", BOOL, WORK_TREE),
    safe("core.checkStat", OneOf(&["default", "minimal"]), WORK_TREE),
    safe("core.autoCrlf", Bool(&["input"]), WORK_TREE),
    safe("core.eol", OneOf(&["lf", "crlf", "native"]), WORK_TREE),
    safe("core.safeCrlf", Bool(&["warn"]), WORK_TREE),
    safe("core.sparseCheckout", BOOL, WORK_TREE),
    safe("core.sparseCheckoutCone", BOOL, WORK_TREE),
    safe("core.logAllRefUpdates", Bool(&["always"]), "which refs have a reflog"),
    safe("core.quotePath", BOOL, SHOWN),
    safe("core.abbrev", Text, SHOWN),
    safe("core.whitespace", Text, SHOWN),
    safe("core.compression", Number, SPEED),
    safe("core.looseCompression", Number, SPEED),
    safe("core.bigFileThreshold", Number, SPEED),
    safe("core.preloadIndex", BOOL, SPEED),
    safe("core.untrackedCache", Bool(&["keep"]), SPEED),
    safe("index.threads", BOOL, SPEED),
    safe("http.postBuffer", Number, SPEED),
    safe("pack.threads", Number, SPEED),
    safe("pack.windowMemory", Number, SPEED),
    safe("branch.*.remote", Remote, "the name of a remote, whose URL is judged by itself"),
    safe("branch.*.pushRemote", Remote, "the name of a remote, whose URL is judged by itself"),
    safe("remote.pushDefault", Remote, "the name of a remote, whose URL is judged by itself"),
    safe("branch.*.merge", Ref, "the ref that is merged from the remote"),
    safe("branch.*.rebase", Bool(&["merges", "interactive", "m", "i"]), HOW_TO_JOIN),
    safe("branch.*.description", Text, "text for people"),
    safe("branch.*.vscode-merge-base", Name, "a ref that Visual Studio Code compares with"),
    safe("branch.*.gh-merge-base", Name, "a branch that GitHub's program compares with"),
    safe("branch.*.github-pr-owner-number", Name, "the number of a pull request"),
    safe("branch.autoSetupMerge", Bool(&["always", "inherit", "simple"]), "which branches are tracked"),
    safe("branch.autoSetupRebase", OneOf(&["never", "local", "remote", "always"]), HOW_TO_JOIN),
    safe("branch.sort", Text, SHOWN),
    safe("tag.sort", Text, SHOWN),
    safe("remote.*.url", Url, "another host, to which git connects by https or ssh"),
    safe("remote.*.pushUrl", Url, "another host, to which git connects by https or ssh"),
    safe("remote.*.fetch", Refspec, "which refs are fetched"),
    safe("remote.*.prune", BOOL, "whether refs that are gone are removed"),
    safe("remote.*.pruneTags", BOOL, "whether tags that are gone are removed"),
    safe("remote.*.tagOpt", OneOf(&["--tags", "--no-tags"]), "which tags are fetched"),
    safe("remote.*.skipDefaultUpdate", BOOL, "whether all remotes include it"),
    safe("remote.*.skipFetchAll", BOOL, "whether all remotes include it"),
    safe("remote.*.gh-resolved", Name, "the repository that GitHub's program means"),
    safe("submodule.*.url", Url, "another host, to which git connects by https or ssh"),
    safe("submodule.*.active", BOOL, "whether a submodule is of interest"),
    safe("submodule.*.update", OneOf(&["checkout", "rebase", "merge", "none"]), HOW_TO_JOIN),
    safe("submodule.*.branch", Name, "the branch of a submodule that is followed"),
    safe("core.worktree", Worktree, "where a submodule has its files, below the work tree around it"),
    safe("init.defaultBranch", Name, "the name of a new branch"),
    safe(
        "push.default",
        OneOf(&["nothing", "current", "upstream", "tracking", "simple", "matching"]),
        "which refs are pushed",
    ),
    safe("push.autoSetupRemote", BOOL, "which branches are tracked"),
    safe("push.followTags", BOOL, "which refs are pushed"),
    safe("pull.rebase", Bool(&["merges", "interactive", "m", "i"]), HOW_TO_JOIN),
    safe("pull.ff", Bool(&["only"]), HOW_TO_JOIN),
    safe("merge.ff", Bool(&["only"]), HOW_TO_JOIN),
    safe("merge.conflictStyle", OneOf(&["merge", "diff3", "zdiff3"]), SHOWN),
    safe("merge.stat", BOOL, SHOWN),
    safe("rebase.autoStash", BOOL, HOW_TO_JOIN),
    safe("rebase.autoSquash", BOOL, HOW_TO_JOIN),
    safe("rebase.updateRefs", BOOL, HOW_TO_JOIN),
    safe("rerere.enabled", BOOL, HOW_TO_JOIN),
    safe("rerere.autoUpdate", BOOL, HOW_TO_JOIN),
    safe("fetch.prune", BOOL, "whether refs that are gone are removed"),
    safe("fetch.pruneTags", BOOL, "whether tags that are gone are removed"),
    safe("fetch.parallel", Number, SPEED),
    safe("commit.verbose", BOOL, SHOWN),
    safe("diff.algorithm", OneOf(&["default", "myers", "minimal", "patience", "histogram"]), SHOWN),
    safe("diff.renames", Bool(&["copies", "copy"]), SHOWN),
    safe("diff.context", Number, SHOWN),
    safe("diff.noPrefix", BOOL, SHOWN),
    safe("diff.mnemonicPrefix", BOOL, SHOWN),
    safe("diff.colorMoved", Bool(&["plain", "blocks", "zebra", "dimmed-zebra", "default"]), SHOWN),
    safe("log.date", Text, SHOWN),
    safe("log.decorate", Bool(&["short", "full", "auto"]), SHOWN),
    safe("log.abbrevCommit", BOOL, SHOWN),
    safe("status.short", BOOL, SHOWN),
    safe("status.branch", BOOL, SHOWN),
    safe("status.showStash", BOOL, SHOWN),
    safe("status.showUntrackedFiles", Bool(&["normal", "all"]), SHOWN),
    safe("color.**", Text, "colors"),
    safe("column.**", Text, SHOWN),
    safe("advice.**", BOOL, "which hints are shown"),
];

const CONNECTS: &str = "git would connect elsewhere, or by another program";
const CHECKS: &str = "it decides what git checks or trusts";

/// The best known other keys whose values name programs, with what git, or a tool that keeps its settings in git's
/// configuration, runs.
const PROGRAMS: &[(&str, &str)] = &[
    ("core.fsmonitor", "git runs it at every status"),
    ("core.sshCommand", "git runs it to connect"),
    ("core.gitProxy", "git runs it to connect"),
    ("core.askPass", "git runs it to ask for passwords"),
    ("core.editor", "git runs it to edit"),
    ("sequence.editor", "git runs it to edit"),
    ("core.pager", "git runs it to show output"),
    ("pager.**", "git runs it to show output"),
    ("core.alternateRefsCommand", "git runs it to fetch"),
    ("alias.**", "an alias runs any program"),
    ("filter.**", "git runs filters when it writes or reads files"),
    ("diff.*.command", "git runs it to compare"),
    ("diff.*.textconv", "git runs it to compare"),
    ("diff.external", "git runs it to compare"),
    ("difftool.**", "git runs it to compare"),
    ("merge.*.driver", "git runs it to merge"),
    ("mergetool.**", "git runs it to merge"),
    ("interactive.diffFilter", "git runs it to show changes"),
    ("credential.**", "git runs helpers, and gives them passwords"),
    ("gpg.**", "git runs it to sign and to verify"),
    ("trailer.**", "git runs it for each commit"),
    ("browser.**", "git runs it to show pages"),
    ("man.**", "git runs it to show pages"),
    ("sendemail.**", "git runs it to send mail"),
    ("lfs.**", "Git LFS connects there, or runs it"),
    ("uploadpack.**", "git runs it for those who fetch"),
    ("remote.*.uploadPack", CONNECTS),
    ("remote.*.receivePack", CONNECTS),
    ("remote.*.vcs", CONNECTS),
    ("submodule.*.update", "with ! git runs the rest as a command"),
    ("guitool.**", "git gui runs it"),
    ("tar.*.command", "git archive runs it"),
    ("imap.tunnel", "git imap-send runs it to connect"),
    ("instaweb.**", "git instaweb runs it"),
    ("svn.authorsProg", "git svn runs it"),
    ("gitflow.*.hooks", "git flow runs the hooks in that directory"),
    ("annex.**", "git-annex runs some of these commands"),
    ("remote.*.annex-cost-command", "git-annex runs it"),
    ("remote.*.annex-start-command", "git-annex runs it"),
    ("remote.*.annex-stop-command", "git-annex runs it"),
    ("remote.*.annex-shell", "git-annex has ssh run it"),
    ("gc.recentObjectsHook", "git gc runs it, since 2.42"),
    ("delta.pager", "delta runs it to show output"),
    ("delta.*.pager", "delta runs it to show output"),
    ("tig.bind", "tig runs it at a key"),
    ("secrets.providers", "git-secrets runs it in its hooks"),
    ("hook.*.command", "git runs it as a hook, since 2.54"),
];

/// What the remaining well-known keys do. No key is both here and in [`PROGRAMS`].
const OTHERS: &[(&str, &str)] = &[
    ("core.hooksPath", "git runs the hooks in that directory"),
    ("core.worktree", "git would work on another directory"),
    ("core.bare", "git would no longer see the work tree"),
    ("core.attributesFile", "attributes switch on filters and drivers"),
    ("core.excludesFile", "it hides files from you"),
    ("include.**", "the other file could set any key"),
    ("includeIf.**", "the other file could set any key"),
    ("user.signingKey", "it decides which key signs"),
    ("url.**", CONNECTS),
    ("http.**", CONNECTS),
    ("https.**", CONNECTS),
    ("remote.*.proxy", CONNECTS),
    ("ssh.**", CONNECTS),
    ("protocol.**", CHECKS),
    ("safe.**", CHECKS),
    ("transfer.**", CHECKS),
    ("receive.**", CHECKS),
    ("fetch.fsckObjects", CHECKS),
    ("extensions.**", "it decides how git reads the repository and its other keys"),
    ("core.repositoryFormatVersion", "it decides how git reads the repository and its other keys"),
    ("branch.*.mergeOptions", "with -s git runs a program of that name"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_safe_key_has_a_reason_and_comes_once() {
        let mut names: Vec<String> = SAFE.iter().map(|safe| safe.name.to_ascii_lowercase()).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(SAFE.iter().all(|safe| !safe.why.is_empty()));
    }

    #[test]
    fn what_runs_a_program_is_no_safe_key() {
        for (name, _) in PROGRAMS {
            let parts: Vec<&[u8]> = name.split('.').map(str::as_bytes).collect();
            let (section, key) = (parts[0], parts[parts.len() - 1]);
            let subsection = (parts.len() > 2).then_some(&b"x"[..]);
            // `submodule.*.update` runs a program only with some values.
            let is_safe = safe_key(section, subsection, key).is_some();
            assert_eq!(is_safe, *name == "submodule.*.update", "{name}");
            assert!(names_program(section, subsection, key, b"!x"), "{name}");
        }
        assert!(!names_program(b"user", None, b"name", b"!x"));
        let update = |value| names_program(b"submodule", Some(b"a"), b"update", value);
        assert!(!update(b"none") && !update(b"Merge") && update(b"!none") && update(b"x"));
    }

    #[test]
    fn names_fit_with_their_subsection_only() {
        assert!(safe_key(b"user", None, b"name").is_some());
        assert!(safe_key(b"user", Some(b"x"), b"name").is_none());
        assert!(safe_key(b"branch", None, b"remote").is_none());
        assert!(safe_key(b"branch", Some(b"a.b"), b"remote").is_some());
        assert!(safe_key(b"color", Some(b"diff"), b"meta").is_some());
        assert!(safe_key(b"core", None, b"hookspath").is_none());
        assert_eq!(executing_key(b"core", None, b"hookspath").unwrap().0, "core.hooksPath");
        assert!(executing_key(b"xyz", None, b"a").is_none());
    }
}
