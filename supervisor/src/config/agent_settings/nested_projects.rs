//! Directories below a project that have settings of their own, such as the packages of a monorepo. What they name may
//! lie outside of them, where nothing leads to them when it is written.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::packages;
use super::settings_files::is_name_of_project;

/// How many directories are looked into, and how deep: at each start.
const MAX_DIRECTORIES: usize = 256;
const MAX_DEPTH: usize = 3;

/// Returns the directories below a project in which there are settings, as far as they are found in time.
pub fn projects_below(project: &Path, home: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), VecDeque::from([(project.to_owned(), 0)]));
    for _ in 0..MAX_DIRECTORIES {
        let Some((directory, depth)) = left.pop_front() else { break };
        let mut has_settings = false;
        for name in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let is_settings = is_name_of_project(name.file_name().as_encoded_bytes());
            has_settings |= is_settings;
            let path = name.path();
            let is_hidden = name.file_name().as_encoded_bytes().starts_with(b".");
            let is_directory = || name.file_type().is_ok_and(|kind| kind.is_dir());
            if depth < MAX_DEPTH
                && !is_hidden
                && !is_settings
                && is_directory()
                && !packages::contain(&path, home)
            {
                left.push_back((path, depth + 1));
            }
        }
        if has_settings && depth > 0 {
            found.push(directory);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_of_packages_are_found_and_not_those_of_installed_ones() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path();
        for name in ["packages/x/.claude", "packages/y", "node_modules/z/.claude", "a/b/c/d/.claude"] {
            fs::create_dir_all(project.join(name)).unwrap();
        }
        fs::write(project.join("packages/y/.mcp.json"), "").unwrap();
        let mut found = projects_below(project, Path::new("/nowhere"));
        found.sort();
        assert_eq!(found, ["packages/x", "packages/y"].map(|name| project.join(name)));
    }
}
