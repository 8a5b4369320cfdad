//! Finds what `${workspace}` stands for: the top of the git repository around the start directory, else the start
//! directory.
//!
//! The operator chooses the start directory, but a guarded program may have made a `.git` above it. An earlier run may
//! have made one in any directory that it could write, and the next run would get all of that directory. So a top above
//! the start directory counts only if no guarded run could have made it, by the record of such runs
//! (`workspace_record`) and by the policy. Neither git nor the contents of `.git` matter: a directory with that name in
//! it is a top.
//!
//! Why: docs/decisions.md, "`${workspace}` is found by the name `.git`, and a record decides whether it is the
//! operator's."

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use guard_policy::text::shown;
use guard_policy::{Workspace, known};

use crate::config::options::Options;
use crate::config::paths::Paths;
use crate::config::workspace_record::{RunRecord, is_repository};

/// Finds the workspace. `writable` reports whether some rule of the policy that does not depend on the workspace lets a
/// run write at a path unasked.
pub(super) fn find(options: &Options, paths: &Paths, writable: impl Fn(&[u8]) -> bool) -> Workspace {
    if options.untrusted_environment || start_link(paths).is_some() {
        return start(options, paths);
    }
    let record = paths.runs();
    let top = nearest_top(&paths.cwd, &record).filter(|top| unfit(paths, top).is_none());
    let Some(top) = top else { return start(options, paths) };
    // A denial holds for every directory that may be meant: whoever made the `.git` may have wanted to get around the
    // denial.
    let above = paths.cwd.ancestors().skip(1).filter(|dir| !paths.home.starts_with(dir));
    let others: Vec<Vec<u8>> = above.filter(|dir| is_repository(dir) || record.has(dir)).map(bytes).collect();
    if top == paths.cwd && others.is_empty() {
        // The start directory itself has the `.git`, so there is no choice. The policy need not be compiled.
        return start(options, paths);
    }
    let why = match () {
        () if !is_the_operators(&top) => "its .git is gone, a symbolic link, or of another user",
        () if !record.vouches_for(&top) => "an earlier guarded run could have made the .git there",
        () if writable(top.join(".git").as_os_str().as_bytes()) => {
            "the policy lets every run make a .git there"
        }
        () => return Workspace::at(top.as_os_str().as_bytes()),
    };
    let found = start(options, paths);
    if found.root.is_none() {
        return found;
    }
    let note = format!(
        "${{workspace}} is the start directory {} and not the repository {}: {why}. Start the guard in {} to work in all of it.",
        text(&paths.cwd),
        text(&top),
        text(&top)
    );
    // A guard that was started in the top itself has all of it already, so the operator needs no note.
    Workspace { others, note: Some(note).filter(|_| top != paths.cwd), ..found }
}

/// Returns the start directory as the workspace, if it may be one.
pub(super) fn start(options: &Options, paths: &Paths) -> Workspace {
    let start = text(&paths.cwd);
    let none = |others, why: String| {
        let note = format!("${{workspace}} names nothing here, and rules with it grant nothing: {why}");
        Workspace { root: None, others, note: Some(note) }
    };
    if options.untrusted_environment {
        let why = "with --untrusted-environment the start directory is not the operator's choice. Name directories in the policy";
        return none(Vec::new(), why.to_owned());
    }
    let others = vec![bytes(&paths.cwd)];
    if let Some(link) = start_link(paths) {
        let link = shown(link);
        let why = format!(
            "{link} is a symbolic link that a guarded program may have made, and it led to this directory. Start in {start} itself"
        );
        return none(others, why);
    }
    match unfit(paths, &paths.cwd) {
        Some(why) => none(others, format!("{start} {why}. Start in a project's directory")),
        None => Workspace::at(paths.cwd.as_os_str().as_bytes()),
    }
}

fn start_link(paths: &Paths) -> Option<&[u8]> {
    paths.persistence_sites.start_link.as_deref()
}

/// Returns the nearest directory, from the start directory upward, that has or had a `.git`. A directory that has lost
/// its `.git` still ends the search: a run may have removed it so that a directory above is found.
fn nearest_top(start: &Path, record: &RunRecord) -> Option<PathBuf> {
    start.ancestors().find(|dir| is_repository(dir) || record.was_repository(dir)).map(Path::to_owned)
}

/// Returns why a directory is too much for a workspace, if it is.
fn unfit(paths: &Paths, directory: &Path) -> Option<String> {
    if paths.home.starts_with(directory) {
        return Some("is your home directory or contains it".to_owned());
    }
    if let Some(secret) =
        known::secret_in(directory.as_os_str().as_bytes(), paths.home.as_os_str().as_bytes())
    {
        return Some(format!("contains secrets ({secret})"));
    }
    let programs = paths.programs_in(directory)?;
    Some(format!("contains programs that are not part of a project ({programs})"))
}

/// Returns whether the directory and its `.git` belong to this user, as git requires. No other user's `.git` counts.
fn is_the_operators(top: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let owned =
        |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.uid() == user && !meta.is_symlink());
    owned(top) && owned(&top.join(".git"))
}

fn text(path: &Path) -> String {
    shown(path.as_os_str().as_bytes())
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(test)]
mod tests;
