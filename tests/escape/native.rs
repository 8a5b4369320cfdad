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

/// The number here of a call by its number on x86_64: of the call with this name, or of the newer one that does the same.
pub fn number(x86_64: u32) -> Option<u32> {
    let name = table::rows(Architecture::X86_64).iter().find(|row| row.number == x86_64)?.name;
    let here = |name: &str| table::named(Architecture::THIS, name).map(|row| row.number);
    let newer = || NEWER.iter().find(|(older, ..)| *older == name).and_then(|(_, newer, _)| here(newer));
    here(name).or_else(newer)
}

/// Defines `native(number, args)` in Python. It returns the number of the call that has this name here, or of the newer one
/// that does the same, and its arguments.
pub fn numbers() -> String {
    let mut text = "NATIVE = {".to_owned();
    let others =
        if Architecture::THIS == Architecture::X86_64 { &[] } else { table::rows(Architecture::X86_64) };
    for row in others {
        if let Some(here) = number(row.number) {
            let newer = NEWER.iter().find(|(older, ..)| *older == row.name);
            let arguments = newer.map_or("a", |(.., arguments)| arguments);
            let _ = write!(text, "{}: ({here}, lambda a: {arguments}), ", row.number);
        }
    }
    text + "}
def native(number, args):
    if NATIVE and number not in NATIVE: raise OSError(38, 'this machine has no such call')
    here, arguments = NATIVE.get(number, (number, lambda a: a))
    return here, arguments(args)
"
}
