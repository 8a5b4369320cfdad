//! Datagrams, each of which may name its receiver.

use crate::attempt::{attacks, c, python, sh};
use crate::machine::has_i386;
use crate::outside::datagrams;

attacks! {
    a_datagram => python("
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 'datagrams')").with(datagrams);
    a_datagram_to_an_abstract_name => python("
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '\\0' + R.rstrip('/'))").with(datagrams);
    by_connecting_first => python("
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect('datagrams'); s.send(b'x')").with(datagrams);
    by_a_raw_socket => python("
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_RAW).sendto(b'x', 'datagrams')").with(datagrams);
    with_flags_in_the_kind => python("
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC).sendto(b'x', 'datagrams')").with(datagrams);
    with_higher_bits => python("
s = call(41, 1 | 1 << 32, 2 | 1 << 32, 0)
call(44, s, b'x', 1, 0, b'\\1\\0datagrams\\0', 12)").with(datagrams);
    by_one_of_a_pair => python("
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.sendto(b'x', 'datagrams')").with(datagrams);
    by_one_of_a_pair_that_is_parted => python("
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
call(42, a.fileno(), b'\\0\\0', 2)
a.sendto(b'x', 'datagrams')").with(datagrams);
    by_sendmsg => python("
import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendmsg([b'x'], [], 0, 'datagrams')").with(datagrams);
    by_sendmmsg => python("
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = ctypes.create_string_buffer(b'\\1\\0datagrams\\0'); text = ctypes.create_string_buffer(b'x')
part = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(text), 1))
one = struct.pack('QQQQQQQQ', ctypes.addressof(name), 12, ctypes.addressof(part), 1, 0, 0, 0, 0)
call(307, s.fileno(), one, 1, 0)").with(datagrams);
    by_the_call_of_i386 => c("services", "i386-sendto").with(datagrams).natively_if(has_i386);
    by_perl => sh("perl -MSocket -e 'socket my $s, AF_UNIX, SOCK_DGRAM, 0; send $s, \"x\", 0, sockaddr_un(\"datagrams\")'").with(datagrams);
    by_a_connected_stream => python("
import socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
a.sendto(b'x', 'datagrams')").with(datagrams).natively_refused("a connection has one receiver");
}
