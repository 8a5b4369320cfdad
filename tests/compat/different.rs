//! Known differences, each as a minimal case: the rows of docs/compatibility.md that the sequences leave out.

use guard_tests::{World, behind, ended, program_text};

use crate::script::{HEAD, both};

/// Returns what a script prints natively and guarded, in a world that allows everything.
fn found(script: &str) -> [String; 2] {
    both(&World::open(), script).map(|ended| {
        assert_eq!(ended.stderr, "", "nothing is denied");
        ended.stdout.trim().to_owned()
    })
}

#[test]
fn openat2_gives_no_o_path_descriptor() {
    let found =
        found("how = struct.pack('QQQ', os.O_PATH, 0, 0); print(error(c.syscall(437, -100, b'.', how, 24)))");
    assert_eq!(found, ["done", "ENOSYS"]);
}

#[test]
fn set_user_id_and_set_group_id_bits_are_taken_off() {
    let script = "
os.mknod('n', 0o6711 | 0o100000); open('f', 'w').close(); os.chmod('f', 0o4755)
for name in 'nf': print('%o' % os.stat(name).st_mode, end=' ')";
    let [native, guarded] = both(&World::open(), script);
    assert_eq!([native.stdout.trim(), guarded.stdout.trim()], ["106711 104755", "100711 100755"]);
    assert!(guarded.stderr.contains("/f gets no set-user-ID or set-group-ID bit"), "{}", guarded.stderr);
}

#[test]
fn removing_a_name_in_proc_self_fd_fails_with_another_error() {
    assert_eq!(found("print(error(c.unlink(b'/proc/self/fd/0')))"), ["EPERM", "EACCES"]);
}

#[test]
fn a_descriptor_of_another_process_can_be_linked() {
    let script = "
open('f', 'w').close(); fd = os.open('f', os.O_RDONLY)
if os.fork(): os.wait()
else: print(error(c.linkat(fd, b'', -100, b'linked', 0x1000)))";
    assert_eq!(found(script), ["ENOENT", "done"]);
}

#[test]
fn the_flags_of_an_open_file_lack_o_nofollow() {
    let flags = "os.mkdir('d'); os.symlink('d', 'l'); open('d/f', 'w'); fd = os.open('l/f', os.O_NOFOLLOW)
print(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NOFOLLOW != 0)";
    assert_eq!(found(flags), ["True", "False"]);
}

/// Natively, only calls that wait for another process return EINTR. A guard that is nice has ordinary workers: with a
/// real-time priority they receive calls too soon for this test.
#[test]
fn a_signal_may_interrupt_a_call_that_the_guard_has_not_taken_yet() {
    let script = "
import signal
signal.signal(signal.SIGALRM, lambda *_: None); signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
found = 'never'; open('f', 'w').close()
try:
    for _ in range(20000): os.rename('f', 'g'); os.rename('g', 'f')
except InterruptedError: found = 'EINTR'
signal.setitimer(signal.ITIMER_REAL, 0); print(found)";
    let world = World::open();
    let file = world.write("script.py", format!("{HEAD}{script}"));
    let mut found = [world.native_command(), world.command()];
    found[1].arg("--");
    let found = found.map(|mut command| {
        ended(&mut behind(&["nice", "-n", "1"], command.arg(program_text("python3")).arg(&file)))
    });
    assert_eq!(found.map(|ended| ended.stdout), ["never\n", "EINTR\n"]);
}

/// Beyond PATH_MAX the kernel reports no descriptor's path. The guard finds a directory's, but not a file's.
#[test]
fn a_file_beyond_path_max_is_not_changed_by_its_descriptor() {
    let script = "
for _ in range(45): os.mkdir('x' * 200); os.chdir('x' * 200)
fd = os.open('f', os.O_CREAT | os.O_RDWR); print(error(c.fchmod(fd, 0o600)), error(c.chmod(b'f', 0o600)))";
    assert_eq!(found(script), ["done done", "ENAMETOOLONG done"]);
}

/// The guard opens files for reading and hands them over. Its own copy lasts a moment longer than the call.
#[test]
fn inotify_may_report_the_close_of_a_read_file_later() {
    let script = "
w = c.inotify_init1(0o4000); open('f', 'w').close(); c.inotify_add_watch(w, b'f', 0x10); found = 'at once'
for _ in range(50000):
    os.close(os.open('f', os.O_RDONLY))
    try: os.read(w, 4096)
    except BlockingIOError: found = 'later'; break
print(found)";
    assert_eq!(found(script), ["at once", "later"]);
}

#[test]
fn the_filter_is_counted() {
    let script = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('Seccomp_filters')))";
    let [native, guarded] = found(script).map(|count| count.parse::<u32>().expect("a number"));
    assert_eq!(guarded, native + 1);
}
