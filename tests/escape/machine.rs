//! What this machine lets anybody do without the guard: some attacks need more than every machine has.

use std::fs;
use std::process::Command;

use guard_tests::{ended, is_root, program_text};

/// Whether the kernel is at least of this version.
pub fn since(major: u32, minor: u32) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a version");
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(major), Some(minor))
}

/// Whether these lines of Python end without an error, run as attacks are without the guard.
fn works(lines: &str) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--no-new-privs", "--inh-caps=-all"]);
    if is_root() {
        command.arg("--bounding-set=-all");
    }
    let text = format!("import ctypes, os, sys\nc = ctypes.CDLL(None, use_errno=True)\n{lines}");
    ended(command.args(["--", &program_text("python3"), "-I", "-c", &text])).status == 0
}

/// Namespaces of one's own.
pub fn has_namespaces() -> bool {
    works("sys.exit(c.unshare(0x10020000) != 0)")
}

/// A /proc of one's own in them: not where something is mounted over parts of the machine's.
pub fn has_own_proc() -> bool {
    works(
        "
if c.unshare(0x30020000): sys.exit(1)
if not os.fork(): os._exit(c.mount(b'p', b'/proc', b'proc', 0, b'') != 0)
sys.exit(os.wait()[1] != 0)",
    )
}

/// memfd_secret.
pub fn has_secret_memory() -> bool {
    works("sys.exit(c.syscall(447, 0) < 0)")
}

/// Rings of requests that the kernel does by itself.
pub fn has_rings() -> bool {
    works("sys.exit(c.syscall(425, 1, (ctypes.c_char * 120)()) < 0)")
}

/// The entry of 32-bit programs.
pub fn has_i386() -> bool {
    // x86's vDSO for them is there where they are.
    fs::read_to_string("/proc/sys/abi/vsyscall32").is_ok()
}

/// A crash that leaves its memory in the current directory.
pub fn dumps_here() -> bool {
    works(
        "
import resource
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
sys.exit(hard == 0 or open('/proc/sys/kernel/core_pattern').read()[0] in '|/@')",
    )
}
