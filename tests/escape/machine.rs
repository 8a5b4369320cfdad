//! What this machine allows without the guard: some attacks need more than every machine has.

use std::fs;
use std::process::Command;

use guard_tests::{ended, is_root, program_text};

/// Returns whether the kernel is at least of this version.
pub fn since(major: u32, minor: u32) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("a version");
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(major), Some(minor))
}

/// Returns whether these lines of Python succeed, with the privileges that attacks have natively.
fn works(lines: &str) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--no-new-privs", "--inh-caps=-all"]);
    if is_root() {
        command.arg("--bounding-set=-all");
    }
    let text = format!("import ctypes, os, sys\nc = ctypes.CDLL(None, use_errno=True)\n{lines}");
    ended(command.args(["--", &program_text("python3"), "-I", "-c", &text])).status == 0
}

/// Returns whether a process may create user and mount namespaces.
pub fn has_namespaces() -> bool {
    works("sys.exit(c.unshare(0x10020000) != 0)")
}

/// Returns whether a process may mount /proc in its own namespaces: not where something is mounted over parts
/// of the machine's.
pub fn has_own_proc() -> bool {
    works(
        "
if c.unshare(0x30020000): sys.exit(1)
if not os.fork(): os._exit(c.mount(b'p', b'/proc', b'proc', 0, b'') != 0)
sys.exit(os.wait()[1] != 0)",
    )
}

/// Returns whether memfd_secret(2) works.
pub fn has_secret_memory() -> bool {
    works("sys.exit(c.syscall(447, 0) < 0)")
}

/// Returns whether io_uring works: rings of requests that the kernel carries out by itself.
pub fn has_rings() -> bool {
    works("sys.exit(c.syscall(425, 1, (ctypes.c_char * 120)()) < 0)")
}

/// Returns whether 32-bit programs can enter the kernel.
pub fn has_i386() -> bool {
    // The sysctl of the 32-bit vDSO exists exactly where they can.
    fs::read_to_string("/proc/sys/abi/vsyscall32").is_ok()
}

/// Returns whether a crash dumps core into the current directory.
pub fn dumps_here() -> bool {
    works(
        "
import resource
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
sys.exit(hard == 0 or open('/proc/sys/kernel/core_pattern').read()[0] in '|/@')",
    )
}
