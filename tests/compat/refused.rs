//! What the guard refuses to programs, each as a minimal case: rows of docs/compatibility.md about programs.

use guard_tests::{World, number, skip};

use crate::script::printed;

/// Returns what a shell script prints natively and guarded, in a world that allows everything.
fn both(script: &str) -> [String; 2] {
    World::open().both(&["sh", "-c", script]).map(|ended| ended.stdout)
}

/// Returns what a Python script prints natively and guarded, or the errno of its first failure.
fn attempted(script: &str) -> [String; 2] {
    let indented = script.replace('\n', "\n ");
    let script = format!("try:\n {indented}\nexcept OSError as e: print(errno.errorcode[e.errno])");
    printed(&World::open(), &script)
}

#[test]
fn programs_that_cannot_be_read() {
    let script = "cp /bin/echo e; chmod 111 e; ./e runs 2>/dev/null || echo $?";
    assert_eq!(both(script), ["runs\n", "126\n"]);
}

/// ldd, which runs nothing, works: tests/compat/build.rs.
#[test]
fn the_loader_as_a_program() {
    let script = "cp /bin/echo e; /lib64/ld-linux-x86-64.so.2 ./e runs 2>/dev/null || echo $?";
    assert_eq!(both(script), ["runs\n", "126\n"]);
}

#[test]
fn programs_in_memory() {
    let source = "fd = os.memfd_create('echo'); os.write(fd, open('/bin/echo', 'rb').read())\nos.execve(fd, ['echo', 'runs'], {})";
    assert_eq!(attempted(source), ["runs", "EACCES"]);
}

#[test]
fn programs_whose_name_is_gone() {
    let source = "os.system('cp /bin/echo e'); fd = os.open('e', 0); os.unlink('e')\nos.execve(fd, ['echo', 'runs'], {})";
    assert_eq!(attempted(source), ["runs", "EACCES"]);
}

/// A source route would lead elsewhere than to the address that is judged.
#[test]
fn source_routes() {
    let source =
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(0, 4, b''); print('cleared')
s.setsockopt(0, 4, bytes([7, 7, 4, 0, 0, 0, 0, 0])); print('recorded')";
    assert_eq!(attempted(source), ["cleared\nrecorded", "cleared\nEPERM"]);
}

/// Past the local routes, an address of this host leads out of it.
#[test]
fn sockets_of_one_interface() {
    let source = "for family, level, option, value in (2, 1, 25, b'lo'), (2, 1, 62, struct.pack('i', 1)), (2, 0, 50, struct.pack('!i', 1)), (10, 41, 76, struct.pack('!i', 1)), (10, 41, 50, bytes(16) + struct.pack('i', 1)), (10, 41, 32, bytes(32)):
  s = socket.socket(family, socket.SOCK_DGRAM); print(tried(s.setsockopt, level, option, value))";
    let [native, guarded] = attempted(source);
    assert!(native.starts_with("done\ndone\ndone\ndone\ndone\n"), "{native}");
    assert_eq!(guarded, "EPERM\n".repeat(6).trim());
}

#[test]
fn messages_without_a_copy() {
    let source = "socket.socket().setsockopt(socket.SOL_SOCKET, 60, 1); print('set')";
    assert_eq!(attempted(source), ["set", "ENOTSUP"]);
}

/// The user is the same: only the process is the supervisor.
#[test]
fn the_sender_of_a_message() {
    let source = "a, b = socket.socketpair(); b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
for send in a.send, lambda text: a.sendmsg([text]):
  send(b'x'); pid, uid, _ = struct.unpack('3i', b.recvmsg(9, 99)[1][0][2]); print(pid == os.getpid(), uid == os.getuid())";
    assert_eq!(attempted(source), ["True True\nTrue True", "True True\nFalse True"]);
}

#[test]
fn other_families() {
    let source = "socket.socket(40, socket.SOCK_STREAM); print('AF_VSOCK')";
    assert_eq!(attempted(source), ["AF_VSOCK", "EAFNOSUPPORT"]);
}

#[test]
fn core_files() {
    assert_eq!(both("ulimit -Hc; ulimit -c 1 2>/dev/null && echo set"), ["unlimited\nset\n", "0\n"]);
}

/// With a limit of 0 the kernel would start the program of core_pattern(5), outside of the tree.
#[test]
fn a_limit_on_core_files_of_nothing() {
    let source = concat!(
        r#"
import resource
CORE = resource.RLIMIT_CORE
for attempt in (lambda: resource.setrlimit(CORE, (0, 0)), lambda: resource.prlimit(0, CORE, (0, 0)),
                lambda: resource.prlimit(os.getpid(), CORE, (0, 0)), lambda: resource.setrlimit(CORE, (0, 1)),
                lambda: ctypes.CDLL(None).syscall("#,
        number!(setrlimit),
        r#", CORE, bytes(16))):
    try: attempt()
    except (OSError, ValueError): pass
    print(resource.getrlimit(CORE))"#
    );
    let [native, guarded] = attempted(&format!("import ctypes{source}"));
    assert!(native.ends_with("(0, 0)"), "{native}");
    assert_eq!(guarded, ["(1, 1)"; 5].join("\n"));
}

/// Runs only on machines that allow user namespaces, which Chromium's sandbox uses.
#[test]
fn namespaces_of_users() {
    let world = World::open();
    let argv = ["unshare", "--user", "true"];
    if world.native(&argv).status != 0 {
        return skip("this machine gives users no namespaces");
    }
    let ended = world.guarded(&argv);
    assert_eq!(
        (ended.status, ended.stderr.as_str()),
        (1, "unshare: unshare failed: Operation not permitted\n")
    );
}
