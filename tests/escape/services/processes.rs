//! Processes outside of the tree: signalled, slowed down, inspected.

use crate::attempt::{attacks, python, sh};
use crate::outside::victim;

/// Everything except what is closed may be written and run, so the refusals do not come from a rule.
const WIDE: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"filesystem": {"rules": {"/**": "rwx", "@/shut/**": "---", "@/only/**": "r--", "@/hide/**": "r--", "@/home/**": "r--"},
        "default": "---"}}}"#;

attacks! {
    killed => sh("kill -KILL $(cat victim)").with(victim);
    stopped => sh("kill -STOP $(cat victim)").with(victim);
    killed_by_a_user_signal => sh("kill -USR1 $(cat victim)").with(victim);
    killed_as_a_group => sh("kill -KILL -- -$(cat victim)").with(victim);
    killed_by_killpg => python("os.killpg(int(open('victim').read()), 9)").with(victim);
    killed_by_tkill => python("call(200, int(open('victim').read()), 9)").with(victim);
    killed_by_tgkill => python("v = int(open('victim').read()); call(234, v, v, 9)").with(victim);
    killed_with_higher_bits => python("v = int(open('victim').read()); call(62, v | 1 << 32, 9 | 1 << 32)").with(victim);
    killed_by_a_queued_signal => python("
v = int(open('victim').read())
call(129, v, 10, struct.pack('iiiiii', 10, 0, -1, 0, os.getpid(), os.getuid()).ljust(128, b'\\0'))").with(victim);
    killed_by_a_queued_signal_of_a_thread => python("
v = int(open('victim').read())
call(297, v, v, 10, struct.pack('iiiiii', 10, 0, -1, 0, os.getpid(), os.getuid()).ljust(128, b'\\0'))").with(victim);
    killed_by_a_descriptor => python("
f = call(434, int(open('victim').read()), 0)
call(424, f, 9, 0, 0)").with(victim);
    killed_by_a_directory_of_proc => python("
f = os.open('/proc/' + open('victim').read(), os.O_RDONLY)
call(424, f, 9, 0, 0)").with(victim);
    killed_by_a_descriptor_as_a_group => python("
f = call(434, int(open('victim').read()), 0)
call(424, f, 9, 0, 4)").with(victim);
    killed_by_the_owner_of_a_socket => python("
import fcntl, socket, signal
a, b = socket.socketpair()
fcntl.fcntl(a, fcntl.F_SETOWN, int(open('victim').read())); fcntl.fcntl(a, 10, signal.SIGUSR1)
fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); b.send(b'x')").with(victim);
    killed_by_a_group_that_owns_a_socket => python("
import fcntl, socket
a, b = socket.socketpair()
fcntl.fcntl(a, fcntl.F_SETOWN, -int(open('victim').read()))
fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); b.send(b'x')").with(victim);
    killed_by_an_owner_in_memory => python("
import fcntl, socket
for kind in 0, 1, 2:
    a, b = socket.socketpair()
    try: call(72, a.fileno(), 15, struct.pack('ii', kind, int(open('victim').read())))
    except OSError: continue
    fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); b.send(b'x')").with(victim);
    killed_by_fiosetown => python("
import fcntl, socket
a, b = socket.socketpair()
fcntl.ioctl(a, 0x8901, struct.pack('i', int(open('victim').read())))
fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); b.send(b'x')").with(victim);
    killed_by_siocspgrp_with_higher_bits => python("
import fcntl, socket
a, b = socket.socketpair()
call(16, a.fileno(), 0x8902 | 1 << 32, struct.pack('i', int(open('victim').read())))
fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK); b.send(b'x')").with(victim);
    killed_by_a_timer => python("
event = struct.pack('Qiii', 0, 9, 4, int(open('victim').read())).ljust(64, b'\\0')
timer = ctypes.create_string_buffer(8)
call(222, 0, event, timer)
call(223, struct.unpack('i', timer[:4])[0], 0, struct.pack('qqqq', 0, 0, 0, 1), 0)
import time; time.sleep(.05)").with(victim).natively_refused("a timer signals threads of its own process");
    its_files_limited => sh("prlimit --pid $(cat victim) --nofile=10:10").with(victim);
    its_limit_with_higher_bits => python("
call(302, int(open('victim').read()) | 1 << 32, 7, struct.pack('QQ', 10, 10), 0)").with(victim);
    made_nice => sh("renice -n 19 -p $(cat victim)").with(victim);
    its_group_made_nice => sh("renice -n 19 -g $(cat victim)").with(victim);
    made_idle => sh("chrt -i -p 0 $(cat victim)").with(victim);
    its_disk_made_slow => sh("ionice -c 3 -p $(cat victim)").with(victim);
    its_groups_disk_made_slow => sh("ionice -c 3 -P $(cat victim)").with(victim);
    bound_to_one_processor => sh("taskset -p 1 $(cat victim)").with(victim)
        .natively_if(|| std::thread::available_parallelism().is_ok_and(|count| count.get() > 1));
    scheduled_by_attributes => python("
call(314, int(open('victim').read()), struct.pack('IIQiIQQQ', 48, 5, 0, 0, 0, 0, 0, 0), 0)").with(victim);
    to_be_killed_first => sh("echo 999 > /proc/$(cat victim)/oom_score_adj").with(victim).under(WIDE);
    its_environment_read => sh("cat /proc/$(cat victim)/environ").with(victim);
    its_environment_read_where_all_may_be => sh("cat /proc/$(cat victim)/environ").with(victim).under(WIDE);
    its_environment_read_by_its_thread => sh("v=$(cat victim); cat /proc/$v/task/$v/environ").with(victim).under(WIDE);
    its_input_read => sh("cat /proc/$(cat victim)/fd/0").with(victim).under(WIDE);
    its_directory_entered => sh("cat /proc/$(cat victim)/cwd/file").with(victim).under(WIDE);
    its_directory_entered_first => sh("cd /proc/$(cat victim)/cwd && cat file").with(victim).under(WIDE);
    its_root_entered => sh("cat /proc/$(cat victim)/root$S").with(victim).under(WIDE);
    its_memory_read => python("
v = open('victim').read()
start, end = next(line.split()[0].split('-') for line in open('/proc/%s/maps' % v) if '[stack]' in line)
with open('/proc/%s/mem' % v, 'rb') as f: f.seek(int(start, 16)); tell(f.read(int(end, 16) - int(start, 16)))").with(victim).under(WIDE);
    its_memory_read_by_number => python("
v = int(open('victim').read()); fields = open('/proc/%d/stat' % v).read().rsplit(') ', 1)[1].split()
start, end = int(fields[47]), int(fields[48])
text = ctypes.create_string_buffer(end - start)
call(310, v, struct.pack('QQ', ctypes.addressof(text), end - start), 1, struct.pack('QQ', start, end - start), 1, 0)
tell(text.raw)").with(victim);
    its_memory_written => python("
v = open('victim').read(); start = int(open('/proc/%s/stat' % v).read().rsplit(') ', 1)[1].split()[45])
with open('/proc/%s/mem' % v, 'r+b', 0) as f: f.seek(start); f.write(b'X')").with(victim).under(WIDE);
    its_memory_written_by_number => python("
v = int(open('victim').read()); start = int(open('/proc/%d/stat' % v).read().rsplit(') ', 1)[1].split()[45])
text = ctypes.create_string_buffer(b'X')
call(311, v, struct.pack('QQ', ctypes.addressof(text), 1), 1, struct.pack('QQ', start, 1), 1, 0)").with(victim);
    traced => python("call(101, 0x4206, int(open('victim').read()), 0, 0); import time; time.sleep(.02); call(101, 0x4207, int(open('victim').read()), 0, 0); os.kill(int(open('victim').read()), 9)").with(victim);
    its_descriptor_taken => python("
f = call(434, int(open('victim').read()), 0)
tell(os.pread(call(438, f, 0, 0), 99, 0))").with(victim);
    its_descriptor_taken_by_a_thread => python("
f = call(434, int(open('victim').read()), 0x80)
tell(os.pread(call(438, f, 0, 0), 99, 0))").with(victim);
}
