//! What is protected in a git directory, by the path below its name.

use super::components::{Component, GIT_GUESTS, GIT_NESTS, GIT_REMOTES, GIT_UNFINISHED, Shape, ShapeKind};
use super::git_data::is_known;

/// Calls `found` for each protected part of a git directory that the path leads to, until `found` returns true. `git` is
/// the component that names the directory.
pub(super) fn parts<'p>(git: &Component<'p>, found: &mut dyn FnMut(Shape<'p>) -> bool) -> bool {
    let shape = |holder, kind| Shape::of_git(holder, kind, git);
    if git.is_last() {
        // A file of this name says which repository this is.
        return found(shape(git.holder(), ShapeKind::File).unasked());
    }
    let inside: Vec<Component<'p>> = git.after().collect();
    let top = inside[0].name();
    if GIT_REMOTES.contains(&top) {
        return found(shape(git.itself(), ShapeKind::All));
    }
    if GIT_GUESTS.contains(&top) && inside[0].rest() == b"config" {
        return found(shape(git.itself(), ShapeKind::File));
    }
    if is_unknown(&inside) && found(shape(git.itself(), ShapeKind::All)) {
        return true;
    }
    // git uses a directory below `modules` for a submodule that is initialised later, no matter who made the directory.
    // The submodule is of the repository, or of one of its work trees.
    let modules = match top {
        b"modules" => Some(0),
        b"worktrees" if inside.get(2).is_some_and(|part| part.name() == b"modules") => Some(2),
        _ => None,
    };
    // A submodule may have any name, with slashes in it.
    let count = if GIT_NESTS.contains(&top) { inside.len() } else { 1 };
    inside[..count].iter().enumerate().any(|(i, part)| {
        let around = modules.filter(|modules| i > *modules).map(|modules| inside[modules].holder());
        if around.is_some() && part.is_hook_sample() {
            return found(shape(part.itself(), ShapeKind::File));
        }
        if GIT_UNFINISHED.contains(&part.name()) && !part.is_last() {
            // The guard does not ask about the state of an unfinished operation, such as a rebase. If the tree has
            // begun it, the directory is the tree's, and not protected.
            return found(shape(part.itself(), ShapeKind::All).unasked());
        }
        let is_hooks = around.is_some() && part.is_last() && part.name() == b"hooks";
        part.git_part().is_some_and(|kind| {
            let kind = if kind == ShapeKind::All && is_hooks { ShapeKind::ModuleHooks } else { kind };
            found(shape(around.unwrap_or_else(|| part.holder()), kind))
        })
    })
}

/// Whether a path in a git directory, or in that of a work tree, names something that is not git's own.
fn is_unknown(inside: &[Component<'_>]) -> bool {
    let part = if inside[0].name() == b"worktrees" { inside.get(2) } else { inside.first() };
    part.is_some_and(|part| !is_known(part.name()))
}
