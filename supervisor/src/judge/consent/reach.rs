//! How far an answer to a question about a file may reach: its directory, and the command that asks.

use guard_approvals::{AskedDirectory, Process, Reach, WhichDirectory};
use guard_policy::{Access, Policy};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};

use super::which_file::born_ms_of;
use crate::judge::made_directories::MadeDirectories;

/// The calls for which an answer may reach further than the one file. Calls on sockets are missing, because another
/// program is behind each socket.
const CALLS: [&str; 13] = [
    "open",
    "truncate",
    "mkdir",
    "mknod",
    "symlink",
    "unlink",
    "rename",
    "link",
    "chmod",
    "chown",
    "utimes",
    "setxattr",
    "removexattr",
];

/// Directories below which names do not mean lasting files.
const SPECIAL: [&[u8]; 3] = [b"/proc", b"/sys", b"/dev"];

/// How far an answer about a file may reach. `lineage` are the caller and its ancestors; `None` if they are not all known
/// for certain.
pub fn reach(
    policy: &Policy,
    made: &MadeDirectories,
    (path, access, call): (&[u8], Access, &str),
    lineage: Option<&[Process]>,
) -> Option<Reach> {
    let is_plain = CALLS.contains(&call) && !access.contains(Access::MAP) && path.starts_with(b"/");
    is_plain.then(|| {
        let mut inside = directories_above(made, path);
        let itself = directory(made, path).filter(|_| !access.contains(Access::WRITE));
        inside.extend(itself);
        let asked = match call {
            "mkdir" => Some(AskedDirectory { path: path.to_vec(), which: WhichDirectory::New }),
            // The last one is the nearest.
            _ => inside.last().cloned(),
        };
        let directory = asked.filter(|asked| may_be_granted(policy, &asked.path));
        Reach { directory, inside, command: lineage.and_then(command).cloned() }
    })
}

/// The command that a process belongs to: its ancestor just below the first process of the session, or below the one
/// that the reaper has adopted. If the topmost process itself asks, it is the command.
pub fn command(lineage: &[Process]) -> Option<&Process> {
    lineage.get(lineage.len().saturating_sub(2))
}

/// Whether one answer may be for all files in a directory.
fn may_be_granted(policy: &Policy, path: &[u8]) -> bool {
    let is_special = SPECIAL.iter().any(|special| {
        path.strip_prefix(*special).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    });
    !is_special && !policy.is_home_or_above(path)
}

/// The directories that a real path is in, the nearest last; without `/`.
pub fn directories_above(made: &MadeDirectories, path: &[u8]) -> Vec<AskedDirectory> {
    let ends = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    ends.filter_map(|end| directory(made, &path[..end])).collect()
}

/// The directory at a real path, if one is there.
fn directory(made: &MadeDirectories, path: &[u8]) -> Option<AskedDirectory> {
    let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::BTIME;
    let stat = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
    let is_directory = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Directory;
    is_directory.then(|| AskedDirectory {
        path: path.to_vec(),
        which: WhichDirectory::There {
            device: makedev(stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            born_ms: born_ms_of(&stat),
            is_made: made.contains(path),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32) -> Process {
        Process { pid, started: 1, name: "x".to_owned() }
    }

    #[test]
    fn the_command_is_what_the_first_process_has_started() {
        let line = [process(9), process(8), process(7)];
        assert_eq!(command(&line), Some(&line[1]));
        assert_eq!(command(&line[1..]), Some(&line[1]));
        assert_eq!(command(&line[2..]), Some(&line[2]));
        assert_eq!(command(&[]), None);
    }

    #[test]
    fn the_directories_above_a_file_are_told_apart() {
        let top = std::env::temp_dir().canonicalize().unwrap().join(format!("reach-{}", std::process::id()));
        std::fs::create_dir_all(top.join("a")).unwrap();
        std::os::unix::fs::symlink("a", top.join("link")).unwrap();
        let above = |name: &str| {
            let path = top.join(name);
            let all = directories_above(&MadeDirectories::default(), path.as_os_str().as_encoded_bytes());
            all.last().cloned().unwrap()
        };
        let (nearest, other) = (above("a/file"), above("file"));
        assert!(nearest.path.ends_with(b"/a") && nearest.which != other.which);
        // A link is not a directory, and a missing name is not one, either.
        assert_eq!(above("link/file"), other);
        assert_eq!(above("gone/file"), other);
        std::fs::remove_dir_all(&top).unwrap();
    }
}
