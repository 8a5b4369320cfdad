//! Errors of requests that a file does not know (ioctl(2), fcntl(2)), and of personality(2), natively and guarded.

use guard_tests::{World, number, skip};

use crate::script::{both, printed};

/// Runs a script in a world that allows everything, and returns what it prints natively and guarded.
fn found(script: &str) -> [String; 2] {
    both(&World::open(), script).map(|ended| {
        assert_eq!(ended.stderr, "", "nothing is denied");
        ended.stdout.trim().to_owned()
    })
}

/// Programs do without a request upon ENOTTY (ioctl(2)), and fail upon other errors.
#[test]
fn unknown_requests() {
    let script = "
import select
master, slave = pty.openpty()
files = [os.pipe()[0], socket.socket(), master, slave, c.syscall(434, os.getpid(), 0), c.eventfd(0, 0),
  c.inotify_init1(0), c.timerfd_create(0, 0), os.open('f', os.O_CREAT | os.O_RDWR), os.open('.', 0)]
files += [os.open('/dev/' + name, os.O_RDWR) for name in ('null', 'zero', 'full')]
for file in files: print(tried(fcntl.ioctl, file, 0x1234abcd), tried(fcntl.ioctl, file, 0x4b33))";
    let [native, guarded] = found(script);
    assert_eq!(native, ["ENOTTY ENOTTY"; 13].join("\n"));
    assert_eq!(guarded, native);
}

/// The kernel's answer differs between its releases: ENOTTY, or EINVAL.
#[test]
fn unknown_requests_of_other_files() {
    let script = "
import select
poll = select.epoll(); random = os.open('/dev/urandom', 0)
print(*(tried(fcntl.ioctl, file, 0x1234abcd) in ('ENOTTY', 'EINVAL') for file in (poll.fileno(), random)))";
    assert_eq!(found(script), ["True True"; 2]);
}

#[test]
fn requests_that_only_query() {
    let script = "
p = c.syscall(434, os.getpid(), 0)
def info(size): print('pidfd', size, tried(fcntl.ioctl, p, 3 << 30 | size << 16 | 0xff0b, bytearray(size)))
for size in (64, 72, 80): info(size)
d = os.open('.', 0)
print('uuid', tried(fcntl.ioctl, d, 0x80111500, bytearray(17)), 'path', tried(fcntl.ioctl, d, 0x80811501, bytearray(129)))
s = socket.socket(); command = ctypes.create_string_buffer(struct.pack('I', 1), 44)
query = bytearray(struct.pack('16sP', b'lo', ctypes.addressof(command)).ljust(40, b'\\0'))
for request in (0x8946, 0x891d, 0x8970): print(hex(request), tried(fcntl.ioctl, s, request, query))";
    let [native, guarded] = found(script);
    assert_eq!(guarded, native);
}

#[test]
fn the_owner_of_a_descriptor() {
    let script = "
r, w = os.pipe(); os.setpgid(0, 0); child = os.fork()
if child == 0: os.close(w); os.read(r, 1); os._exit(0)
for owner in (os.getpid(), os.getpgrp(), -os.getpgrp(), child, 0, 1 << 22, -(1 << 22), -(1 << 31)):
 result = tried(fcntl.fcntl, r, fcntl.F_SETOWN, owner); kind, id = struct.unpack('ii', fcntl.fcntl(r, 16, bytes(8)))
 print(result, owner == (-id if kind == 2 else id))
os.close(w); os.wait()";
    let [native, guarded] = found(script);
    assert!(native.starts_with("done True\ndone True\ndone True\ndone True\ndone True\nESRCH"), "{native}");
    assert_eq!(guarded, native);
}

#[test]
fn personalities() {
    let script = "
print(c.personality(0xffffffff))
for p in (0, 8, 0x20000, 0x40000, 0x200000, 0x800000, 0x1000000, 0x2000000, 0x4000000, 0x8000000, 0x8000008):
 print(hex(p), error(c.personality(p)), c.personality(0xffffffff) == p, os.uname().machine)";
    let [native, guarded] = found(script);
    assert!(native.contains("0x8 done True i686"), "{native}");
    assert_eq!(guarded, native);
}

