//! Finds which part of a repository a tool's write would belong to, by what lies around it on the disk. Held
//! system calls are judged in the same way.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::{Policy, Site};
use guard_supervisor::judge::anchored_path::AnchoredPath;
use guard_supervisor::judge::created::Created;
use guard_supervisor::judge::linked_names::LinkedNames;
use guard_supervisor::judge::shapes::{Shapes, Subject};

/// Returns what is known of a real path that a tool would write; `None` if the path alone decides. OpenClaw makes the
/// missing directories on the way; they do not count as made by a tree.
pub fn site(policy: &Policy, path: &[u8]) -> Option<Site> {
    let shapes = Shapes { policy, created: &Created::default(), linked: &LinkedNames::default() };
    let site_of =
        |path: &Path, subject| shapes.site_of(AnchoredPath::path(path.as_os_str().as_bytes()), subject);
    let path = Path::new(OsStr::from_bytes(path));
    let subject = if is_missing(path) { Subject::New } else { Subject::There };
    let site = site_of(path, subject);
    let mut missing = path.ancestors().skip(1).take_while(|directory| is_missing(directory));
    let is_of_repository =
        |directory: &Path| site_of(directory, Subject::NewDirectory) == Some(Site::Repository);
    if missing.any(is_of_repository) { Some(Site::Repository) } else { site }
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use guard_policy::{Document, Host, Overrides};

    use super::*;

    #[test]
    fn a_bare_repository_is_known_by_what_lies_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for path in
            ["bare.git/objects", "bare.git/refs", "bare.git/hooks", "half/hooks", "half/objects", "plain"]
        {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for name in ["objects", "refs", "main"] {
            fs::create_dir_all(root.join("whole.git").join(name)).unwrap();
        }
        for file in ["HEAD", "main/.git"] {
            fs::write(root.join("whole.git").join(file), "").unwrap();
        }
        let document = Document::parse("", r#"{"version": 1}"#).unwrap();
        let host = Host::bare(b"/home/u", b"/home/u/work");
        let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
        let of = |path: &str| site(&policy, root.join(path).as_os_str().as_bytes());
        for path in [
            "bare.git/hooks/update",
            "bare.git/config",
            "bare.git/.git/HEAD",
            "half/HEAD",
            "half/refs/heads/x",
            "whole.git/MERGE_AUTOSTASH",
            "whole.git/rebase-merge/git-rebase-todo",
        ] {
            assert_eq!(of(path), Some(Site::Repository), "{path}");
        }
        for path in [
            "bare.git/description",
            "bare.git/x",
            "whole.git/packed-refs",
            "whole.git/main/x",
            "plain/hooks/update",
            "plain/config",
            "new/a/hooks/x",
        ] {
            assert_eq!(of(path), Some(Site::Own), "{path}");
        }
        for path in ["plain/.git/config", "new/.git/hooks/x", "plain/.envrc"] {
            assert_eq!(of(path), None, "its shape decides: {path}");
        }
    }
}
