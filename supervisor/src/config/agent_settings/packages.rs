//! Directories of installed packages. Whoever installs packages there writes all of them, so protecting one program of
//! a package would protect nothing.

use std::path::{Component, Path};

/// Returns whether a path lies in such a directory: `node_modules`, or an environment of python's, by its usual name. A
/// file that marks an environment says nothing, since the tree could make one. A path in a hidden directory of the home
/// does not count.
pub fn contain(path: &Path, home: &Path) -> bool {
    let is_hidden = |path: &Path| match path.components().next() {
        Some(Component::Normal(name)) => name.as_encoded_bytes().starts_with(b"."),
        _ => false,
    };
    let leads_out = path.components().any(|part| part == Component::ParentDir);
    if leads_out || path.strip_prefix(home).is_ok_and(is_hidden) {
        return false;
    }
    path.components().any(|part| {
        let Component::Normal(name) = part else { return false };
        let name = name.to_str().unwrap_or_default();
        name == "node_modules" || is_environment(name)
    })
}

fn is_environment(name: &str) -> bool {
    let name = name.strip_prefix('.').unwrap_or(name);
    let rest = name.strip_prefix("venv").or_else(|| name.strip_prefix("virtualenv"));
    let is_version = |rest: &str| rest.is_empty() || rest.starts_with(['-', '_', '.', '3']);
    rest.is_some_and(is_version) || matches!(name, "tox" | "nox")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_a_workspace_are_known_by_their_directories() {
        for (path, expected) in [
            ("/h/p/node_modules/.bin/prettier", true),
            ("/h/p/.venv/bin/ruff", true),
            ("/h/p/a/venv/bin/activate", true),
            ("/h/p/.venv-3.12/bin/x", true),
            ("/o/node_modules/x.js", true),
            ("/h/.claude/node_modules/x.js", false),
            ("/h/p/tools/x.sh", false),
            ("/h/p/node_modules/../tools/x.sh", false),
            ("/h/p/venvs.sh", false),
            ("/h/p/env/x.sh", false),
        ] {
            assert_eq!(contain(Path::new(path), Path::new("/h")), expected, "{path}");
        }
    }
}