/// With it, every readable mapping can run, without the PROT_EXEC that the guard looks for.
#[test]
fn personalities_that_run_what_is_read() {
    let script = "print(*(error(c.personality(p)) for p in (0x400000, 0x100000)))";
    assert_eq!(found(script), ["done done", "EPERM EPERM"]);
}

#[test]
fn keyrings() {
    let script = concat!(
        "print(error(c.syscall(",
        number!(keyctl),
        ", 0, -3, 0)), error(c.syscall(",
        number!(add_key),
        ", b'user', b'x', b'y', 1, -2)))"
    );
    let [native, guarded] = found(script);
    // The machine may have no keyrings, or no room for one.
    let is_known = |result: &str| ["done", "ENOSYS", "EDQUOT", "EPERM"].contains(&result);
    assert!(native.split(' ').all(is_known), "{native}");
    assert_eq!(guarded, "ENOSYS ENOSYS");
}

#[test]
fn descriptors_of_another_process() {
    // pidfd_open and pidfd_getfd, of the caller itself.
    let script = "print(error(c.syscall(438, c.syscall(434, os.getpid(), 0), 1, 0)))";
    assert_eq!(found(script), ["done", "EPERM"]);
}

/// listmount: the mounts below the root of the caller's namespace, which /proc/self/mountinfo tells, too.
#[test]
fn lists_of_mounts() {
    let script = "
request = struct.pack('IIQQ', 24, 0, 0xffff_ffff_ffff_ffff, 0)
print(error(c.syscall(458, request, bytes(8 * 64), 64, 0)))";
    let [native, guarded] = found(script);
    // Linux 6.8.
    assert!(["done", "ENOSYS"].contains(&&*native), "{native}");
    assert_eq!(guarded, native);
}

#[test]
fn queues_of_messages() {
    let script = concat!(
        "
name = b'guard-test-%d' % os.getpid(); found = error(c.syscall(",
        number!(mq_open),
        ", name, 0o102, 0o600, None))
if found == 'done': c.syscall(",
        number!(mq_unlink),
        ", name)
print(found)"
    );
    let [native, guarded] = found(script);
    assert!(["done", "ENOSYS", "EMFILE"].contains(&&*native), "{native}");
    // Without the floor the kernel decides.
    assert!(["EACCES", &*native].contains(&&*guarded), "{guarded}");
}

#[test]
fn processes_cloned_for_the_parent() {
    // CLONE_PARENT, CLONE_FS and CLONE_PTRACE with SIGCHLD; a child ends at once.
    let script = concat!(
        "
def cloned(flags):
 pid = c.syscall(",
        number!(clone),
        ", flags | 17, 0, 0, 0, 0)
 if pid == 0: os._exit(0)
 return error(pid)
print(cloned(0x8000), cloned(0x200), cloned(0x2000))"
    );
    assert_eq!(found(script), ["done done done", "EINVAL EPERM EPERM"]);
}

/// The log of the kernel, which root may write.
#[test]
fn unknown_requests_of_drivers() {
    let script = "
try: print(tried(fcntl.ioctl, os.open('/dev/kmsg', os.O_WRONLY), 0x1234abcd))
except OSError: print('none')";
    let found = printed(&World::open(), script);
    if found[0] == "none" {
        return skip("this user may write to no device with a driver");
    }
    assert_eq!(found, ["ENOTTY", "EACCES"]);
}

#[test]
fn requests_that_act_on_others() {
    let script = "
master, slave = pty.openpty()
for request in (0x5412, 0x541c, 0x541d, 0x5423, 0x5437): print(tried(fcntl.ioctl, slave, request, bytearray(8)))
for request in (0x8901, 0x8902): print(tried(fcntl.ioctl, socket.socket(), request, struct.pack('i', os.getpid())))";
    let [_, guarded] = found(script);
    assert_eq!(guarded, ["EPERM"; 7].join("\n"));
}

#[test]
fn owners_in_memory() {
    let script = "
os.setpgid(0, 0); r, w = os.pipe()
owner = lambda kind, id: tried(fcntl.fcntl, r, 15, struct.pack('ii', kind, id))
print(owner(1, os.getpid()), owner(1, 0), owner(2, os.getpgrp()))";
    assert_eq!(found(script), ["done done done", "done done EPERM"]);
}
