//! Services of the user on an ordinary machine, where its programs look for them. The directories may be
//! written, as a runtime directory or /tmp may be under many policies; no rule names the sockets.

use crate::attempt::{attacks, python, sh};
use crate::outside::{abstract_server, agent, bus, server_at, terminal, tmux};

attacks! {
    a_bus_that_starts_services => sh("dbus-send --bus=unix:path=$R/work/bus --print-reply --dest=org.freedesktop.DBus / \
        org.freedesktop.DBus.StartServiceByName string:org.guard.Test uint32:0").with(bus).needs(&["dbus-daemon", "dbus-send"]);
    a_service_that_a_call_starts => sh("dbus-send --bus=unix:path=$R/work/bus --print-reply --dest=org.guard.Test / org.guard.Test.Go").with(bus).needs(&["dbus-daemon", "dbus-send"]);
    a_bus_by_the_variable_of_the_session => sh("export DBUS_SESSION_BUS_ADDRESS=unix:path=$R/work/bus
        dbus-send --session --print-reply --dest=org.guard.Test / org.guard.Test.Go").with(bus).needs(&["dbus-daemon", "dbus-send"]);
    a_bus_by_the_variable_of_the_system => sh("export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$R/work/bus
        dbus-send --system --print-reply --dest=org.guard.Test / org.guard.Test.Go").with(bus).needs(&["dbus-daemon", "dbus-send"]);
    a_bus_by_the_runtime_directory => sh("export XDG_RUNTIME_DIR=$R/work; unset DBUS_SESSION_BUS_ADDRESS
        dbus-send --session --print-reply --dest=org.guard.Test / org.guard.Test.Go").with(bus).needs(&["dbus-daemon", "dbus-send"]);
    a_bus_by_an_abstract_name => sh("dbus-send --bus=unix:abstract=${R%/} --print-reply --dest=org.guard.Test / org.guard.Test.Go").with(bus).needs(&["dbus-daemon", "dbus-send"]);
    a_bus_by_its_protocol => python("
import socket
s = socket.socket(socket.AF_UNIX); s.connect('bus')
s.sendall(b'\\0AUTH EXTERNAL ' + str(os.getuid()).encode().hex().encode() + b'\\r\\n'); s.recv(99)
s.sendall(b'BEGIN\\r\\n')
def string(text): return struct.pack('<I', len(text)) + text + b'\\0'
def pad(data, to): return data + b'\\0' * (-len(data) % to)
def message(serial, member, body=b'', signature=b''):
    fields = b''
    for code, kind, value in ((1, b'o', b'/'), (2, b's', b'org.freedesktop.DBus'), (3, b's', member), (6, b's', b'org.freedesktop.DBus')):
        fields = pad(fields, 8) + bytes([code, 1]) + kind + b'\\0' + string(value)
    if signature: fields = pad(fields, 8) + bytes([8, 1]) + b'g\\0' + bytes([len(signature)]) + signature + b'\\0'
    return pad(b'l\\1\\0\\1' + struct.pack('<III', len(body), serial, len(fields)) + fields, 8) + body
s.sendall(message(1, b'Hello')); s.recv(999)
s.sendall(message(2, b'StartServiceByName', pad(string(b'org.guard.Test'), 4) + struct.pack('<I', 0), b'su'))
# Until the reply to the second message: its header has that number.
s.settimeout(60); replies = b''
while b'\\5\\1u\\0' + struct.pack('<I', 2) not in replies:
    part = s.recv(999); replies += part
    if not part: break").with(bus).needs(&["dbus-daemon"]);
    the_service_managers_own_socket => python("
import socket
s = socket.socket(socket.AF_UNIX); s.connect(R + '/work/run/systemd/private')
s.sendall(b'\\0AUTH EXTERNAL 30\\r\\n')").with(|arena| server_at(arena, "work/run/systemd/private"));
    the_bus_of_portals => python("
import socket
socket.socket(socket.AF_UNIX).connect('run/bus')").with(|arena| server_at(arena, "work/run/bus"));
    the_bus_of_assistive_tools => python("
import socket
socket.socket(socket.AF_UNIX).connect('run/at-spi/bus_0')").with(|arena| server_at(arena, "work/run/at-spi/bus_0"));
    the_log_of_the_machine => python("
import socket
socket.socket(socket.AF_UNIX).connect('run/systemd/journal/stdout')").with(|arena| server_at(arena, "work/run/systemd/journal/stdout"));
    the_users_database => python("
import socket
socket.socket(socket.AF_UNIX).connect('run/systemd/userdb/io.systemd.Multiplexer')")
        .with(|arena| server_at(arena, "work/run/systemd/userdb/io.systemd.Multiplexer"));
    keys_of_an_agent_listed => sh("SSH_AUTH_SOCK=$R/work/agent ssh-add -L").with(agent).needs(&["ssh-agent"]);
    a_signature_by_an_agent => python("
import base64, socket
s = socket.socket(socket.AF_UNIX); s.connect('agent')
s.sendall(struct.pack('>IB', 1, 11)); tell(s.recv(9999))").with(agent).needs(&["ssh-agent"]);
    a_key_given_to_an_agent => sh("ssh-keygen -q -t ed25519 -N '' -f key </dev/null; SSH_AUTH_SOCK=$R/work/agent ssh-add -q key").with(agent).needs(&["ssh-agent"]);
    keys_of_an_agent_removed => sh("SSH_AUTH_SOCK=$R/work/agent ssh-add -D").with(agent).needs(&["ssh-agent"]);
    an_agent_by_a_link => sh("ln -s agent link; SSH_AUTH_SOCK=$R/work/link ssh-add -L").with(agent).needs(&["ssh-agent"]);
    a_connection_that_is_shared => sh("ssh -S $R/work/control -O forward -L 1:localhost:1 host").with(|arena| server_at(arena, "work/control")).needs(&["ssh"]);
    the_agent_of_gnupg => sh("gpg-connect-agent -S $R/work/S.gpg-agent --no-autostart /bye").with(|arena| server_at(arena, "work/S.gpg-agent")).needs(&["gpg-connect-agent"]);
    commands_of_tmux => sh("tmux -S tmux run-shell \"cp $R/guard.json $R/shut/new\"").with(tmux);
    a_window_of_tmux => sh("tmux -S tmux new-window \"cp $R/guard.json $R/shut/new\"; tmux -S tmux wait-for -S x; sleep .2").with(tmux);
    keys_for_tmux => sh("tmux -S tmux respawn-pane -k \"cp $R/guard.json $R/shut/new\"; sleep .2").with(tmux);
    tmux_by_a_variable => sh("TMUX=$R/work/tmux,1,0 tmux run-shell \"cp $R/guard.json $R/shut/new\"").with(tmux);
    tmux_by_its_directory => sh("mkdir -m 700 -p tmux-$(id -u); ln tmux tmux-$(id -u)/default; TMUX_TMPDIR=$PWD tmux run-shell \"cp $R/guard.json $R/shut/new\"").with(tmux);
    a_multiplexer_of_screen => python("
import socket
socket.socket(socket.AF_UNIX).connect('S-user/1.pts')").with(|arena| server_at(arena, "work/S-user/1.pts"));
    containers_of_docker => sh("curl -s -m 5 --unix-socket docker.sock http://d/containers/json").with(|arena| server_at(arena, "work/docker.sock")).needs(&["curl"]);
    containers_of_podman => sh("export XDG_RUNTIME_DIR=$R/work; curl -s -m 5 --unix-socket $XDG_RUNTIME_DIR/podman/podman.sock http://d/v1/info")
        .with(|arena| server_at(arena, "work/podman/podman.sock")).needs(&["curl"]);
    containers_of_containerd => python("
import socket
socket.socket(socket.AF_UNIX).connect('containerd/containerd.sock')").with(|arena| server_at(arena, "work/containerd/containerd.sock"));
    machines_of_libvirt => python("
import socket
socket.socket(socket.AF_UNIX).connect('libvirt/libvirt-sock')").with(|arena| server_at(arena, "work/libvirt/libvirt-sock"));
    packages_of_snapd => sh("curl -s -m 5 --unix-socket snapd.socket http://d/v2/snaps").with(|arena| server_at(arena, "work/snapd.socket")).needs(&["curl"]);
    an_editor_that_serves => python("
import socket
s = socket.socket(socket.AF_UNIX); s.connect('emacs/server')
s.sendall(b'-eval (write-region&_\"\"&_nil&_\"x\")\\n')").with(|arena| server_at(arena, "work/emacs/server"));
    an_editor_with_windows => python("
import socket
s = socket.socket(socket.AF_UNIX); s.connect('vscode-ipc-0123.sock')
s.sendall(b'POST / HTTP/1.1\\r\\ncontent-length: 0\\r\\n\\r\\n')").with(|arena| server_at(arena, "work/vscode-ipc-0123.sock"));
    sound => python("
import socket
socket.socket(socket.AF_UNIX).connect('pulse/native')").with(|arena| server_at(arena, "work/pulse/native"));
    sound_and_screens => python("
import socket
socket.socket(socket.AF_UNIX).connect('pipewire-0')").with(|arena| server_at(arena, "work/pipewire-0"));
    the_ring_of_passwords => python("
import socket
s = socket.socket(socket.AF_UNIX); s.connect('keyring/control'); s.sendall(b'\\0')").with(|arena| server_at(arena, "work/keyring/control"));
    a_wallet => python("
import socket
socket.socket(socket.AF_UNIX).connect('kwallet5.socket')").with(|arena| server_at(arena, "work/kwallet5.socket"));
    windows_of_wayland => python("
import socket
socket.socket(socket.AF_UNIX).connect('wayland-0')").with(|arena| server_at(arena, "work/wayland-0"));
    windows_of_x => python("
import socket
s = socket.socket(socket.AF_UNIX); s.connect('.X11-unix/X0')
s.sendall(b'l\\0\\x0b\\0\\0\\0\\0\\0\\0\\0\\0\\0')").with(|arena| server_at(arena, "work/.X11-unix/X0"));
    windows_of_x_by_the_abstract_name => python("
import socket
s = socket.socket(socket.AF_UNIX); s.connect('\\0' + R.rstrip('/'))
s.sendall(b'l\\0\\x0b\\0\\0\\0\\0\\0\\0\\0\\0\\0')").with(abstract_server);
    a_message_to_everybody => sh("echo x | tee $(cat terminal)").with(terminal);
}
