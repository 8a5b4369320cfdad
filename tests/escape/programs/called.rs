//! The arguments of execve and execveat.

use crate::attempt::{attacks, python};

attacks! {
    by_execveat => python("os.chdir(R); call(322, -100, P.encode(), array(b'x'), 0, 0)");
    by_execveat_of_a_directory => python("os.chdir(R); call(322, os.open('.', os.O_PATH), b'hide/prog', array(b'x'), 0, 0)");
    by_execveat_of_the_closed_directory => python("os.chdir(R); call(322, os.open('hide', os.O_RDONLY), b'prog', array(b'x'), 0, 0)");
    by_execveat_of_a_descriptor => python("os.chdir(R); call(322, os.open(P, os.O_RDONLY), b'', array(b'x'), 0, 0x1000)");
    by_execveat_of_o_path => python("os.chdir(R); call(322, os.open(P, os.O_PATH), b'', array(b'x'), 0, 0x1000)");
    by_execveat_without_following => python("os.chdir(R); call(322, -100, P.encode(), array(b'x'), 0, 0x100)");
    by_execveat_with_both_flags => python("os.chdir(R); call(322, os.open(P, os.O_PATH), b'', array(b'x'), 0, 0x1100)");
    by_execveat_with_upper_bits => python("os.chdir(R); call(322, os.open(P, os.O_PATH), b'', array(b'x'), 0, 0x7777_0000_1000)");
    by_execveat_of_a_name_and_a_wrong_directory => python("os.chdir(R); call(322, 999, P.encode(), array(b'x'), 0, 0)");
    by_execveat_of_a_link_in_proc => python("
os.chdir(R); f = os.open(P, os.O_PATH); call(322, os.open('/proc/self/fd', os.O_RDONLY), b'%d' % f, array(b'x'), 0, 0)");
    by_a_descriptor_that_closes => python("os.chdir(R); call(322, os.open(P, os.O_RDONLY | os.O_CLOEXEC), b'', array(b'x'), 0, 0x1000)");
    /// The check reports whether the program could run; it must not be what makes it run.
    after_a_check => python("
os.chdir(R); f = os.open(P, os.O_PATH)
try: call(322, f, b'', array(b'x'), 0, 0x11000)
except OSError: pass
call(322, f, b'', array(b'x'), 0, 0x1000)");
    with_no_arguments => python("os.chdir(R); call(59, P.encode(), array(), array())");
    with_null_arguments => python("os.chdir(R); call(59, P.encode(), 0, 0)");
    with_an_empty_name => python("os.chdir(R); call(59, P.encode(), array(b''), array())");
    with_a_lying_name => python("os.chdir(R); call(59, P.encode(), array(b'/usr/bin/true'), array())");
    with_a_name_of_control_characters => python("os.chdir(R); call(59, P.encode(), array(b'\\x1b[2J\\n\\r\\xff'), array())");
    with_ten_thousand_arguments => python("os.chdir(R); call(59, P.encode(), array(*[b'x'] * 10000), array())");
    with_long_arguments => python("os.chdir(R); call(59, P.encode(), array(*[b'x' * 100000] * 10), array())");
    with_too_many_arguments => python("os.chdir(R); call(59, P.encode(), array(*[b'x' * 100000] * 100), array())").natively_refused("E2BIG");
    with_a_long_environment => python("os.chdir(R); call(59, P.encode(), array(b'x'), array(*[b'A=' + b'x' * 100000] * 10))");
    with_arguments_that_are_no_text => python("os.chdir(R); call(59, P.encode(), array(b'x', bytes(range(1, 256))), array())");
    with_an_argument_at_the_end_of_a_page => python("
page = call(9, 0, 8192, 3, 0x22, -1, 0); call(11, page + 4096, 4096); ctypes.memmove(page + 4093, b'hi\\0', 3)
os.chdir(R); call(59, P.encode(), (ctypes.c_void_p * 3)(page + 4093, page + 4093, None), 0)");
    with_an_argument_that_does_not_end => python("
page = call(9, 0, 8192, 3, 0x22, -1, 0); call(11, page + 4096, 4096); ctypes.memset(page, 88, 4096)
os.chdir(R); call(59, P.encode(), (ctypes.c_void_p * 2)(page, None), 0)").natively_refused("EFAULT");
    with_an_array_at_the_end_of_a_page => python("
page = call(9, 0, 8192, 3, 0x22, -1, 0); call(11, page + 4096, 4096); name = ctypes.create_string_buffer(b'x')
ctypes.memmove(page + 4080, struct.pack('QQ', ctypes.addressof(name), 0), 16)
os.chdir(R); call(59, P.encode(), page + 4080, 0)");
    with_a_path_at_the_end_of_a_page => python("
page = call(9, 0, 8192, 3, 0x22, -1, 0); call(11, page + 4096, 4096)
text = P.encode() + b'\\0'; ctypes.memmove(page + 4096 - len(text), text, len(text))
os.chdir(R); call(59, page + 4096 - len(text), array(b'x'), 0)");
    with_a_path_of_path_max => python("os.chdir(R); call(59, b'/' * (4095 - len(P)) + P.encode(), array(b'x'), 0)");
    with_a_path_in_shared_memory => python("
page = call(9, 0, 4096, 3, 0x21, -1, 0); ctypes.memmove(page, P.encode() + b'\\0', len(P) + 1)
os.chdir(R); call(59, page, array(b'x'), 0)");
    after_closing_everything => python("os.chdir(R); os.closerange(0, 1000); call(59, P.encode(), array(b'x'), 0)");
    without_room_for_descriptors => python("
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)); os.chdir(R); call(59, P.encode(), array(b'x'), 0)");
    from_a_removed_directory => python("
os.mkdir('d'); os.mkdir('e'); os.chdir('d'); os.rmdir('../d'); os.chdir(R); call(59, P.encode(), array(b'x'), 0)");
    by_a_relative_name_from_a_moved_directory => python("
os.makedirs('a/b'); os.symlink(R + '/work', 'a/b/work'); os.chdir('a/b'); d = os.open('..', os.O_PATH)
os.rename('b', '../b', src_dir_fd=d, dst_dir_fd=d); call(59, b'../../hide/prog', array(b'x'), 0)");
    /// The child inherits the descriptor instead of opening it.
    from_a_child_with_the_descriptor => python("
f = os.open(P, os.O_PATH); os.set_inheritable(f, True); os.chdir(R)
if os.fork(): os.wait()
else: call(322, f, b'', array(b'x'), 0, 0x1000)");
    received_from_another_process => python("
import array as arrays, socket
a, b = socket.socketpair()
if os.fork():
    os.chdir(R); f = socket.recv_fds(a, 1, 1)[1][0]; call(322, f, b'', array(b'x'), 0, 0x1000)
else: socket.send_fds(b, [b'x'], [os.open(P, os.O_RDONLY)])");
}
