//! Known differences, each with its row in docs/compatibility.md and a reproducer in tests/compat.

use super::calls::{Arg, Call};

/// A known difference.
struct Known {
    name: &'static str,
    is: fn(&Call, &str, &str) -> bool,
}

const KNOWN: [Known; 7] = [
    Known {
        name: "openat2 with O_PATH",
        is: |call, _, guarded| {
            guarded == "= -1 ENOSYS"
                && call
                    .args
                    .iter()
                    .any(|arg| matches!(arg, Arg::How { flags, .. } if flags & libc::O_PATH != 0))
        },
    },
    Known {
        name: "getsockname after bind where the floor cannot hold the name",
        is: |call, _, guarded| call.name == "getsockname" && guarded.contains("\"/proc/self/fd/"),
    },
    Known {
        name: "removing what is in /proc/self/fd",
        is: |call, native, guarded| {
            guarded == "= -1 EACCES"
                && ["= -1 EPERM", "= -1 ENOTDIR"].contains(&native)
                && ["unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2"].contains(&call.name)
                && call
                    .args
                    .iter()
                    .any(|arg| matches!(arg, Arg::Path(path) | Arg::PathAtEnd(path) if is_descriptor(path)))
        },
    },
    Known {
        name: "linkat with AT_EMPTY_PATH of what another process opened",
        is: |call, native, _| {
            native == "= -1 ENOENT"
                && call.name == "linkat"
                && matches!(call.args.last(), Some(Arg::Int(flags)) if flags & i64::from(libc::AT_EMPTY_PATH) != 0)
        },
    },
    Known {
        name: "O_NOFOLLOW among the flags of an open file",
        is: |call, native, guarded| {
            let flags = |line: &str| line.strip_prefix("= ").and_then(|flags| flags.parse::<i32>().ok());
            let others = |line: &str| flags(line).map(|flags| flags & !libc::O_NOFOLLOW);
            // The broker's run may be either side: it is compared with the kernel's tier, too.
            call.name == "F_GETFL" && others(native).is_some() && others(native) == others(guarded)
        },
    },
    Known {
        name: "a removed file by a descriptor that was opened for less",
        is: |call, native, guarded| {
            let by_path =
                |arg: &Arg| matches!(arg, Arg::Path(path) | Arg::PathAtEnd(path) if is_descriptor(path));
            let is_empty =
                |arg: &Arg| matches!(arg, Arg::Int(flags) if flags & i64::from(libc::AT_EMPTY_PATH) != 0);
            guarded == "= -1 EACCES"
                && !native.starts_with("= -1 ")
                && call.args.iter().any(|arg| by_path(arg) || is_empty(arg))
        },
    },
    Known { name: SET_ID, is: |_, native, guarded| without_set_id(native) == guarded },
];

/// The bits that the guard takes off the modes of files.
pub const SET_ID: &str = "set-user-ID and set-group-ID bits of files";

/// Returns a line of a run without those bits in the modes of regular files.
pub fn without_set_id(line: &str) -> String {
    let word = |word: &str| {
        let digits = word.trim_end_matches(':');
        match u32::from_str_radix(digits, 8) {
            Ok(mode) if digits.len() == 6 && mode & libc::S_IFMT == libc::S_IFREG => {
                format!("{:o}{}", mode & !(libc::S_ISUID | libc::S_ISGID), &word[digits.len()..])
            }
            _ => word.to_owned(),
        }
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn is_descriptor(path: &[u8]) -> bool {
    [&b"/proc/self/fd/"[..], b"/proc/thread-self/fd/", b"/dev/fd/"]
        .iter()
        .any(|start| path.starts_with(start))
}

/// Returns the name of the known difference between these two results of a call.
pub fn known(call: &Call, native: &str, guarded: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| (known.is)(call, native, guarded)).map(|known| known.name)
}
