//! Connections to the gateway's port and the page's port on this host, by every name of the host and every
//! call that connects.

use crate::attempt::{attacks, python, sh};
use crate::outside::{late_page, page_to_come};

macro_rules! ways_to {
    ($outside:path) => {
        use super::*;
        attacks! {
    by_its_address => python("
import socket
socket.create_connection(('127.0.0.1', int(open('port').read())))").with($outside);
    by_another_address_of_the_loop => python("
import socket
socket.create_connection(('127.2.3.4', int(open('port').read())))").with($outside);
    by_no_address => python("
import socket
socket.create_connection(('0.0.0.0', int(open('port').read())))").with($outside);
    by_a_short_address => python("
import socket
socket.create_connection(('127.1', int(open('port').read())))").with($outside);
    by_its_name => python("
import socket
socket.create_connection(('localhost', int(open('port').read())))").with($outside);
    by_ipv6 => python("
import socket
socket.create_connection(('::1', int(open('port').read())))").with($outside).natively_if(|| std::net::TcpListener::bind("[::1]:0").is_ok());
    by_no_address_of_ipv6 => python("
import socket
socket.create_connection(('::', int(open('port').read())))").with($outside).natively_if(|| std::net::TcpListener::bind("[::1]:0").is_ok());
    by_a_mapped_address => python("
import socket
s = socket.socket(socket.AF_INET6); s.connect(('::ffff:127.0.0.1', int(open('port').read())))").with($outside).natively_if(|| std::net::TcpListener::bind("[::1]:0").is_ok());
    by_this_hosts_own_address => python("
import fcntl, socket
s = socket.socket(socket.AF_INET)
for _, name in socket.if_nameindex():
    try: address = socket.inet_ntoa(fcntl.ioctl(s, 0x8915, struct.pack('256s', name.encode()))[20:24])
    except OSError: continue
    try: socket.create_connection((address, int(open('port').read())), 2)
    except OSError: pass").with($outside);
    by_a_message_that_connects => python("
import socket
s = socket.socket(socket.AF_INET)
s.sendto(b'x', 0x20000000, ('127.0.0.1', int(open('port').read())))").with($outside);
    by_a_sendmsg_that_connects => python("
import socket
s = socket.socket(socket.AF_INET)
s.sendmsg([b'x'], [], 0x20000000, ('127.0.0.1', int(open('port').read())))").with($outside);
    by_a_sendmmsg_that_connects => python("
import socket
s = socket.socket(socket.AF_INET)
name = ctypes.create_string_buffer(struct.pack('=H', 2) + struct.pack('!H', int(open('port').read())) + bytes([127, 0, 0, 1]) + b'\\0' * 8, 16)
text = ctypes.create_string_buffer(b'x'); part = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(text), 1))
one = struct.pack('QQQQQQQQ', ctypes.addressof(name), 16, ctypes.addressof(part), 1, 0, 0, 0, 0)
call(307, s.fileno(), one, 1, 0x20000000)").with($outside);
    by_an_option_that_connects_later => python("
import socket
s = socket.socket(socket.AF_INET); s.setsockopt(socket.IPPROTO_TCP, 30, 1)
s.connect(('127.0.0.1', int(open('port').read()))); s.send(b'x')").with($outside);
    by_several_paths => python("
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.connect(('127.0.0.1', int(open('port').read())))").with($outside).natively_if(|| {
        std::fs::read_to_string("/proc/sys/net/mptcp/enabled").is_ok_and(|enabled| enabled.trim() == "1")
    });
    without_waiting => python("
import select, socket
s = socket.socket(socket.AF_INET); s.setblocking(False)
s.connect_ex(('127.0.0.1', int(open('port').read()))); select.select([], [s], [], 1)").with($outside);
    while_the_address_changes => python("
import socket, threading
port = int(open('port').read()); stop = []
address = ctypes.create_string_buffer(struct.pack('=H', 2) + struct.pack('!H', 1) + bytes([127, 0, 0, 1]) + b'\\0' * 8, 16)
def flip():
    while not stop: address[2:4] = struct.pack('!H', port); address[2:4] = struct.pack('!H', 1)
t = threading.Thread(target=flip); t.start()
for _ in range(2000):
    s = socket.socket(socket.AF_INET)
    try: call(42, s.fileno(), ctypes.addressof(address), 16)
    except OSError: pass
    s.close()
stop.append(1); t.join()").with($outside);
    by_the_shells_own_way => sh("exec 3<>/dev/tcp/127.0.0.1/$(cat port)").with($outside);
    by_the_shells_own_way_and_a_name => sh("echo x > /dev/tcp/localhost/$(cat port)").with($outside);
    by_perl => sh("perl -MSocket -e 'socket my $s, PF_INET, SOCK_STREAM, 0; connect $s, sockaddr_in($ARGV[0], INADDR_LOOPBACK) or die $!' $(cat port)").with($outside);
    by_curl => sh("curl -s -m 5 http://127.0.0.1:$(cat port)/").with($outside).needs(&["curl"]);
    by_curl_and_a_number => sh("curl -s -m 5 http://2130706433:$(cat port)/ http://0x7f000001:$(cat port)/ http://017700000001:$(cat port)/").with($outside).needs(&["curl"]);
    by_a_proxy_inside => python("
import socket, threading
proxy = socket.create_server(('127.0.0.1', 0))
def serve():
    peer, _ = proxy.accept(); port = int(peer.recv(9)); socket.create_connection(('127.0.0.1', port))
t = threading.Thread(target=serve); t.start()
socket.create_connection(proxy.getsockname()).sendall(open('port', 'rb').read()); t.join()").with($outside);
    by_a_socket_of_a_child => python("
import array, socket
a, b = socket.socketpair()
if os.fork() == 0:
    s = socket.socket(socket.AF_INET)
    try: s.connect(('127.0.0.1', int(open('port').read())))
    finally: os._exit(0)
os.wait()").with($outside);
        }
    };
}

mod gateway {
    ways_to!(crate::outside::gateway);
}
mod page {
    ways_to!(crate::outside::page);
}

attacks! {
    page_that_comes_later => python("
import socket, time
open('waits', 'w').close()
while not os.path.exists('port') or not os.path.getsize('port'): time.sleep(0.01)
socket.create_connection(('127.0.0.1', int(open('port').read())))").with(late_page);
    /// Connects with TCP_FASTOPEN_CONNECT while nothing listens, and sends the first message once the page
    /// listens.
    connection_that_waits_for_the_page => python("
import socket, time
s = socket.socket(socket.AF_INET); s.setsockopt(socket.IPPROTO_TCP, 30, 1); s.setsockopt(socket.IPPROTO_TCP, 34, 1)
s.connect(('127.0.0.1', int(open('port-to-come').read())))
open('waits', 'w').close()
while not os.path.exists('port'): time.sleep(0.01)
s.send(b'x')").with(page_to_come);
    /// The page starts between the guard's check and the connection.
    page_that_comes_meanwhile => python("
import socket, time
port = int(open('port-to-come').read())
open('waits', 'w').close()
end = time.monotonic() + 3
while time.monotonic() < end:
    s = socket.socket(socket.AF_INET)
    try: s.connect(('127.0.0.1', port)); s.send(b'x'); break
    except ConnectionRefusedError: pass
    finally: s.close()").with(page_to_come);
}
