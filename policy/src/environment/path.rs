//! `exec.pathPrepend`.

use super::Variable;
use crate::paths::expansion::{Paths, expand_home, replaceable_link};
use crate::paths::path_rules::PathRules;

/// The directories that execvp(3) searches if PATH is not set.
const WITHOUT_PATH: &[u8] = b"/bin:/usr/bin";

/// The directories from `guard.json` with `~` expanded, and a warning for each one that the tree can write, because the
/// tree could choose the program behind a name there.
pub(crate) fn path_directories(
    written: &[String],
    paths: &Paths<'_>,
    map: &PathRules,
    warnings: &mut Vec<String>,
) -> Vec<Vec<u8>> {
    let may_write = |path: &[u8]| map.find(path).is_the_trees();
    let directory = |text: &String| {
        let expanded = expand_home(text, paths.home);
        let mut directory = [&expanded.literal, expanded.pattern.as_bytes()].concat();
        while directory.len() > 1 && directory.ends_with(b"/") {
            directory.pop();
        }
        let real = (paths.realpath)(&directory).unwrap_or_else(|| directory.clone());
        let has_entries_of_the_tree = may_write(&[&real, &b"/program"[..]].concat());
        if has_entries_of_the_tree
            || may_write(&real)
            || replaceable_link(&directory, paths, may_write).is_some()
        {
            warnings.push(format!(
                "exec.pathPrepend: the tree may write in \"{text}\", so it could replace the programs that the command starts"
            ));
        }
        directory
    };
    written.iter().map(directory).collect()
}

/// Prepends directories to `PATH`.
pub fn prepended(mut env: Vec<Variable>, directories: &[Vec<u8>]) -> Vec<Variable> {
    if directories.is_empty() {
        return env;
    }
    let before = directories.join(&b':');
    let with = |path: &[u8]| [&before, path].join(&b':');
    match env.iter_mut().find(|(name, _)| name == b"PATH") {
        Some((_, path)) => *path = with(path),
        None => env.push((b"PATH".to_vec(), with(WITHOUT_PATH))),
    }
    env
}

#[cfg(test)]
mod tests {
    use super::prepended;

    #[test]
    fn prepended_directories_come_first_in_path() {
        let path = |value: &[u8]| vec![(b"PATH".to_vec(), value.to_vec())];
        let directories = [b"/a".to_vec(), b"/b \xff".to_vec()];
        assert_eq!(prepended(path(b"/bin"), &directories), path(b"/a:/b \xff:/bin"));
        assert_eq!(prepended(Vec::new(), &directories), path(b"/a:/b \xff:/bin:/usr/bin"));
        assert_eq!(prepended(Vec::new(), &[]), Vec::new());
        // An empty PATH keeps its meaning: the current directory.
        assert_eq!(prepended(path(b""), &directories[..1]), path(b"/a:"));
    }
}
