//! The programs that a human has allowed in a project, so that a card can say that another program is new there. This
//! is a hint that decides nothing, so after an error nothing counts as known.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use guard_approvals::Digest;
use guard_openclaw::approvals_store::Directory;
use rustix::fs::OFlags;

/// The file in the guard's own directory. Each line has the digests of a project's directory and of a program's path.
const NAME: &str = "known-programs";
/// The size above which nothing is added, and nothing is called new.
const MAX_BYTES: u64 = 1 << 20;

/// The programs of one project. The default knows none.
#[derive(Debug, Default)]
pub struct KnownPrograms {
    /// The state directory, and the start of the project's lines.
    place: Option<(PathBuf, String)>,
}

impl KnownPrograms {
    /// The programs of the project in this directory.
    pub fn new(state: &Path, project: &[u8]) -> KnownPrograms {
        KnownPrograms { place: Some((state.to_owned(), format!("{} ", Digest::of_bytes(project)))) }
    }

    /// Whether other programs were allowed in the project before, and this one was not.
    pub fn is_first(&self, program: &[u8]) -> bool {
        let Some((state, project)) = &self.place else { return false };
        let Ok(Some(text)) = content(state) else { return false };
        let own = Digest::of_bytes(program).to_string();
        let mut known = text.lines().filter_map(|line| line.strip_prefix(project.as_str())).peekable();
        known.peek().is_some() && !known.any(|program| program == own)
    }

    /// Adds a program that a human has allowed.
    pub fn add(&self, program: &[u8]) {
        let Some((state, project)) = &self.place else { return };
        let line = format!("{project}{}\n", Digest::of_bytes(program));
        // A program that is not recorded is called new once more.
        let _ = append(state, &line);
    }
}

/// Returns the lines; `None` if there are none, or too many.
fn content(state: &Path) -> io::Result<Option<String>> {
    let own = Directory::open_own(state)?;
    let Some(file) = own.map_or(Ok(None), |own| own.regular(NAME))? else { return Ok(None) };
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok((text.len() as u64 != MAX_BYTES).then_some(text))
}

fn append(state: &Path, line: &str) -> io::Result<()> {
    if content(state)?.is_some_and(|text| text.contains(line)) {
        return Ok(());
    }
    let mut file = Directory::make_own(state)?.make_regular(NAME, OFlags::WRONLY | OFlags::APPEND)?;
    match file.metadata()?.len() {
        MAX_BYTES.. => Ok(()),
        _ => file.write_all(line.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_first_once_in_each_project() {
        let state = tempfile::tempdir().unwrap();
        let (one, other) =
            (KnownPrograms::new(state.path(), b"/p/1"), KnownPrograms::new(state.path(), b"/p/2"));
        assert!(!one.is_first(b"/bin/a"), "the first day: nothing is known yet");
        one.add(b"/bin/a");
        one.add(b"/bin/a");
        assert_eq!((one.is_first(b"/bin/a"), one.is_first(b"/bin/b")), (false, true));
        assert!(!other.is_first(b"/bin/b"));
        one.add(b"/bin/b");
        assert!(!one.is_first(b"/bin/b"));
        let text = std::fs::read_to_string(state.path().join("guard").join(NAME)).unwrap();
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn where_nothing_can_be_kept_nothing_is_new() {
        let none = KnownPrograms::default();
        none.add(b"/bin/a");
        assert!(!none.is_first(b"/bin/b"));
        let state = tempfile::tempdir().unwrap();
        let full = KnownPrograms::new(state.path(), b"/p");
        full.add(b"/bin/a");
        std::fs::OpenOptions::new()
            .write(true)
            .open(state.path().join("guard").join(NAME))
            .and_then(|file| file.set_len(MAX_BYTES))
            .unwrap();
        full.add(b"/bin/b");
        assert!(!full.is_first(b"/bin/c"));
    }
}
