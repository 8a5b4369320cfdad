//! Notices that a path of the policy leads elsewhere than when the policy was compiled.
//!
//! A denial counts for the path that guard.json names, for each link on the way, and for where they lead. While a tree runs,
//! the operator may turn a link, or put one in the place of a directory. So each name that was looked up is compared with
//! what it was.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use foldhash::HashMap;
use parking_lot::Mutex;

use super::listed_directory::{DirectoryNames, EarlierNames, ListedDirectories, Name};
use super::realpath::Links;
use super::reload::stamp::Stamp;

/// A directory that changed more recently than this may change again without another time in its stat(2) fields: some file
/// systems have coarse clocks.
const CLOCK_STEP: Duration = Duration::from_secs(2);

/// The names that were looked up when a policy was compiled.
#[derive(Debug, Default)]
pub struct FollowedNames {
    /// As they were found. The start of a run does not wait until they are in order.
    found: Option<ListedDirectories>,
    directories: Vec<FollowedDirectory>,
    /// A directory of this user's that could not be searched, so that its names count as before.
    as_before: Option<PathBuf>,
}

/// The names that were looked up in one directory, each with what it was.
#[derive(Debug)]
struct FollowedDirectory {
    path: Vec<u8>,
    names: HashMap<Vec<u8>, Name>,
    /// The stamp at the last comparison; `None` if the next one must look at each name.
    stamp: Option<Stamp>,
}

impl FollowedNames {
    /// Takes what was looked up.
    pub(super) fn new(links: Links) -> FollowedNames {
        let found = links.into_directories();
        let as_before = found.as_before().map(|path| OsStr::from_bytes(path).into());
        FollowedNames { found: Some(found), directories: Vec::new(), as_before }
    }

    /// Returns a directory of this user's that could not be searched, so that its names count as before.
    pub fn as_before(&self) -> Option<&Path> {
        self.as_before.as_deref()
    }

    /// Puts the names in order. Looks at no disk.
    fn settle(&mut self) {
        let Some(found) = self.found.take() else { return };
        // A link in /proc leads elsewhere for each process, and no policy follows one.
        let is_followed = |path: &[u8]| !Path::new(OsStr::from_bytes(path)).starts_with("/proc");
        let found = found.into_names().filter(|(path, _)| is_followed(path));
        let followed = |(path, names)| FollowedDirectory { path, names, stamp: None };
        self.directories = found.map(followed).collect();
    }

    fn to_earlier(&self) -> EarlierNames {
        let directories = self.directories.iter();
        EarlierNames::new(directories.map(|directory| (directory.path.clone(), directory.names.clone())))
    }

    /// Compares each name with what it was. Returns one through which a path may lead elsewhere now, a link before others. The
    /// next call does not return it again, unless it changes again.
    pub fn changed(&mut self) -> Option<PathBuf> {
        self.settle();
        let now = SystemTime::now();
        // Each directory is compared, so that none is left for the next call.
        let mut changed = Vec::new();
        self.directories.iter_mut().for_each(|each| each.compare(now, &mut changed));
        let link = changed.iter().position(|(_, is_link)| *is_link).unwrap_or_default();
        changed.into_iter().nth(link).map(|(entry, _)| entry)
    }
}

impl FollowedDirectory {
    /// Adds each name through which a path may lead elsewhere than at the last comparison, and whether it is a link now.
    fn compare(&mut self, now: SystemTime, changed: &mut Vec<(PathBuf, bool)>) {
        // The stamp is taken before the names are looked up, so that a later change is noticed.
        let path = if self.path.is_empty() { b"/" } else { &self.path[..] };
        let stamp = Stamp::read(Path::new(OsStr::from_bytes(path)));
        if self.stamp == Some(stamp) {
            return;
        }
        self.stamp = Some(stamp).filter(|stamp| stamp.is_older_than(CLOCK_STEP, now));
        let mut looked_up = DirectoryNames::default();
        for (name, known) in &mut self.names {
            // In a directory that cannot be searched, nothing leads anywhere.
            let Ok(found) = looked_up.read(&self.path, name) else {
                self.stamp = None;
                continue;
            };
            let entry = || PathBuf::from(OsStr::from_bytes(&[&*self.path, name].join(&b'/')));
            if leads_elsewhere(known, &found, || entry().symlink_metadata().is_ok_and(|found| found.is_dir()))
            {
                changed.push((entry(), matches!(found, Name::Link(_))));
                *known = found;
            }
        }
    }
}

