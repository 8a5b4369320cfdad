//! Sockets that the tree did not make, by every way to name them. No rule names them.

use crate::attempt::{attacks, attempt, c, python, sh};
use crate::machine::has_i386;
use crate::outside::{
    abstract_server, autobound, late_server, messages, restarting_server, server, server_at,
};

attacks! {
    in_a_writable_directory => python("
import socket
socket.socket(socket.AF_UNIX).connect('server')").with(server);
    by_a_full_path => python("
import socket
socket.socket(socket.AF_UNIX).connect(R + 'work/server')").with(server);
    by_dots => python("
import socket
socket.socket(socket.AF_UNIX).connect('../only/../work/./server')").with(server);
    by_a_link => python("
import socket
os.symlink('server', 'link'); os.symlink('link', 'chain')
socket.socket(socket.AF_UNIX).connect('chain')").with(server);
    by_a_linked_directory => python("
import socket
os.symlink(R + 'work', 'link')
socket.socket(socket.AF_UNIX).connect('link/server')").with(server);
    by_a_hard_link => python("
import socket
os.link('server', 'other')
socket.socket(socket.AF_UNIX).connect('other')").with(server);
    by_another_name => python("
import socket
os.rename('server', 'other')
socket.socket(socket.AF_UNIX).connect('other')").with(server);
    in_the_place_of_ones_own => python("
import socket
own = socket.socket(socket.AF_UNIX); own.bind('own'); own.listen()
os.rename('server', 'own')
socket.socket(socket.AF_UNIX).connect('own')").with(server);
    made_again_by_its_old_number => python("
import socket
for i in range(50):
    own = socket.socket(socket.AF_UNIX); own.bind('own%d' % i); os.unlink('own%d' % i)
socket.socket(socket.AF_UNIX).connect('server')").with(server);
    in_a_moved_directory => python("
import socket
os.mkdir('d'); os.rename('server', 'd/server'); os.rename('d', 'e')
socket.socket(socket.AF_UNIX).connect('e/server')").with(server);
    by_proc_cwd => python("
import socket
socket.socket(socket.AF_UNIX).connect('/proc/self/cwd/server')").with(server);
    by_proc_root => python("
import socket
socket.socket(socket.AF_UNIX).connect('/proc/thread-self/root' + R + 'work/server')").with(server);
    by_a_descriptor_of_the_directory => python("
import socket
d = os.open('.', os.O_PATH)
os.chdir('/')
socket.socket(socket.AF_UNIX).connect('/proc/self/fd/%d/server' % d)").with(server);
    by_a_descriptor_of_the_socket => python("
import socket
f = os.open('server', os.O_PATH)
socket.socket(socket.AF_UNIX).connect('/proc/self/fd/%d' % f)").with(server);
    by_dev_fd => python("
import socket
f = os.open('server', os.O_PATH)
socket.socket(socket.AF_UNIX).connect('/dev/fd/%d' % f)").with(server);
    too_deep_for_an_address => python("
import socket
d = os.open('x' * 100 + '/' + 'y' * 100, os.O_PATH)
socket.socket(socket.AF_UNIX).connect('/proc/self/fd/%d/server' % d)")
        .with(|arena| server_at(arena, &format!("work/{}/{}/server", "x".repeat(100), "y".repeat(100))));
    too_deep_for_an_address_by_the_current_directory => sh("cd xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx/yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"server\")'")
        .with(|arena| server_at(arena, &format!("work/{}/{}/server", "x".repeat(50), "y".repeat(50))));
    without_an_end_of_the_name => python("
s = call(41, 1, 1, 0)
os.chdir('/'); name = b'server'
os.chdir(R + 'work')
call(42, s, b'\\1\\0' + name, 2 + len(name))").with(server);
    with_more_behind_the_name => python("
s = call(41, 1, 1, 0)
call(42, s, b'\\1\\0server\\0mine' + b'x' * 97, 110)").with(server);
    by_the_longest_name => python("
import socket
socket.socket(socket.AF_UNIX).connect('./' * 50 + 'server')").with(server);
    without_waiting => python("
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
s.connect_ex('server')").with(server);
    by_a_thread => python("
import socket, threading
t = threading.Thread(target=lambda: socket.socket(socket.AF_UNIX).connect('server')); t.start(); t.join()").with(server);
    by_a_child_of_its_own_session => python("
import socket
if os.fork(): os.wait()
else:
    os.setsid()
    if os.fork(): os.wait(); os._exit(0)
    socket.socket(socket.AF_UNIX).connect('server'); os._exit(0)").with(server);
    by_a_socket_sent_to_a_child => python("
import array, socket
a, b = socket.socketpair()
if os.fork():
    s = socket.socket(socket.AF_UNIX)
    a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [s.fileno()]))]); os.wait()
else:
    data, control, *_ = b.recvmsg(1, 99)
    socket.socket(fileno=array.array('i', control[0][2])[0]).connect('server'); os._exit(0)").with(server);
    by_a_bound_socket => python("
import socket
s = socket.socket(socket.AF_UNIX); s.bind('mine'); s.connect('server')").with(server);
    /// The pauses let the other process change the link, however few processors are free.
    while_links_change => python("
import socket, time
own = socket.socket(socket.AF_UNIX); own.bind('own'); own.listen(4000)
swapper = os.fork()
while swapper == 0:
    for name in 'own', 'server':
        os.symlink(name, 'spare'); os.rename('spare', 'link')
while not os.path.lexists('link'): pass
for number in range(2000):
    if number % 40 == 0: time.sleep(0.001)
    try: socket.socket(socket.AF_UNIX).connect('link')
    except OSError: pass
os.kill(swapper, 9)").with(server);
    while_names_are_exchanged => python("
import socket, time
own = socket.socket(socket.AF_UNIX); own.bind('own'); own.listen(4000)
swapper = os.fork()
while swapper == 0: call(316, -100, b'own', -100, b'server', 2)
for number in range(500):
    if number % 10 == 0: time.sleep(0.001)
    for name in 'own', 'server':
        try: socket.socket(socket.AF_UNIX).connect(name)
        except OSError: pass
os.kill(swapper, 9)").with(server);
    messages_of_a_connection => python("
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect('messages')").with(messages);
    by_the_call_of_i386 => c("services", "i386-connect").with(server).natively_if(has_i386);
    by_an_abstract_name => python("
import socket
socket.socket(socket.AF_UNIX).connect('\\0' + R.rstrip('/'))").with(abstract_server);
    by_an_abstract_name_with_a_nul => python("
import socket
own = socket.socket(socket.AF_UNIX); own.bind('\\0' + R)
socket.socket(socket.AF_UNIX).connect('\\0' + R.rstrip('/') + '\\0more')").with(abstract_server);
    by_a_name_that_the_kernel_chose => python("
import socket
socket.socket(socket.AF_UNIX).connect(b'\\0' + open('name', 'rb').read())").with(autobound);
    /// The tree had the name earlier.
    by_a_name_that_was_the_trees => python("
import socket, time
name = '\\0' + R.rstrip('/')
own = socket.socket(socket.AF_UNIX); own.bind(name); own.close()
open('taken', 'w').close()
while not os.path.exists('late'): time.sleep(.002)
socket.socket(socket.AF_UNIX).connect(name)").with(late_server);
    /// The tree still has a socket of that name, of another type.
    by_a_name_of_two_kinds => python("
import socket, time
name = '\\0' + R.rstrip('/')
own = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); own.bind(name)
open('taken', 'w').close()
until = time.time() + 60
while not os.path.exists('late') and time.time() < until: time.sleep(.002)
socket.socket(socket.AF_UNIX).connect(name)").with(late_server);
    while_names_before_it_are_closed => c("services", "closed-names").with(abstract_server);
}

/// Threads wait for a socket of the tree's while it is closed, and a server outside gets its name.
const WAITING: &str = "
import socket, threading, time
name = '\\0' + R.rstrip('/')
until = time.time() + 60
for round in range(40):
    own = socket.socket(socket.AF_UNIX, KIND)
    while time.time() < until:
        try: own.bind(name); break
        except OSError: time.sleep(.001)
    if KIND == socket.SOCK_STREAM: own.listen(0)
    def send():
        s = socket.socket(socket.AF_UNIX, KIND)
        try:
            if KIND == socket.SOCK_STREAM: s.connect(name)
            else: [s.sendto(b'do it', name) for _ in range(12)]
        except OSError: pass
    threads = [threading.Thread(target=send) for _ in range(40)]
    for thread in threads: thread.start()
    time.sleep(.02); own.close()
    for thread in threads: thread.join()";

/// Attacks by what waits for a name, if this kernel can hold that.
fn waiting(kind: &'static str) {
    if !guard_tests::has_socket_scope() {
        guard_tests::skip("before Landlock's ABI 6 the kernel does not know whose an abstract socket is");
        return;
    }
    let text = format!("import socket\nKIND = socket.{kind}\n{WAITING}");
    let _ = attempt(&python(text.leak()).with(restarting_server));
}

#[test]
fn messages_that_wait_while_a_name_changes_hands() {
    waiting("SOCK_DGRAM");
}

#[test]
fn connections_that_wait_while_a_name_changes_hands() {
    waiting("SOCK_STREAM");
}
