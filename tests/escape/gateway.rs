//! A gateway that approves whoever has its token: attacks on the token, and on the gateway's place.

use crate::attempt::{attacks, python, sh};
use crate::outside::{caller, with_a_file, with_a_token, with_a_variable};

/// The token is in a file that other rules let the tree read.
const WITH_A_FILE: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "approvals": {"gateway": {"tokenFile": "@/only/token"}},
    "permissions": {"filesystem": {"rules": {SYSTEM,
        "@": "r--", "@/work/**": "rw-", "@/only/**": "r--", "@/tools/**": "r-x", "@/hide/**": "r--"},
        "default": "---"}}}"#;

attacks! {
    by_the_configuration => python("
import json, socket
token = json.load(open(R + 'home/.openclaw/openclaw.json'))['gateway']['auth']['token']
s = socket.create_connection(('127.0.0.1', int(open('relay').read()))); s.sendall(token.encode()); s.recv(9)").with(with_a_token);
    by_what_the_configuration_was_before => python("
import json, socket
token = json.load(open(R + 'home/.openclaw/openclaw.json.bak'))['gateway']['auth']['token']
s = socket.create_connection(('127.0.0.1', int(open('relay').read()))); s.sendall(token.encode()); s.recv(9)").with(with_a_token);
    by_a_copy_of_the_token_in_a_variable => sh("env").with(with_a_token).through("export COPY=$(cat $S); exec \"$@\"");
    by_the_variable_that_the_configuration_names => python("
import socket
s = socket.create_connection(('127.0.0.1', int(open('relay').read()))); s.sendall(os.environ['MINE'].encode()); s.recv(9)")
        .with(with_a_variable)
        .through("export MINE=$(cat $S); exec \"$@\"");
    by_that_variable_of_its_ancestors => python("
p = os.getpid()
while p:
    try: tell(open('/proc/%d/environ' % p, 'rb').read())
    except OSError: pass
    p = parent(p)").with(with_a_variable).through("export MINE=$(cat $S); exec \"$@\"");
    by_the_variables_of_openclaw => sh("env").through("export OPENCLAW_GATEWAY_TOKEN=$(cat $S) MY_GATEWAY_PASSWORD=$(cat $S); exec \"$@\"");
    by_the_tokens_file => python("
import socket
token = open(R + 'only/token', 'rb').read()
s = socket.create_connection(('127.0.0.1', int(open('relay').read()))); s.sendall(token); s.recv(9)").with(with_a_file).under(WITH_A_FILE);
    by_a_link_to_the_tokens_file => sh("ln -s $R/only/token link; cat link").with(with_a_file).under(WITH_A_FILE);
    by_a_hard_link_to_the_tokens_file => sh("ln $R/only/token link; cat link").with(with_a_file).under(WITH_A_FILE);
    by_the_tokens_file_through_its_root => sh("cat /proc/self/root$R/only/token").with(with_a_file).under(WITH_A_FILE);
    by_its_place => python("
import socket
s = socket.create_server(('127.0.0.1', int(open('port').read()))); tell(s.accept()[0].recv(99))").with(caller);
    by_its_place_at_every_address => python("
import socket
s = socket.create_server(('0.0.0.0', int(open('port').read()))); tell(s.accept()[0].recv(99))").with(caller);
    by_its_place_in_the_other_family => python("
import socket
s = socket.create_server(('::', int(open('port').read())), family=socket.AF_INET6, dualstack_ipv6=True); tell(s.accept()[0].recv(99))")
        .with(caller)
        .natively_if(|| std::net::TcpListener::bind("[::1]:0").is_ok());
    by_its_place_at_a_mapped_address => python("
import socket
s = socket.create_server(('::ffff:127.0.0.1', int(open('port').read())), family=socket.AF_INET6, dualstack_ipv6=True); tell(s.accept()[0].recv(99))")
        .with(caller)
        .natively_if(|| std::net::TcpListener::bind("[::1]:0").is_ok());
    by_its_place_shared => python("
import socket
s = socket.create_server(('127.0.0.1', int(open('port').read())), reuse_port=True); tell(s.accept()[0].recv(99))").with(caller);
}
