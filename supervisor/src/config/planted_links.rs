//! Symbolic links on the way to a directory that the environment names.
//!
//! A directory of `PATH`, `TMPDIR` and the start directory grant rights without a rule that names them. A guarded
//! program may put a link wherever it may write, also in the place of an empty directory. At the next start the target
//! of that link would get these rights.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::config::realpath::Links;
use crate::config::workspace_record::RunRecord;

/// Directories in which administrators make links. No guarded program writes there, unless it was started there.
const SYSTEM: [&str; 7] = ["/usr", "/opt", "/etc", "/nix", "/gnu", "/snap", "/var/lib"];

/// Recognises links that a guarded program may have made.
pub struct PlantedLinks<'a> {
    links: &'a Links,
    record: &'a RunRecord,
    cwd: &'a Path,
    home: PathBuf,
    /// The links on the way to the home. They count as the operator's, because otherwise everything in the home would
    /// be in doubt.
    of_home: Vec<Vec<u8>>,
    user: u32,
}

impl<'a> PlantedLinks<'a> {
    /// Takes the record of earlier runs, the start directory, and the home directory as it was named.
    pub(super) fn new(
        links: &'a Links,
        record: &'a RunRecord,
        cwd: &'a Path,
        home: &Path,
    ) -> PlantedLinks<'a> {
        let mut of_home = links.trail(home.as_os_str().as_bytes());
        let home = of_home.pop().map(OsString::from_vec).unwrap_or_default().into();
        PlantedLinks { links, record, cwd, home, of_home, user: rustix::process::geteuid().as_raw() }
    }

    /// Returns the first link that a guarded program may have made, in any run, on the way to a directory.
    pub fn on_the_way_to(&self, directory: &[u8]) -> Option<Vec<u8>> {
        let mut trail = self.links.trail(directory);
        trail.pop();
        trail.into_iter().find(|link| !self.is_trusted(link))
    }

    /// Returns the first link that a guarded program may have made on the path by which the shell came to the start
    /// directory (`PWD`).
    pub fn at_start(&self) -> Option<Vec<u8>> {
        let shell = env::var_os("PWD").map(OsString::into_vec)?;
        let is_here = self.links.real(&shell).is_some_and(|real| real == self.cwd.as_os_str().as_bytes());
        self.on_the_way_to(&shell).filter(|_| is_here)
    }

    /// Whether no guarded program can have made a link.
    pub fn is_trusted(&self, link: &Vec<u8>) -> bool {
        let path = Path::new(OsStr::from_bytes(link));
        // No policy lets guarded programs write all of `/` or of a home, but it may let them replace a directory there.
        let is_at_the_top = [Some(Path::new("/")), Some(&*self.home)].contains(&path.parent());
        let is_the_systems = || SYSTEM.iter().any(|top| path.starts_with(top)) && !path.starts_with(self.cwd);
        // A guarded program gets no other user's rights.
        let is_of_another = || path.symlink_metadata().is_ok_and(|link| link.uid() != self.user);
        (is_at_the_top || is_the_systems()) && !self.record.may_be_written(path)
            || self.of_home.contains(link)
            || is_of_another()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_of_the_users_is_trusted_only_in_the_home_and_on_the_way_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["real/home/work", "elsewhere"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink("real", root.join("link")).unwrap();
        symlink("../../../elsewhere", root.join("real/home/work/bin")).unwrap();
        symlink("work/bin", root.join("real/home/bin")).unwrap();
        symlink("work", root.join("real/home/to-work")).unwrap();
        let links = Links::default();
        let cwd = root.join("real/home/work");
        let home = root.join("link/home");
        let record = RunRecord::read(std::slice::from_ref(&root));
        let planted = PlantedLinks::new(&links, &record, &cwd, &home);
        let found = |path: &Path| planted.on_the_way_to(path.as_os_str().as_bytes());
        assert_eq!(found(&home.join("work")), None);
        assert_eq!(found(&home.join("none/bin")), None);
        assert_eq!(
            found(&home.join("work/bin")),
            Some(cwd.join("bin").into_os_string().into_encoded_bytes())
        );
        let other = PlantedLinks::new(&links, &record, &cwd, &cwd);
        assert_eq!(
            other.on_the_way_to(home.as_os_str().as_bytes()),
            Some(root.join("link").into_os_string().into_encoded_bytes())
        );
        assert_eq!(other.on_the_way_to(b"/usr/bin/X11"), None);
    }
}
