//! Attacks on files by other names, calls and routes.

mod attributes;
mod links;
mod mounts;
mod moves;
mod names;
mod opens;

use crate::attempt::{attacks, python, sh};

attacks! {
    by_its_name => sh("cat $S");
    reopened_from_o_path => python("f = os.open(S, os.O_PATH); tell(open('/proc/self/fd/%d' % f, 'rb').read())");
    reopened_for_writing => python("f = os.open(O, os.O_RDONLY); open('/proc/self/fd/%d' % f, 'w').write('x')");
    truncated_by_open => python("os.open(O, os.O_RDONLY | os.O_TRUNC)");
    truncated => python("os.truncate(O, 0)");
    truncated_to_more => python("os.truncate(O, 1 << 20)");
    truncated_by_a_relative_name => python("call(76, b'../only/file', 1)");
    written_over => sh("echo x > $O");
    appended_to => sh("echo x >> $O");
    written_in_place => sh("printf x | dd of=$O conv=notrunc");
    edited_in_place => sh("sed -i s/kept/lost/ $O");
    removed => sh("rm -f $O");
    removed_as_a_directory => sh("rmdir $R/shut/dir");
    created => sh("echo x > $R/shut/new");
    made_a_directory => sh("mkdir $R/shut/new");
    made_a_fifo => sh("mkfifo $R/only/new");
    made_a_file_by_mknod => python("os.mknod(R + '/only/new', 0o100600)");
    made_a_socket_by_mknod => python("os.mknod(R + '/only/new', 0o140600)");
    made_a_whiteout => python("os.mknod(R + '/only/new', 0o20600, 0)");
    made_a_link => sh("ln -s file $R/only/new");
    bound_a_socket => python("import socket; socket.socket(socket.AF_UNIX).bind(R + '/only/new')");
    bound_a_relative_socket => python("import socket; os.chdir(R + '/only'); socket.socket(socket.AF_UNIX).bind('new')");
    punched_a_hole => python("f = os.open(O, os.O_RDWR); libc.fallocate(f, 3, ctypes.c_long(0), ctypes.c_long(2))");
    mapped_for_writing => python("
import mmap
f = os.open(O, os.O_RDWR); m = mmap.mmap(f, 4); m[0:1] = b'X'; m.flush()");
    /// A file open for reading must not be written through a mapping.
    mapped_and_made_writable => python("
f = os.open(O, os.O_RDONLY)
a = call(9, 0, 4096, 1, 1, f, 0)
call(10, a, 4096, 3)
ctypes.memset(a, 88, 1)").natively_refused("the mapping may not be made writable");
    sent_from_one_to_the_other => python("os.sendfile(1, os.open(S, os.O_RDONLY), 0, 99)");
    copied_in_the_kernel => python("
os.copy_file_range(os.open(S, os.O_RDONLY), os.open('copy', os.O_WRONLY | os.O_CREAT), 99)");
    spliced => python("
r, w = os.pipe(); n = os.splice(os.open(S, os.O_RDONLY), w, 99); tell(os.read(r, n))");
    sent_from_o_path => python("os.sendfile(1, os.open(S, os.O_PATH), 0, 99)").natively_refused("O_PATH gives no data");
    read_ahead_by_asynchronous_io => python("
context = ctypes.c_ulong(); call(206, 1, ctypes.byref(context))
data = ctypes.create_string_buffer(99)
block = ctypes.create_string_buffer(struct.pack('=QIihhIQQqQII', 0, 0, 0, 0, 0, os.open(S, os.O_RDONLY), ctypes.addressof(data), 99, 0, 0, 0, 0))
pointer = ctypes.c_void_p(ctypes.addressof(block)); call(209, context.value, 1, ctypes.byref(pointer))
call(208, context.value, 1, 1, ctypes.create_string_buffer(64), 0); tell(data.raw)");
    locked_for_everybody => python("
import fcntl
f = os.open(O, os.O_RDWR); fcntl.lockf(f, fcntl.LOCK_EX); os.write(f, b'x')");
    synchronised_with => sh("rsync -a $R/shut/ copy/").needs(&["rsync"]);
    archived => sh("tar -cf - -C $R shut");
    copied_whole => sh("cp -a $R/shut copy");
    copied_by_reflink => sh("cp --reflink=auto $S copy");
    found_by_grep => sh("grep -r . $R/shut");
    split_up => sh("split -b 4 $S part; cat part*");
    compared => sh("cmp -l $S /dev/zero | awk '{printf \"%c\", strtonum(\"0\" $2)}' 2>/dev/null; diff $S file");
    read_by_the_shell => sh("read x < $S; echo $x; mapfile y < $S; echo ${y[@]}; . $S");
    read_by_a_here_string => sh("echo \"$(<$S)\"");
    read_by_a_process_substitution => sh("cat <(cat $S)");
}