/// Whether a path through a name may lead elsewhere than before. A link that is gone counts only once something else is in
/// its place: until then, what it led to stays denied. A directory where nothing was may contain a link further down.
fn leads_elsewhere(known: &Name, found: &Name, is_directory: impl Fn() -> bool) -> bool {
    match (known, found) {
        (Name::Link(before), Name::Link(now)) => before != now,
        (_, Name::Link(_)) | (Name::Link(_), Name::Itself) => true,
        (Name::Missing, Name::Itself) => is_directory(),
        (_, Name::Missing) | (Name::Itself, Name::Itself) => false,
    }
}

/// What the policy in force was compiled through. All clones share it.
#[derive(Clone, Debug, Default)]
pub struct Followed(Arc<Mutex<FollowedState>>);

#[derive(Debug, Default)]
struct FollowedState {
    names: FollowedNames,
    /// The names as they were found, once that is asked for.
    earlier: Option<Arc<EarlierNames>>,
    /// How often the names were replaced.
    version: u64,
    /// A name for which the policy must be compiled again.
    due: Option<PathBuf>,
}

impl FollowedState {
    fn earlier(&mut self) -> Arc<EarlierNames> {
        let FollowedState { names, earlier, .. } = self;
        let earlier = earlier.get_or_insert_with(|| {
            names.settle();
            Arc::new(names.to_earlier())
        });
        Arc::clone(earlier)
    }
}

impl Followed {
    /// Takes what the policy in force was compiled through.
    pub fn new(names: FollowedNames) -> Followed {
        let followed = Followed::default();
        followed.set(names);
        followed
    }

    /// Sets what the policy in force was compiled through. What had changed before counts in it.
    pub fn set(&self, names: FollowedNames) {
        let mut state = self.0.lock();
        let version = state.version + 1;
        *state = FollowedState { names, earlier: None, version, due: None };
    }

    /// Returns what was found on the way to the paths of the policy in force.
    pub fn earlier(&self) -> Arc<EarlierNames> {
        self.0.lock().earlier()
    }

    /// Compares the names with what they were. Returns whether the policy must be compiled again. One thread calls it.
    pub fn look(&self) -> bool {
        // The file systems are asked without the lock: one that does not answer must not stop those that ask a human.
        let (mut names, version) = {
            let mut state = self.0.lock();
            // Another thread may ask while the names are away.
            state.earlier();
            (std::mem::take(&mut state.names), state.version)
        };
        let changed = names.changed();
        let mut state = self.0.lock();
        if state.version == version {
            state.names = names;
            // The latest is named: an earlier one may be for a policy that could not follow.
            state.due = changed.or(state.due.take());
        }
        state.due.is_some()
    }

    /// Returns the name for which the policy must be compiled again. The caller compiles it.
    pub fn take_due(&self) -> Option<PathBuf> {
        self.0.lock().due.take()
    }

