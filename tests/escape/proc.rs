//! What /proc shows as files: the caller itself, its children, the guard, the machine.

use guard_tests::is_root;

use crate::attempt::{attacks, python, sh};

attacks! {
    through_proc_root => sh("cat /proc/self/root$S");
    through_proc_cwd => sh("cd ..; cat /proc/self/cwd/shut/file");
    through_the_closed_directory => sh("cd $R/shut; cat /proc/self/cwd/file");
    through_a_thread => sh("cd ..; cat /proc/thread-self/cwd/shut/file");
    through_a_thread_by_number => python("
import threading
os.chdir(R + '/shut')
t = threading.Thread(target=lambda: tell(open('/proc/%d/cwd/file' % threading.get_native_id(), 'rb').read())); t.start(); t.join()");
    through_a_task => sh("cd ..; cat /proc/$$/task/$$/cwd/shut/file");
    through_a_parents_root => sh("cat /proc/$PPID/root$S").natively_if(|| !is_root());
    through_its_own_number => sh("cat /proc/$$/root$S");
    through_its_own_task => sh("cat /proc/$$/task/$$/root$S");
    through_the_first_process => sh("cat /proc/1/root$S /proc/1/cwd$S").natively_refused("it has more privileges");
    through_a_childs_root => sh("sleep 60 & cat /proc/$!/root$S; kill $!");
    through_a_childs_directory => sh("(cd $R/shut; exec sleep 60) & sleeps $!; cat /proc/$!/cwd/file; kill $!");
    through_a_childs_directory_and_dots => sh("(cd $R/only; exec sleep 60) & sleeps $!; cat /proc/$!/cwd/../shut/file; kill $!");
    through_a_childs_file => sh("sleep 60 < $O & sleeps $!; echo x > /proc/$!/fd/0; kill $!");
    through_a_childs_descriptor => python("
f = os.open(S, os.O_PATH)
if p := os.fork(): tell(open('/proc/%d/fd/%d' % (p, f), 'rb').read()); os.kill(p, 9)
else: linger()");
    through_a_parents_descriptor => python("
f = os.open(S, os.O_PATH)
if os.fork(): os.wait()
else: os.close(f); tell(open('/proc/%d/fd/%d' % (os.getppid(), f), 'rb').read())");
    through_a_directory_of_proc => python("
d = os.open('/proc/self', os.O_PATH); tell(os.read(os.open('root' + S, os.O_RDONLY, dir_fd=d), 99))");
    through_a_directory_of_descriptors => python("
d = os.open('/proc/self/fd', os.O_RDONLY); f = os.open(S, os.O_PATH); tell(os.read(os.open(str(f), os.O_RDONLY, dir_fd=d), 99))");
    through_a_directory_of_descriptors_entered => python("
f = os.open(S, os.O_PATH); os.chdir('/proc/self/fd'); tell(open(str(f), 'rb').read())");
    through_a_directory_of_another_thread => python("
import threading
f = os.open(S, os.O_PATH); os.chdir('/proc/self/task')
t = threading.Thread(target=lambda: tell(open('%d/fd/%d' % (threading.get_native_id(), f), 'rb').read())); t.start(); t.join()");
    through_dots_in_proc => sh("cat /proc/self/../self/./root$S /proc/sys/../thread-self/root$S");
    through_a_link_to_oneself => sh("ln -s /proc/self me; cat me/root$S");
    through_proc_entered => sh("cd /proc; cat self/root$S");
    through_dev_fd => python("f = os.open(S, os.O_PATH); tell(open('/dev/fd/%d' % f, 'rb').read())");
    through_standard_input => python("os.dup2(os.open(S, os.O_PATH), 0); tell(open('/dev/stdin', 'rb').read())");
    through_a_directory_and_dots_in_dev_fd => python("d = os.open(R + '/only', os.O_PATH); tell(open('/dev/fd/%d/../shut/file' % d, 'rb').read())");
    through_a_descriptor_that_changes => python("
os.dup2(os.open('file', os.O_PATH), 50); open('/proc/self/fd/50').read()
os.dup2(os.open(S, os.O_PATH), 50); tell(open('/proc/self/fd/50', 'rb').read())");
    written_through_a_descriptor_that_changes => python("
os.dup2(os.open('file', os.O_RDONLY), 50); open('/proc/self/fd/50', 'w').write('x')
os.dup2(os.open(O, os.O_RDONLY), 50); open('/proc/self/fd/50', 'w').write('x')");
    opened_as_a_path_and_again => python("
f = os.open('/proc/self/root', os.O_PATH); tell(os.read(os.open(S[1:], os.O_RDONLY, dir_fd=f), 99))");
    opened_as_a_path_without_following => python("
f = os.open('/proc/self/cwd', os.O_PATH | os.O_NOFOLLOW); tell(os.read(os.open('../shut/file', os.O_RDONLY, dir_fd=f), 99))").natively_refused("a link is no directory");
    a_descriptor_received => python("
import socket
a, b = socket.socketpair()
if os.fork(): f = socket.recv_fds(a, 1, 1)[1][0]; tell(open('/proc/self/fd/%d' % f, 'rb').read())
else: socket.send_fds(b, [b'x'], [os.open(S, os.O_PATH)])");
    a_directory_received => python("
import socket
a, b = socket.socketpair()
if os.fork(): f = socket.recv_fds(a, 1, 1)[1][0]; tell(os.read(os.open('file', os.O_RDONLY, dir_fd=f), 99))
else: socket.send_fds(b, [b'x'], [os.open(R + '/shut', os.O_PATH)])");
    a_descriptor_received_and_reopened => python("
import socket
a, b = socket.socketpair()
if os.fork(): f = socket.recv_fds(a, 1, 1)[1][0]; open('/proc/self/fd/%d' % f, 'w').write('x')
else: socket.send_fds(b, [b'x'], [os.open(O, os.O_RDONLY)])");
    a_descriptor_taken_from_a_child => python("
f = os.open(O, os.O_RDONLY)
if p := os.fork(): g = call(438, call(434, p, 0), f, 0); open('/proc/self/fd/%d' % g, 'w').write('x'); os.kill(p, 9)
else: linger()");
    /// /proc/self/mem must not write to a file mapped for reading.
    written_through_its_own_memory => python("
f = os.open(O, os.O_RDONLY); a = call(9, 0, 4096, 1, 1, f, 0)
m = os.open('/proc/self/mem', os.O_RDWR); os.pwrite(m, b'X', a)").natively_refused("a shared mapping that may not be written");
    written_through_a_mappings_link => python("
f = os.open(O, os.O_RDONLY); a = call(9, 0, 4096, 1, 1, f, 0)
open('/proc/self/map_files/%x-%x' % (a, a + 4096), 'r+').write('x')").natively_refused("it needs CAP_CHECKPOINT_RESTORE");
    the_guards_files => python("
import glob
for p in glob.glob('/proc/[0-9]*'):
    for name in 'root' + S, 'cwd/../shut/file', 'cwd/shut/file':
        try: tell(open(p + '/' + name, 'rb').read())
        except OSError: pass");
    the_guards_descriptors => python("
import glob
for f in glob.glob('/proc/[0-9]*/fd/*'):
    if int(f.split('/')[2]) == os.getpid(): continue
    try: tell(os.read(os.open('shut/file', os.O_RDONLY, dir_fd=os.open(f, os.O_PATH)), 99))
    except OSError: pass
    try: tell(os.read(os.open(S[1:], os.O_RDONLY, dir_fd=os.open(f, os.O_PATH)), 99))
    except OSError: pass").natively_refused("nobody else has such a directory open, or it may not be asked");
    the_guards_descriptors_taken => python("
for p in guards():
    for n in range(64):
        try: tell(os.read(os.open(S[1:], os.O_RDONLY, dir_fd=call(438, call(434, p, 0), n, 0)), 99))
        except OSError: pass").natively_refused("there is no guard");
    a_number_that_is_no_process => sh("cat /proc/self/task/999999999/root$S /proc/00001/root$S /proc/+1/root$S").natively_refused("there is none");
    kept_over_an_exec => python("
f = os.open('/proc/self/fd', os.O_RDONLY); g = os.open(S, os.O_PATH)
for x in f, g: os.set_inheritable(x, True)
os.execv('/bin/sh', ['sh', '-c', 'cat /proc/self/fd/%d/%d /proc/self/fd/%d' % (f, g, g)])");
    kept_from_a_process_that_is_gone => python("
if p := os.fork():
    d = os.open('/proc/%d' % p, os.O_PATH); os.kill(p, 9); os.wait()
    tell(os.read(os.open('root' + S, os.O_RDONLY, dir_fd=d), 99))
else: linger()").natively_refused("it is gone");
}
