//! What the guard's caller hands down: open descriptors, variables, a directory.

use crate::attempt::{attacks, python, sh};

attacks! {
    a_file => sh("cat <&3").through("exec 3<$S; exec \"$@\"");
    a_file_by_its_link => sh("cat /proc/self/fd/3 /dev/fd/3").through("exec 3<$S; exec \"$@\"");
    many_files => sh("for i in 3 4 5 6 7 8 9; do cat <&$i; done").through("exec 3<$S 4<$S 5<$S 6<$S 7<$S 8<$S 9<$S; exec \"$@\"");
    a_file_with_a_high_number => sh("cat <&900").through("exec 900<$S; exec \"$@\"");
    a_file_for_writing => sh("echo x >&3").through("exec 3>>$O; exec \"$@\"");
    a_directory => python("tell(os.read(os.open('file', os.O_RDONLY, dir_fd=3), 99))").through("exec 3<$R/shut; exec \"$@\"");
    a_directory_to_enter => python("os.fchdir(3); tell(open('file', 'rb').read())").through("exec 3<$R/shut; exec \"$@\"");
    a_directory_to_leave => python("tell(os.read(os.open('../shut/file', os.O_RDONLY, dir_fd=3), 99))").through("exec 3<$R/only; exec \"$@\"");
    a_directory_to_write_in => python("os.mkdir('new', dir_fd=3)").through("exec 3<$R/only; exec \"$@\"");
    a_program => python("os.chdir(R); call(322, 3, b'', array(b'x'), 0, 0x1000)").through("exec 3<$P; exec \"$@\"");
    o_path => python("tell(open('/proc/self/fd/3', 'rb').read())").through(
        "exec python3 -I -c 'import os, sys; os.dup2(os.open(os.environ[\"S\"], os.O_PATH), 3); os.set_inheritable(3, True); os.execvp(sys.argv[1], sys.argv[1:])' \"$@\"");
    a_socket_of_a_server => python("import socket; socket.socket(fileno=3).send(b'x')").through(
        "exec python3 -I -c 'import os, socket, sys; f = os.open(os.environ[\"O\"], os.O_WRONLY); a, b = socket.socketpair()
if os.fork(): os.dup2(a.fileno(), 3); os.set_inheritable(3, True); os.execvp(sys.argv[1], sys.argv[1:])
a.close(); os.write(f, b.recv(1))' \"$@\"");
    /// A file on standard input may be read; the descriptor grants nothing else.
    standard_input_reopened_for_writing => sh("echo x > /proc/self/fd/0").through("exec \"$@\" < $O");
    standard_input_reopened_as_a_device => sh("echo x > /dev/stdin").through("exec \"$@\" < $O");
    standard_input_truncated => python("os.truncate('/proc/self/fd/0', 0)").through("exec \"$@\" < $O");
    standard_input_made_executable => python("os.fchmod(0, 0o777)").through("exec \"$@\" < $O");
    standard_input_owned => python("os.fchown(0, os.getuid(), -1)").through("exec \"$@\" < $O");
    standard_input_touched => python("os.utime(0, (1, 1))").through("exec \"$@\" < $O");
    standard_input_given_an_attribute => python("os.setxattr(0, 'user.x', b'x')").through("exec \"$@\" < $O");
    standard_input_flagged => python("
import fcntl
v = bytearray(8); fcntl.ioctl(0, 0x80086601, v); v[0] |= 0x40; fcntl.ioctl(0, 0x40086602, v)").through("exec \"$@\" < $O");
    standard_input_removed => python("os.unlink(os.readlink('/proc/self/fd/0'))").through("exec \"$@\" < $O");
    standard_input_linked => python("call(265, -100, b'/proc/self/fd/0', -100, b'link', 0x400); open('link', 'w').write('x')").through("exec \"$@\" < $O");
    standard_input_run => python("os.chdir(R); call(322, 0, b'', array(b'x'), 0, 0x1000)").through("exec \"$@\" < $P");
    standard_input_run_by_its_link => sh("cd $R; /proc/self/fd/0").through("exec \"$@\" < $P");
    standard_input_run_by_the_loader => sh("cd $R; /lib64/ld-linux-x86-64.so.2 /dev/stdin").through("exec \"$@\" < $P");
    standard_input_mapped_as_code => python("
page = call(9, 0, 4096, 5, 2, 0, 0x1000); ctypes.CFUNCTYPE(None)(page)").through("exec \"$@\" < $P").natively_refused("nothing is at that place of it");
    a_directory_as_input => sh("exec 7<&0 < /dev/null; python3 -I -c 'import os; print(os.read(os.open(\"file\", 0, dir_fd=7), 99))'").through("exec \"$@\" < $R/shut");
    a_directory_as_input_entered => sh("exec 7<&0 < /dev/null; python3 -I -c 'import os; os.fchdir(7); print(open(\"file\").read())'").through("exec \"$@\" < $R/shut");
    a_directory_as_input_by_its_link => sh("cat /proc/self/fd/0/file").through("exec \"$@\" < $R/shut");
    a_directory_as_input_emptied => sh("exec 7<&0 < /dev/null; python3 -I -c 'import os; os.unlink(\"gone\", dir_fd=7)'").through("exec \"$@\" < $R/shut");
    a_directory_as_input_filled => sh("exec 7<&0 < /dev/null; python3 -I -c 'import os; os.mkdir(\"new\", dir_fd=7)'").through("exec \"$@\" < $R/shut");
    a_directory_as_input_with_another_root => sh("exec 7<&0 < /dev/null; python3 -I -c 'import os; import ctypes, struct; print(os.read(ctypes.CDLL(None).syscall(437, 7, b\"/file\", struct.pack(\"QQQ\", 0, 0, 16), 24), 99))'").through("exec \"$@\" < $R/shut");
    a_directory_as_output => sh("exec 7>&1 > stolen; python3 -I -c 'import os; print(os.read(os.open(\"file\", 0, dir_fd=7), 99))'").through(
        "exec python3 -I -c 'import os, sys; os.dup2(os.open(os.environ[\"R\"] + \"/shut\", os.O_PATH), 1); os.execvp(sys.argv[1], sys.argv[1:])' \"$@\"");
    o_path_as_input => python("tell(open('/proc/self/fd/0', 'rb').read())").through(
        "exec python3 -I -c 'import os, sys; os.dup2(os.open(os.environ[\"S\"], os.O_PATH), 0); os.execvp(sys.argv[1], sys.argv[1:])' \"$@\"");
    o_path_of_a_directory_as_input => sh("exec 7<&0 < /dev/null; python3 -I -c 'import os; print(os.read(os.open(\"file\", 0, dir_fd=7), 99))'").through(
        "exec python3 -I -c 'import os, sys; os.dup2(os.open(os.environ[\"R\"] + \"/shut\", os.O_PATH), 0); os.execvp(sys.argv[1], sys.argv[1:])' \"$@\"");
    a_variable => sh("env").through("export GITHUB_TOKEN=$(cat $S); exec \"$@\"");
    a_variable_of_its_own_process => sh("cat /proc/self/environ /proc/$$/environ /proc/thread-self/environ").through("export GITHUB_TOKEN=$(cat $S); exec \"$@\"");
    a_variable_in_its_memory => python("
for line in open('/proc/self/maps'):
    a, b = (int(x, 16) for x in line.split()[0].split('-'))
    if '[stack]' in line:
        with open('/proc/self/mem', 'rb') as f: f.seek(a); tell(f.read(b - a))").through("export GITHUB_TOKEN=$(cat $S); exec \"$@\"");
    a_variable_of_its_ancestors => python("
p = os.getpid()
while p:
    try: tell(open('/proc/%d/environ' % p, 'rb').read())
    except OSError: pass
    p = parent(p)").through("export GITHUB_TOKEN=$(cat $S); exec \"$@\"");
    a_variable_of_anybody => sh("cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ 2> /dev/null").through("export GITHUB_TOKEN=$(cat $S); exec \"$@\"");
    a_variable_in_the_memory_of_its_ancestors => python("
p = os.getpid()
while p:
    try:
        for line in open('/proc/%d/maps' % p):
            a, b = (int(x, 16) for x in line.split()[0].split('-'))
            if '[stack]' in line:
                with open('/proc/%d/mem' % p, 'rb') as f: f.seek(a); tell(f.read(b - a))
    except OSError: pass
    p = parent(p)").through("export GITHUB_TOKEN=$(cat $S); exec \"$@\"");
    a_variable_read_by_number => python("
p = os.getpid()
text = ctypes.create_string_buffer(1 << 21)
while p:
    fields = open('/proc/%d/stat' % p).read().rsplit(') ', 1)[1].split()
    start, end = int(fields[47]), int(fields[48])
    try: call(310, p, struct.pack('QQ', ctypes.addressof(text), end - start), 1, struct.pack('QQ', start, end - start), 1, 0); tell(text.raw[:end - start])
    except OSError: pass
    p = int(fields[1])").through("export GITHUB_TOKEN=$(cat $S); exec \"$@\"");
    /// The front and the supervisor still hold descriptors that the command does not have.
    a_file_of_its_ancestors => python("
p = os.getpid()
while p:
    try:
        for f in os.listdir('/proc/%d/fd' % p):
            if os.readlink('/proc/%d/fd/%s' % (p, f)).endswith('shut/file'): tell(open('/proc/%d/fd/%s' % (p, f), 'rb').read())
    except OSError: pass
    p = parent(p)").through("exec 3<$S; exec \"$@\"");
    a_file_taken_from_its_ancestors => python("
p = os.getpid()
while p:
    try:
        f = call(434, p, 0)
        for n in range(3, 12): tell(os.pread(call(438, f, n, 0), 99, 0))
    except OSError: pass
    p = parent(p)").through("exec 3<$S; exec \"$@\"");
    a_directory_to_begin_in => sh("cat file").through("cd $R/shut; exec \"$@\"");
    a_directory_to_begin_in_by_its_link => sh("cat /proc/self/cwd/file ./file").through("cd $R/shut; exec \"$@\"");
    a_mask => python("open(R + '/only/new', 'w')").through("umask 0; exec \"$@\"");
    no_room => sh("cat $S").through("ulimit -n 64; exec \"$@\"");
}
