//! Which files exist that the policy withholds by name.
//!
//! A policy names hundreds of files, and few of them exist. Looking for each at every start of a program would take longer
//! than the start. So each directory is listed once, and again when it has changed: the directory that would contain the
//! names, or the nearest one above it that exists. A file that is changed in place does not change its directory, so
//! whoever uses the list looks at the files in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use guard_policy::{Policy, WithheldProgram};
use rustix::fs::{FileType, Stat};

use crate::config::listed_directory::shows_changes;
use crate::resolve::Identity;

/// The maximum number of programs to compare with.
pub(super) const MAX_FILES: usize = 1000;
/// A directory that changed more recently than this may change again without a new timestamp.
const SETTLE_INTERVAL: Duration = Duration::from_secs(2);

/// The fields of a stat that change when the file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContentStamp {
    pub(super) file: Identity,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl ContentStamp {
    pub(super) fn from_stat(stat: &Stat) -> ContentStamp {
        ContentStamp {
            file: Identity::from_stat(stat),
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }

    /// The stamp of a directory; `None` if it does not exist, or may change again within the same timestamp.
    fn settled(directory: &[u8]) -> Option<ContentStamp> {
        let stat = rustix::fs::stat(directory).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs() as i64;
        (stat.st_ctime + (SETTLE_INTERVAL.as_secs() as i64) < now).then(|| ContentStamp::from_stat(&stat))
    }
}

/// The existing files, as far as each directory was listed.
#[derive(Debug)]
pub(super) struct WithheldFiles {
    directories: Vec<WithheldDirectory>,
    files: Arc<Vec<Vec<u8>>>,
    left_out: usize,
}

/// A directory in which the policy withholds names.
#[derive(Debug)]
struct WithheldDirectory {
    path: Vec<u8>,
    /// The names that are withheld as they are.
    literal: Vec<Vec<u8>>,
    /// The patterns for names.
    patterns: Vec<WithheldProgram>,
    /// The directory itself, or the nearest one above it that exists.
    nearest: Vec<u8>,
    /// The stamp of `nearest`, from before the listing; `None` if the directory must be listed again.
    stamp: Option<ContentStamp>,
    /// The literal names that are regular files.
    found: Vec<Vec<u8>>,
    /// The programs that a pattern names.
    matched: Vec<Vec<u8>>,
    /// Other regular files that a pattern names. They may become programs: a new mode does not change the directory.
    others: Vec<Vec<u8>>,
}

impl WithheldFiles {
    /// Sorts the withheld programs by directory. [`WithheldFiles::refresh`] looks for their files.
    pub(super) fn new(policy: &Policy, withheld: &[WithheldProgram]) -> WithheldFiles {
        let mut directories: BTreeMap<&[u8], WithheldDirectory> = BTreeMap::new();
        for program in withheld {
            let path = program.directory();
            let directory = directories.entry(path).or_insert_with(|| WithheldDirectory::new(path));
            match program.file() {
                Some(file) if policy.withholds(file) => directory.literal.push(file.to_vec()),
                Some(_) => {}
                None => directory.patterns.push(program.clone()),
            }
        }
        WithheldFiles { directories: directories.into_values().collect(), files: Arc::default(), left_out: 0 }
    }

    /// Lists the directories that have changed.
    pub(super) fn refresh(&mut self, policy: &Policy) {
        let (mut is_listed, mut has_changed) = (false, false);
        let mut last: Option<(Vec<u8>, Option<ContentStamp>)> = None;
        for directory in &mut self.directories {
            let now = match &last {
                Some((path, stamp)) if *path == directory.nearest => *stamp,
                _ => last.insert((directory.nearest.clone(), ContentStamp::settled(&directory.nearest))).1,
            };
            if now.is_none() || now != directory.stamp {
                is_listed = true;
                has_changed |= directory.list(policy);
            }
        }
        if is_listed {
            // Entries with the same nearest directory stand together, so that its stamp is read once.
            self.directories.sort_by(|one, other| one.nearest.cmp(&other.nearest));
        }
        if has_changed {
            self.collect();
        }
    }

    /// The real paths of the files, at most [`MAX_FILES`].
    pub(super) fn files(&self) -> Arc<Vec<Vec<u8>>> {
        Arc::clone(&self.files)
    }

    /// How many more files there are.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Puts fully named files first, then programs, each kind in a stable order.
    fn collect(&mut self) {
        let sorted = |files: &dyn Fn(&WithheldDirectory) -> &Vec<Vec<u8>>| {
            let mut files: Vec<Vec<u8>> = self.directories.iter().flat_map(files).cloned().collect();
            files.sort_unstable();
            files.dedup();
            files
        };
        let mut all = sorted(&|directory| &directory.found);
        let mut known: BTreeSet<Vec<u8>> = all.iter().cloned().collect();
        for more in [sorted(&|directory| &directory.matched), sorted(&|directory| &directory.others)] {
            all.extend(more.into_iter().filter(|path| known.insert(path.clone())));
        }
        self.left_out = all.len().saturating_sub(MAX_FILES);
        all.truncate(MAX_FILES);
        self.files = Arc::new(all);
    }
}

impl WithheldDirectory {
    fn new(path: &[u8]) -> WithheldDirectory {
        let path = if path.is_empty() { b"/" } else { path }.to_vec();
        WithheldDirectory {
            nearest: path.clone(),
            path,
            literal: Vec::new(),
            patterns: Vec::new(),
            stamp: None,
            found: Vec::new(),
            matched: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Looks for the names. Returns whether other files are there than before.
    fn list(&mut self, policy: &Policy) -> bool {
        // The stamp comes first, so that a later change is noticed the next time.
        self.nearest = nearest(&self.path).to_vec();
        self.stamp = ContentStamp::settled(&self.nearest).filter(|_| shows_changes(&self.nearest));
        let found: Vec<Vec<u8>> =
            self.literal.iter().filter(|path| regular(path).is_some()).cloned().collect();
        let (matched, others) = self.matched(policy);
        let has_changed = found != self.found || matched != self.matched || others != self.others;
        (self.found, self.matched, self.others) = (found, matched, others);
        has_changed
    }

    /// The regular files that a pattern names: the programs, and the others.
    fn matched(&self, policy: &Policy) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        if self.patterns.is_empty() {
            return Default::default();
        }
        let Ok(entries) = std::fs::read_dir(OsStr::from_bytes(&self.path)) else { return Default::default() };
        let paths = entries.flatten().map(|entry| entry.path().into_os_string().into_encoded_bytes());
        let mut matched: Vec<(Vec<u8>, Stat)> = paths
            .filter(|path| self.patterns.iter().any(|pattern| pattern.names(path)) && policy.withholds(path))
            .filter_map(|path| regular(&path).map(|stat| (path, stat)))
            .collect();
        matched.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let (programs, others): (Vec<_>, Vec<_>) =
            matched.into_iter().partition(|(_, stat)| is_program(stat));
        let paths = |files: Vec<(Vec<u8>, Stat)>| files.into_iter().map(|(path, _)| path).collect();
        (paths(programs), paths(others))
    }
}

/// The metadata of a regular file.
fn regular(path: &[u8]) -> Option<Stat> {
    let stat = rustix::fs::lstat(path).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then_some(stat)
}

/// The directory at a path, or the nearest one above it that exists.
fn nearest(mut path: &[u8]) -> &[u8] {
    while path.len() > 1 && rustix::fs::stat(path).is_err() {
        let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        path = &path[..end.max(1)];
    }
    path
}

/// Whether this file could start.
pub(super) fn is_program(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_mode & 0o111 != 0
        && stat.st_size > 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::time::Instant;

    use guard_policy::{Document, Host, Overrides};

    use super::*;

    fn program(path: &Path) {
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn what_comes_and_goes_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let text = format!(
            r#"{{"version": 1, "permissions": {{"filesystem": {{"rules": {{"{0}/**": "r-x"}},
                "deny": ["{0}/curl", "{0}/new/deep/wget", "{0}/ssh*"]}}}}}}"#,
            root.display()
        );
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let home = bytes(&root);
        let host = Host::bare(&home, &home);
        let document = Document::parse("test", &text).unwrap();
        let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
        let withheld = policy.withheld();
        let mut files = WithheldFiles::new(&policy, &withheld);
        let mut check = |names: &[&str]| {
            let expected: Vec<Vec<u8>> = names.iter().map(|name| bytes(&root.join(name))).collect();
            files.refresh(&policy);
            let found: Vec<Vec<u8>> =
                files.files().iter().filter(|path| path.starts_with(&home)).cloned().collect();
            assert_eq!(found, expected);
        };
        check(&[]);
        program(&root.join("curl"));
        check(&["curl"]);
        program(&root.join("ssh-keygen"));
        std::fs::write(root.join("sshrc"), "data").unwrap();
        // Files that may become programs without a change of the directory come last.
        check(&["curl", "ssh-keygen", "sshrc"]);
        std::fs::create_dir_all(root.join("new/deep")).unwrap();
        check(&["curl", "ssh-keygen", "sshrc"]);
        program(&root.join("new/deep/wget"));
        check(&["curl", "new/deep/wget", "ssh-keygen", "sshrc"]);
        std::fs::rename(root.join("new"), root.join("old")).unwrap();
        std::fs::remove_file(root.join("curl")).unwrap();
        check(&["ssh-keygen", "sshrc"]);
    }

    /// A directory that has not changed for a while is not listed again, and the next change counts at once.
    #[test]
    fn a_change_of_a_settled_directory_counts_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let text = r#"{"version": 1, "exec": {"security": "full"}}"#;
        let document = Document::parse("test", text).unwrap();
        let host = Host::bare(b"/home/u", b"/w");
        let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
        let mut missing = WithheldDirectory::new(root.join("not/there").as_os_str().as_bytes());
        missing.literal.push(root.join("not/there/curl").into_os_string().into_encoded_bytes());
        missing.list(&policy);
        assert_eq!((&missing.nearest[..], missing.stamp), (root.as_os_str().as_bytes(), None));
        let deadline = Instant::now() + Duration::from_secs(60);
        while missing.stamp.is_none() {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(100));
            missing.list(&policy);
        }
        let mut files = WithheldFiles { directories: vec![missing], files: Arc::default(), left_out: 0 };
        let stamp = files.directories[0].stamp;
        files.refresh(&policy);
        assert_eq!(files.directories[0].stamp, stamp);
        std::fs::create_dir_all(root.join("not/there")).unwrap();
        program(&root.join("not/there/curl"));
        files.refresh(&policy);
        assert_eq!(files.files().len(), 1);
    }
}