    /// Has the policy compiled again at the next look, because of this name.
    pub fn put_back(&self, name: PathBuf) {
        let mut state = self.0.lock();
        state.due = state.due.take().or(Some(name));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory, and what is followed on the way to names in it.
    struct Ground {
        directory: tempfile::TempDir,
        names: FollowedNames,
    }

    impl Ground {
        fn at(&self, name: &str) -> PathBuf {
            self.directory.path().canonicalize().unwrap().join(name)
        }

        /// Looks up these names, as a compilation does.
        fn follow(&mut self, names: &[&str]) {
            let links = Links::default();
            names.iter().for_each(|name| drop(links.trail(self.at(name).as_os_str().as_bytes())));
            self.names = FollowedNames::new(links);
        }

        fn relink(&self, target: &str, name: &str) {
            symlink(target, self.at("new")).unwrap();
            fs::rename(self.at("new"), self.at(name)).unwrap();
        }
    }

    fn ground() -> Ground {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let ground = Ground { directory, names: FollowedNames::default() };
        ["v1/deep", "v2/deep", "d/deep"].iter().for_each(|name| fs::create_dir_all(ground.at(name)).unwrap());
        fs::write(ground.at("file"), "").unwrap();
        symlink("v1", ground.at("link")).unwrap();
        ground
    }

    #[test]
    fn what_leads_elsewhere_is_told_once() {
        let mut ground = ground();
        ground.follow(&["link/x", "d/deep/x", "file", "none/x"]);
        assert_eq!(ground.names.changed(), None);
        ground.relink("v2", "link");
        assert_eq!(ground.names.changed(), Some(ground.at("link")));
        assert_eq!(ground.names.changed(), None);
        // The last component of a path, and one in between.
        ground.relink("v1/x", "file");
        assert_eq!(ground.names.changed(), Some(ground.at("file")));
        fs::rename(ground.at("d/deep"), ground.at("deep")).unwrap();
        ground.relink("../deep", "d/deep");
        assert_eq!(ground.names.changed(), Some(ground.at("d/deep")));
        // What is made where nothing was may hold a link.
        fs::create_dir(ground.at("none")).unwrap();
        assert_eq!(ground.names.changed(), Some(ground.at("none")));
        assert_eq!(ground.names.changed(), None);
    }

    #[test]
    fn a_link_that_is_gone_counts_when_something_else_is_there() {
        let mut ground = ground();
        ground.follow(&["link/x"]);
        fs::remove_file(ground.at("link")).unwrap();
        assert_eq!(ground.names.changed(), None);
        symlink("v1", ground.at("link")).unwrap();
        assert_eq!(ground.names.changed(), None);
        fs::remove_file(ground.at("link")).unwrap();
        fs::create_dir(ground.at("link")).unwrap();
        assert_eq!(ground.names.changed(), Some(ground.at("link")));
    }

    /// More names than are looked up one by one.
    #[test]
    fn a_name_that_was_not_listed_is_followed() {
        let mut ground = ground();
        let names: Vec<String> = (0..30).map(|number| format!("n{number}")).collect();
        ground.follow(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ground.names.changed(), None);
        ground.relink("v1", "n29");
        assert_eq!(ground.names.changed(), Some(ground.at("n29")));
    }

    #[test]
    fn ordinary_work_leads_nowhere() {
        let mut ground = ground();
        ground.follow(&["link/x", "d/deep/x", "file", "none", "v1/deep"]);
        let mut work = |does: &dyn Fn(&Ground)| {
            does(&ground);
            ground.names.changed()
        };
        assert_eq!(work(&|ground| fs::write(ground.at("none"), "x").unwrap()), None);
        assert_eq!(work(&|ground| fs::remove_file(ground.at("none")).unwrap()), None);
        assert_eq!(work(&|ground| fs::rename(ground.at("file"), ground.at("other")).unwrap()), None);
        assert_eq!(work(&|ground| fs::create_dir(ground.at("file")).unwrap()), None);
        assert_eq!(work(&|ground| ground.relink("v2", "another")), None);
        assert_eq!(work(&|ground| fs::remove_dir_all(ground.at("v1")).unwrap()), None);
        assert_eq!(work(&|ground| fs::create_dir_all(ground.at("v1/deep")).unwrap()), None);
    }

    /// Each process has another `/proc/self`.
    #[test]
    fn what_differs_for_each_process_is_not_followed() {
        let links = Links::default();
        links.trail(b"/proc/self/fd/0");
        let mut names = FollowedNames::new(links);
        names.changed();
        assert!(names.directories.iter().all(|directory| !directory.path.starts_with(b"/proc")));
        assert!(names.directories.iter().any(|directory| directory.names.contains_key(&b"proc"[..])));
    }
}
