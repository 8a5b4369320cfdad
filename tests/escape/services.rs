//! By asking somebody else: servers outside of the tree act for whoever connects.

use crate::attempt::{attacks, python};
use crate::outside::server;

attacks! {
    a_socket_in_a_writable_directory => python("
import socket
socket.socket(socket.AF_UNIX).connect('server')").with(server);
}
