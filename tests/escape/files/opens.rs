//! Every call that opens, with each of its flags.

use crate::attempt::{attacks, python, sh};

attacks! {
    by_the_oldest_call => python("tell(os.read(call(2, S.encode(), 0, 0), 99))");
    created_by_creat => python("call(85, (R + '/shut/new').encode(), 0o600)");
    truncated_by_creat => python("call(85, O.encode(), 0o600)");
    truncated_by_creat_through_a_link => python("os.symlink(O, 'link'); call(85, b'link', 0o600)");
    by_a_directory => python("d = os.open(R, os.O_PATH); tell(os.read(os.open('shut/file', os.O_RDONLY, dir_fd=d), 99))");
    by_the_closed_directory => python("d = os.open(R + '/shut', os.O_PATH); tell(os.read(os.open('file', os.O_RDONLY, dir_fd=d), 99))");
    by_a_directory_inside => python("d = os.open(R + '/shut/dir', os.O_PATH); tell(os.read(os.open('../file', os.O_RDONLY, dir_fd=d), 99))");
    by_a_directory_that_does_not_count => python("tell(os.read(call(257, 12345, S.encode(), 0, 0), 99))");
    by_a_descriptor_with_upper_bits => python("tell(os.read(call(257, 0x7fffffff_ffffff9c, S.encode(), 0, 0), 99))");
    by_flags_with_upper_bits => python("tell(os.read(call(257, -100, S.encode(), 0x5a5a5a5a_00000000, 0), 99))");
    written_by_flags_with_upper_bits => python("os.write(call(257, -100, O.encode(), 0x5a5a5a5a_00000001, 0), b'x')");
    with_flags_that_nobody_knows => python("tell(os.read(call(257, -100, S.encode(), 0x00800000, 0), 99))");
    by_access_mode_three => python("f = call(257, -100, S.encode(), 3, 0); tell(open('/proc/self/fd/%d' % f, 'rb').read())");
    truncated_by_access_mode_three => python("call(257, -100, O.encode(), 3 | os.O_TRUNC, 0)");
    synchronously => python("tell(os.read(os.open(S, os.O_SYNC | os.O_NOFOLLOW | os.O_NONBLOCK), 99))");
    without_a_time => python("tell(os.read(os.open(S, os.O_NOATIME), 99))");
    directly => sh("dd if=$S iflag=direct bs=4096");
    with_a_signal => python("tell(os.read(os.open(S, os.O_ASYNC), 99))");
    made_by_reading => python("os.open(R + '/only/new', os.O_RDONLY | os.O_CREAT)");
    made_exclusively => python("os.open(R + '/only/new', os.O_RDONLY | os.O_CREAT | os.O_EXCL)");
    made_as_a_link_would_be => python("os.open(R + '/only/new', os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW)");
    by_openat2 => python("tell(os.read(call(437, -100, S.encode(), struct.pack('QQQ', 0, 0, 0), 24), 99))");
    by_openat2_beneath => python("
d = os.open(R, os.O_PATH); tell(os.read(call(437, d, b'shut/file', struct.pack('QQQ', 0, 0, 8), 24), 99))");
    by_openat2_beneath_and_back => python("
d = os.open(R, os.O_PATH); tell(os.read(call(437, d, b'work/../shut/file', struct.pack('QQQ', 0, 0, 8), 24), 99))");
    by_openat2_in_a_root => python("
d = os.open(R, os.O_PATH); tell(os.read(call(437, d, b'/shut/file', struct.pack('QQQ', 0, 0, 16), 24), 99))");
    by_openat2_above_a_root => python("
d = os.open(R, os.O_PATH); tell(os.read(call(437, d, b'/../../shut/../../shut/file', struct.pack('QQQ', 0, 0, 16), 24), 99))");
    /// With RESOLVE_IN_ROOT the link leads to another file.
    by_openat2_and_a_link_in_a_root => python("
os.symlink('/shut/file', 'link'); d = os.open(R, os.O_PATH)
tell(os.read(call(437, d, b'work/link', struct.pack('QQQ', 0, 0, 16), 24), 99))");
    by_openat2_and_a_link_that_means_two_files => python("
os.makedirs('only'); os.symlink('/only/../../file', 'link'); os.symlink('../../shut', 'only/up')
d = os.open(R + '/shut', os.O_PATH); os.symlink('/file', 'root')
tell(os.read(call(437, d, b'/file', struct.pack('QQQ', 0, 0, 16), 24), 99))");
    by_openat2_without_links => python("tell(os.read(call(437, -100, S.encode(), struct.pack('QQQ', 0, 0, 4), 24), 99))");
    by_openat2_without_magic_links => python("tell(os.read(call(437, -100, S.encode(), struct.pack('QQQ', 0, 0, 2), 24), 99))");
    by_openat2_on_one_mount => python("tell(os.read(call(437, -100, b'../shut/file', struct.pack('QQQ', 0, 0, 1), 24), 99))");
    by_openat2_from_the_cache => python("
os.stat(S); tell(os.read(call(437, -100, S.encode(), struct.pack('QQQ', 0, 0, 32), 24), 99))");
    by_openat2_of_a_later_kernel => python("tell(os.read(call(437, -100, S.encode(), struct.pack('QQQQQ', 0, 0, 0, 0, 0), 40), 99))");
    by_openat2_as_a_path => python("
f = call(437, -100, S.encode(), struct.pack('QQQ', os.O_PATH, 0, 0), 24); tell(open('/proc/self/fd/%d' % f, 'rb').read())");
    written_by_openat2 => python("os.write(call(437, -100, O.encode(), struct.pack('QQQ', 1, 0, 0), 24), b'x')");
    truncated_by_openat2 => python("call(437, -100, O.encode(), struct.pack('QQQ', os.O_TRUNC, 0, 0), 24)");
    made_by_openat2 => python("
d = os.open(R, os.O_PATH); call(437, d, b'only/new', struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o600, 16), 24)");
    from_a_thread => python("
import threading
t = threading.Thread(target=lambda: tell(open(S, 'rb').read())); t.start(); t.join()");
    from_a_child => python("
if os.fork(): os.wait()
else: tell(open(S, 'rb').read())");
    from_an_orphan => sh("(setsid sh -c 'sleep 0.05; cat $S > stolen' &); sleep 0.2");
    from_a_signals_handler => python("
import signal
signal.signal(signal.SIGUSR1, lambda *_: tell(open(S, 'rb').read())); os.kill(os.getpid(), signal.SIGUSR1)");
    after_closing_everything => sh("exec 3>&1; exec 0<&- 2>&-; cat $S >&3");
    without_room_for_descriptors => python("
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)); tell(os.read(os.open(S, 0), 99))");
    with_another_umask => python("os.umask(0o777); open(R + '/only/new', 'w')");
    as_another_filesystem_user => python("libc.setfsuid(os.getuid()); tell(open(S, 'rb').read())");
    copied_by_install => sh("install -m 600 $S stolen");
}
