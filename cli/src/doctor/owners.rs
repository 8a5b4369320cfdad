//! Who may change a file, by its mode and owner.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use guard_policy::text::shown;
use rustix::process::{getegid, geteuid};

/// Whose files may be trusted: this user's, root's, and those of whoever owns the home.
#[derive(Clone, Debug)]
pub struct Owners {
    trusted: Vec<u32>,
    group: u32,
}

/// What others may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openness {
    /// Nothing but read it.
    Closed,
    /// A group may write it that is not this user's first.
    Group,
    /// Everybody may write it.
    Everybody,
    /// It belongs to this other user.
    Other(u32),
}

/// The user that stands for all who have no number in a user namespace (Documentation/admin-guide/sysctl/fs.rst).
const OVERFLOW: u32 = 65534;

impl Owners {
    /// For this process, with this home.
    pub fn find(home: &Path) -> Owners {
        let home = fs::metadata(home).map(|meta| meta.uid()).ok();
        let trusted = [0, geteuid().as_raw()].into_iter().chain(home);
        // Where root itself has no number, what is root's looks like nobody's.
        let is_mapped = fs::metadata("/").is_ok_and(|root| root.uid() == 0);
        let unmapped = (!is_mapped).then_some(OVERFLOW);
        Owners { trusted: trusted.chain(unmapped).collect(), group: getegid().as_raw() }
    }

    /// Who else may change what has this mode and these owners.
    pub fn openness(&self, meta: &fs::Metadata) -> Openness {
        if !self.trusted.contains(&meta.uid()) {
            return Openness::Other(meta.uid());
        }
        // In a sticky directory nobody takes another's files away (/tmp).
        if meta.is_dir() && meta.mode() & 0o1000 != 0 {
            return Openness::Closed;
        }
        if meta.mode() & 0o002 != 0 {
            return Openness::Everybody;
        }
        let is_others = meta.gid() != self.group && has_members(meta.gid());
        if meta.mode() & 0o020 != 0 && is_others { Openness::Group } else { Openness::Closed }
    }
}

/// Whether anybody may be in a group beside root. Those of the system that list nobody are for administrators to fill
/// (Debian's `staff`, whose `/usr/local/bin` is).
fn has_members(group: u32) -> bool {
    /// Where the groups of users begin, and `users` itself, in which everybody is on some systems (Debian's policy, 9.2.2).
    const USERS: [std::ops::RangeInclusive<u32>; 2] = [100..=100, 1000..=u32::MAX];
    let is_users = USERS.iter().any(|range| range.contains(&group));
    let found = nix::unistd::Group::from_gid(nix::unistd::Gid::from_raw(group)).ok().flatten();
    is_users || found.is_some_and(|found| !found.mem.is_empty() && found.mem != ["root"])
}

/// A path as a shell takes it.
pub fn word(path: &Path) -> String {
    let path = path.to_string_lossy();
    shlex::try_quote(&path).map_or_else(|_| shown(path.as_bytes()), |quoted| quoted.into_owned())
}

/// A user's name with the number, or the number.
pub fn user(uid: u32) -> String {
    let found = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)).ok().flatten();
    found.map_or_else(|| format!("user {uid}"), |user| format!("{} ({uid})", user.name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn modes_say_who_may_write() {
        let directory = tempfile::tempdir().unwrap();
        let owners = Owners::find(directory.path());
        let of = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            owners.openness(&fs::metadata(path).unwrap())
        };
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(of(&file, 0o644), Openness::Closed);
        assert_eq!(of(&file, 0o660), Openness::Closed, "a user's own group");
        assert_eq!(of(&file, 0o646), Openness::Everybody);
        assert_eq!(of(&file, 0o1646), Openness::Everybody, "sticky is for directories");
        assert_eq!(of(directory.path(), 0o777), Openness::Everybody);
        assert_eq!(of(directory.path(), 0o1777), Openness::Closed);
        let strangers = Owners { trusted: vec![u32::MAX], group: 0 };
        assert!(matches!(strangers.openness(&fs::metadata(&file).unwrap()), Openness::Other(_)));
        let another = Owners { group: u32::MAX, ..owners };
        fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).unwrap();
        let meta = fs::metadata(&file).unwrap();
        let expected = if has_members(meta.gid()) { Openness::Group } else { Openness::Closed };
        assert_eq!(another.openness(&meta), expected);
        assert!(has_members(1000) && has_members(100) && !has_members(0));
    }

    #[test]
    fn paths_are_words_of_a_shell() {
        assert_eq!(word(Path::new("/a/b.json")), "/a/b.json");
        assert_eq!(word(Path::new("/a b/$c")), "'/a b/$c'");
    }
}
