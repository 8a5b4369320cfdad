//! What the attacks name as x86_64 has it, on other architectures: the loader, and the numbers of system calls in Python.

use std::borrow::Cow;
use std::fmt::Write;

use guard_shim::table::{self, Architecture};
use guard_tests::LOADER;

/// What newer architectures have instead of an older call: its name, and its arguments by those of the older one, `a`.
const NEWER: [(&str, &str, &str); 16] = [
    ("open", "openat", "(-100, *a)"),
    ("creat", "openat", "(-100, a[0], 0o1101, *a[1:])"),
    ("mkdir", "mkdirat", "(-100, *a)"),
    ("mknod", "mknodat", "(-100, *a)"),
    ("unlink", "unlinkat", "(-100, a[0], 0)"),
    ("rmdir", "unlinkat", "(-100, a[0], 0x200)"),
    ("rename", "renameat", "(-100, a[0], -100, a[1])"),
    ("link", "linkat", "(-100, a[0], -100, a[1], 0)"),
    ("symlink", "symlinkat", "(a[0], -100, a[1])"),
    ("readlink", "readlinkat", "(-100, *a)"),
    ("chmod", "fchmodat", "(-100, *a)"),
    ("chown", "fchownat", "(-100, *a, 0)"),
    ("lchown", "fchownat", "(-100, *a, 0x100)"),
    ("access", "faccessat", "(-100, *a)"),
    ("dup2", "dup3", "(*a, 0)"),
    ("inotify_init", "inotify_init1", "(0,)"),
];

/// Returns an attack that names the loader of this architecture.
pub fn loader(text: &str) -> Cow<'_, str> {
    const NAMED: &str = "/lib64/ld-linux-x86-64.so.2";
    if LOADER == NAMED { text.into() } else { text.replace(NAMED, LOADER).into() }
}

/// Defines `native(number, args)` in Python. It returns the number of the call that has this name here, or of the newer one
/// that does the same, and its arguments.
pub fn numbers() -> String {
    let mut text = "NATIVE = {".to_owned();
    for row in table::rows(Architecture::X86_64).iter().filter(|_| Architecture::THIS != Architecture::X86_64)
    {
        let newer = NEWER.iter().find(|(older, ..)| *older == row.name);
        let (name, arguments) = newer.map_or((row.name, "a"), |(_, name, arguments)| (name, arguments));
        if let Some(here) = table::rows(Architecture::THIS).iter().find(|here| here.name == name) {
            let _ = write!(text, "{}: ({}, lambda a: {arguments}), ", row.number, here.number);
        }
    }
    text + "}
def native(number, args):
    here, arguments = NATIVE.get(number, (number, lambda a: a))
    return here, arguments(args)
"
}
