//! The settings of the table that are in a project, a home or the system.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::settings_table::{SettingsReader, SettingsRow, of_homes, of_projects, of_system};
use super::unread_settings::UnreadSettings;
use crate::config::realpath::Links;

/// How many names that fit, and names in directories at any depth, are looked at for one row: more than anybody has.
const MAX_NAMES: usize = 4096;
/// How deep directories are looked into.
const MAX_DEPTH: usize = 8;

/// Settings that may exist. In the path, only the first name and names with a star were looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub reader: SettingsReader,
}

/// Returns whether settings of a project may have this name, or lie below it.
pub fn is_name_of_project(name: &[u8]) -> bool {
    static PLAIN: LazyLock<HashSet<&[u8]>> = LazyLock::new(|| firsts(|name| !name.contains('*')));
    static PATTERNS: LazyLock<HashSet<&[u8]>> = LazyLock::new(|| firsts(|name| name.contains('*')));
    PLAIN.contains(name)
        || PATTERNS.iter().any(|pattern| str::from_utf8(pattern).is_ok_and(|one| fits(one, name)))
}

fn firsts(is_meant: impl Fn(&str) -> bool) -> HashSet<&'static [u8]> {
    of_projects().map(|row| first_of(row.names)).filter(|name| is_meant(name)).map(str::as_bytes).collect()
}

/// Returns whether a name fits a pattern, in which a star stands for any text.
fn fits(pattern: &str, name: &[u8]) -> bool {
    match pattern.split_once('*') {
        None => pattern.as_bytes() == name,
        Some((start, end)) => {
            name.strip_prefix(start.as_bytes()).is_some_and(|rest| rest.ends_with(end.as_bytes()))
        }
    }
}

fn first_of(names: &'static str) -> &'static str {
    names.split('/').next().unwrap_or_default()
}

/// Returns the settings of a project, without those of a kind that has too many names.
pub fn of_project(links: &Links, project: &Path) -> Vec<SettingsFile> {
    of_projects().filter_map(|row| found(links, project, [row].into_iter()).ok()).flatten().collect()
}

/// Returns the settings of a project that have this name there, or lie in a directory of this name.
///
/// # Errors
/// A directory with too many names.
pub fn of_project_in(links: &Links, project: &Path, name: &str) -> Result<Vec<SettingsFile>, UnreadSettings> {
    let rows = of_projects().filter(|row| fits(first_of(row.names), name.as_bytes()));
    let rest = |row: &SettingsRow| row.names.split_once('/').map(|(_, rest)| rest);
    let mut all = Vec::new();
    for row in rows {
        let at = project.join(name);
        match rest(&row) {
            None => all.push(SettingsFile { path: at, reader: row.reader }),
            Some(rest) => all.extend(found(links, &at, [SettingsRow { names: rest, ..row }].into_iter())?),
        }
    }
    Ok(all)
}

/// Returns the settings of a home, and those of the system.
///
/// # Errors
/// As [`of_project_in`].
pub fn of_home(links: &Links, home: &Path) -> Result<Vec<SettingsFile>, UnreadSettings> {
    Ok([found(links, home, of_homes())?, found(links, Path::new("/"), of_system())?].concat())
}

fn found(
    links: &Links,
    start: &Path,
    rows: impl Iterator<Item = SettingsRow>,
) -> Result<Vec<SettingsFile>, UnreadSettings> {
    let mut all = Vec::new();
    for row in rows {
        // Few agents are installed, so a directory's known listing shows that most rows have no files.
        let first = first_of(row.names);
        let is_missing = || links.real(start.join(first).as_os_str().as_bytes()).is_none();
        if !first.contains('*') && is_missing() {
            continue;
        }
        let parts: Vec<&str> = row.names.split('/').collect();
        let mut search = RowSearch { links, left: MAX_NAMES, found: Vec::new() };
        search.add(start.to_owned(), &parts, 0)?;
        all.extend(search.found.into_iter().map(|path| SettingsFile { path, reader: row.reader }));
    }
    Ok(all)
}

struct RowSearch<'l> {
    links: &'l Links,
    left: usize,
    found: Vec<PathBuf>,
}

impl RowSearch<'_> {
    fn add(&mut self, at: PathBuf, parts: &[&str], depth: usize) -> Result<(), UnreadSettings> {
        let Some((part, rest)) = parts.split_first() else {
            self.found.push(at);
            return Ok(());
        };
        if !part.contains('*') {
            return self.add(at.join(part), rest, depth);
        }
        let is_deep = *part == "**";
        if is_deep {
            self.add(at.clone(), rest, depth)?;
        }
        let names = match std::fs::read_dir(&at) {
            Ok(names) => names.flatten(),
            Err(error) => {
                self.links.unreadable(&at, &error);
                return Ok(());
            }
        };
        // Names that do not fit cost little, and the tree can make any number of them in the project itself.
        let is_meant = |name: &std::fs::DirEntry| is_deep || fits(part, name.file_name().as_encoded_bytes());
        for name in names.filter(is_meant) {
            self.left = self.left.checked_sub(1).ok_or_else(|| UnreadSettings::many(&at))?;
            if is_deep {
                // Links are not followed: they may lead anywhere.
                let is_directory = name.file_type().is_ok_and(|kind| kind.is_dir());
                if is_directory && depth < MAX_DEPTH {
                    self.add(name.path(), parts, depth + 1)?;
                }
            } else {
                self.add(name.path(), rest, depth)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_are_found_by_their_names() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path();
        for name in [".claude/skills/a", ".claude/skills/b", ".claude/agents/sub", ".github/hooks"] {
            fs::create_dir_all(project.join(name)).unwrap();
        }
        for name in
            [".claude/agents/x.md", ".claude/agents/x.txt", ".github/hooks/a.json", ".claude/agents/sub/y.md"]
        {
            fs::write(project.join(name), "").unwrap();
        }
        let of = |name: &str| {
            let found = of_project_in(&Links::default(), project, name).unwrap();
            let name = |file: &SettingsFile| file.path.strip_prefix(project).unwrap().display().to_string();
            let mut found: Vec<_> = found.iter().map(name).collect();
            found.sort();
            found
        };
        let expected = [
            ".claude/agents/sub/y.md",
            ".claude/agents/x.md",
            // `SKILL.md` is not looked up, because it has no star.
            ".claude/skills/a/SKILL.md",
            ".claude/skills/b/SKILL.md",
        ];
        assert_eq!(of(".claude"), expected);
        assert_eq!(of(".github"), [".github/hooks/a.json"]);
        assert_eq!(of("src"), [""; 0]);
        assert!(is_name_of_project(b".mcp.json") && !is_name_of_project(b"src"));
        assert!(is_name_of_project(b"x.code-workspace"));
        (0..=MAX_NAMES)
            .for_each(|at| fs::write(project.join(format!(".claude/agents/{at}.txt")), "").unwrap());
        let agents = project.join(".claude/agents");
        assert_eq!(of_project_in(&Links::default(), project, ".claude"), Err(UnreadSettings::many(&agents)));
    }
}
