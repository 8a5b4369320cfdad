//! Runs Python scripts natively and guarded, for tests of what differs.

use guard_tests::{Ended, World, program_text};

/// `c` is the C library. `error()` names a C call's errno by its result, `tried()` that of a Python call.
pub const HEAD: &str = "\
import ctypes, errno, fcntl, os, pty, socket, struct, sys
c = ctypes.CDLL(None, use_errno=True)
error = lambda result: 'done' if result >= 0 else errno.errorcode[ctypes.get_errno()]
def tried(call, *more):
 try: call(*more); return 'done'
 except OSError as e: return errno.errorcode[e.errno]
";

/// Runs a script natively and guarded, each time in an empty workspace.
pub fn both(world: &World, script: &str) -> [Ended; 2] {
    let file = world.write("script.py", format!("{HEAD}{script}"));
    let both = world.both(&[&program_text("python3"), file.to_str().expect("a plain path")]);
    for ended in &both {
        assert_eq!(ended.status, 0, "the script itself: {}", ended.stderr);
    }
    both
}

/// Returns what a script prints natively and guarded.
pub fn printed(world: &World, script: &str) -> [String; 2] {
    both(world, script).map(|ended| ended.stdout.trim().to_owned())
}
