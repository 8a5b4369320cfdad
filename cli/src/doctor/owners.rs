//! Who may change a file, by its mode and owner.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use guard_policy::text::shown;
use rustix::process::{getegid, geteuid};

/// The trusted owners: this user, root and the home's owner.
#[derive(Clone, Debug)]
pub struct Owners {
    trusted: Vec<u32>,
    group: u32,
}

/// What other users may do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openness {
    /// Others may only read it.
    Closed,
    /// A group other than this user's primary one may write it.
    Group,
    /// Everybody may write it.
    Everybody,
    /// It belongs to this other user.
    Other(u32),
}

/// The id shown for users without a mapping in a user namespace (Documentation/admin-guide/sysctl/fs.rst).
const OVERFLOW: u32 = 65534;

impl Owners {
    /// The owners that this process trusts, with this home.
    pub fn find(home: &Path) -> Owners {
        let home = fs::metadata(home).map(|meta| meta.uid()).ok();
        let trusted = [0, geteuid().as_raw()].into_iter().chain(home);
        // In a namespace where root is not mapped, root's files appear to belong to the overflow user.
        let is_mapped = fs::metadata("/").is_ok_and(|root| root.uid() == 0);
        let unmapped = (!is_mapped).then_some(OVERFLOW);
        Owners { trusted: trusted.chain(unmapped).collect(), group: getegid().as_raw() }
    }

    /// Who else may change a file with this mode and owner.
    pub fn openness(&self, meta: &fs::Metadata) -> Openness {
        if !self.trusted.contains(&meta.uid()) {
            return Openness::Other(meta.uid());
        }
        // In a sticky directory only a file's owner can remove it (/tmp).
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

/// Whether a group may have members besides root. System groups with no listed members are left to the administrator
/// (Debian's `staff`, which owns `/usr/local/bin`).
fn has_members(group: u32) -> bool {
    /// The ids of the groups for users: those from 1000 on, and `users` (100), which has every user on some systems
    /// (Debian's policy, 9.2.2).
    const USERS: [std::ops::RangeInclusive<u32>; 2] = [100..=100, 1000..=u32::MAX];
    let is_users = USERS.iter().any(|range| range.contains(&group));
    let found = nix::unistd::Group::from_gid(nix::unistd::Gid::from_raw(group)).ok().flatten();
    is_users || found.is_some_and(|found| !found.mem.is_empty() && found.mem != ["root"])
}

/// Quotes a path for a shell.
pub fn word(path: &Path) -> String {
    let path = path.to_string_lossy();
    shlex::try_quote(&path).map_or_else(|_| shown(path.as_bytes()), |quoted| quoted.into_owned())
}

/// A user's name with the number, or the number alone.
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
