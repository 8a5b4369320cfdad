//! Terminals of the same user that the tree did not open.

use crate::attempt::{attacks, python, sh};
use crate::outside::terminal;

attacks! {
    written_to => sh("echo x > $(cat terminal)").with(terminal);
    typed_from => sh("timeout 5 dd bs=99 count=1 < $(cat terminal)").with(terminal);
    read_what_was_typed => python("tell(os.read(os.open(open('terminal').read(), os.O_RDWR | os.O_NOCTTY), 99))").with(terminal);
    read_without_waiting => python("tell(os.read(os.open(open('terminal').read(), os.O_RDONLY | os.O_NONBLOCK), 99))").with(terminal);
    by_its_own_session => python("
if os.fork(): os.wait(); os._exit(0)
os.setsid()
f = os.open(open('terminal').read(), os.O_RDWR)
call(16, f, 0x540e, 0)
tell(os.read(os.open('/dev/tty', os.O_RDWR), 99))").with(terminal);
    by_a_link => sh("ln -s $(cat terminal) link; echo x > link").with(terminal);
    by_the_directory => python("
d = os.open('/dev/pts', os.O_PATH)
os.write(os.open(open('terminal').read().rsplit('/', 1)[1], os.O_WRONLY, dir_fd=d), b'x')").with(terminal);
    of_another_size => python("
import fcntl, termios
f = os.open(open('terminal').read(), os.O_RDONLY | os.O_NONBLOCK)
fcntl.ioctl(f, termios.TIOCSWINSZ, struct.pack('HHHH', 9, 9, 9, 9))").with(terminal);
    by_a_path_to_name_only => python("
f = os.open(open('terminal').read(), os.O_PATH)
os.write(os.open('/proc/self/fd/%d' % f, os.O_WRONLY), b'x')").with(terminal);
    by_script => sh("timeout 5 script -qc 'cat terminal' $(cat terminal) >/dev/null </dev/null").with(terminal);
    while_a_link_to_its_own_changes => python("
import time
name = open('terminal').read()
master, slave = os.openpty(); own = os.ttyname(slave)
swapper = os.fork()
while swapper == 0:
    for to in own, name: os.symlink(to, 'spare'); os.rename('spare', 'link')
while not os.path.lexists('link'): pass
until, hits = time.time() + 4, 0
while time.time() < until and hits < 20:
    try: f = os.open('link', os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK); os.write(f, b'x'); hits += os.ttyname(f) == name; os.close(f)
    except OSError: pass
os.kill(swapper, 9)").with(terminal);
}
