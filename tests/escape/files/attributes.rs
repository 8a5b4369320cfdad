//! Modes, owners, times, flags and extended attributes, by each call that sets them.

use crate::attempt::{attacks, python, sh};
use crate::machine::since;

attacks! {
    made_executable => sh("chmod 777 $O");
    by_the_oldest_chmod => python("call(90, O.encode(), 0o777)");
    by_fchmod_of_what_is_read => python("call(91, os.open(O, os.O_RDONLY), 0o777)");
    by_fchmod_of_a_directory => python("call(91, os.open(R + '/only', os.O_RDONLY), 0o777)");
    by_fchmodat => python("call(268, os.open(R, os.O_PATH), b'only/file', 0o777)");
    by_fchmodat2 => python("call(452, os.open(R, os.O_PATH), b'only/file', 0o777, 0x100)");
    by_fchmodat2_of_an_empty_path => python("call(452, os.open(O, os.O_PATH), b'', 0o777, 0x1000)");
    by_chmod_of_a_descriptors_link => python("os.chmod('/proc/self/fd/%d' % os.open(O, os.O_PATH), 0o777)");
    by_chmod_of_a_closed_file => sh("chmod 777 $S");
    opened_to_all => sh("chmod -R a+rwx $R/shut");
    made_set_user_id => sh("chmod u+s $P");
    owned => python("os.chown(O, os.getuid(), os.getgid())");
    by_lchown => python("call(94, O.encode(), os.getuid(), -1)");
    by_fchown_of_what_is_read => python("os.fchown(os.open(O, os.O_RDONLY), os.getuid(), -1)");
    by_fchownat => python("call(260, os.open(R, os.O_PATH), b'only/file', os.getuid(), -1, 0)");
    by_fchownat_of_an_empty_path => python("call(260, os.open(O, os.O_PATH), b'', os.getuid(), -1, 0x1000)");
    touched => sh("touch -d 2001-01-01 $O");
    touched_now => sh("touch $O");
    by_utime => python("call(132, O.encode(), struct.pack('QQ', 1, 1))");
    by_utime_of_now => python("call(132, O.encode(), 0)");
    by_utimes => python("call(235, O.encode(), struct.pack('QQQQ', 1, 0, 1, 0))");
    by_futimesat => python("call(261, os.open(R, os.O_PATH), b'only/file', struct.pack('QQQQ', 1, 0, 1, 0))");
    by_futimesat_of_a_descriptor => python("call(261, os.open(O, os.O_RDONLY), 0, struct.pack('QQQQ', 1, 0, 1, 0))");
    by_utimensat => python("call(280, os.open(R, os.O_PATH), b'only/file', struct.pack('QQQQ', 1, 0, 1, 0), 0x100)");
    by_utimensat_of_an_empty_path => python("call(280, os.open(O, os.O_PATH), b'', struct.pack('QQQQ', 1, 0, 1, 0), 0x1000)");
    by_futimens_of_what_is_read => python("call(280, os.open(O, os.O_RDONLY), 0, struct.pack('QQQQ', 1, 0, 1, 0), 0)");
    given_an_attribute => python("os.setxattr(O, 'user.x', b'x')");
    by_lsetxattr => python("os.setxattr(O, 'user.x', b'x', follow_symlinks=False)");
    by_fsetxattr_of_what_is_read => python("os.setxattr(os.open(O, os.O_RDONLY), 'user.x', b'x')");
    by_setxattr_of_a_descriptors_link => python("os.setxattr('/proc/self/fd/%d' % os.open(O, os.O_PATH), 'user.x', b'x')");
    by_setxattrat => python("
value = ctypes.create_string_buffer(b'x'); args = struct.pack('QII', ctypes.addressof(value), 1, 0)
call(463, os.open(R, os.O_PATH), b'only/file', 0, b'user.x', args, 16)").natively_if(|| since(6, 13));
    by_setxattrat_of_an_empty_path => python("
value = ctypes.create_string_buffer(b'x'); args = struct.pack('QII', ctypes.addressof(value), 1, 0)
call(463, os.open(O, os.O_RDONLY), b'', 0x1000, b'user.x', args, 16)").natively_if(|| since(6, 13));
    by_an_access_list => python("os.setxattr(O, 'system.posix_acl_access', struct.pack('<IHHIHHIHHI', 2, 1, 7, 0xffffffff, 4, 7, 0xffffffff, 32, 7, 0xffffffff))");
    an_attribute_taken => python("os.removexattr(O, 'user.kept')").with(an_attribute);
    by_fremovexattr => python("os.removexattr(os.open(O, os.O_RDONLY), 'user.kept')").with(an_attribute);
    by_lremovexattr => python("os.removexattr(O, 'user.kept', follow_symlinks=False)").with(an_attribute);
    by_removexattrat => python("call(466, os.open(R, os.O_PATH), b'only/file', 0, b'user.kept')").with(an_attribute).natively_if(|| since(6, 13));
    flagged => python("
import fcntl
f = os.open(O, os.O_RDONLY); v = bytearray(8); fcntl.ioctl(f, 0x80086601, v); v[0] |= 0x40; fcntl.ioctl(f, 0x40086602, v)");
    flagged_by_the_short_request => python("
f = os.open(O, os.O_RDONLY); v = ctypes.c_int(); call(16, f, 0x80086601, ctypes.byref(v)); v.value |= 0x40; call(16, f, 0x40046602, ctypes.byref(v))")
        .natively_refused("it is for 32-bit programs");
    flagged_with_upper_bits => python("
f = os.open(O, os.O_RDONLY); v = ctypes.c_int(); call(16, f, 0x80086601, ctypes.byref(v)); v.value |= 0x40; call(16, f, 0x7a7a7a7a_40086602, ctypes.byref(v))");
    flagged_by_the_extended_request => python("
f = os.open(O, os.O_RDONLY); v = bytearray(28); import fcntl; fcntl.ioctl(f, 0x801c581f, v); v[0] |= 0x80; fcntl.ioctl(f, 0x401c5820, v)");
    by_file_setattr => python("
call(469, os.open(R, os.O_PATH), b'only/file', struct.pack('QIIII', 0x80, 0, 0, 0, 0), 24, 0)").natively_if(|| since(6, 17));
    stripped_by_a_write => python("os.write(os.open(P, os.O_WRONLY), b'x')");
    the_directory_opened => sh("chmod 777 $R/only");
    the_trees_own_home => sh("chmod 777 $HOME");
}

fn an_attribute(arena: &guard_tests::Arena) -> crate::attempt::Outside {
    let python = guard_tests::program_text("python3");
    let set = "import os, sys; os.setxattr(sys.argv[1], 'user.kept', b'x')";
    let file = arena.root().join("only/file");
    let set = guard_tests::ended(std::process::Command::new(python).args(["-I", "-c", set]).arg(file));
    assert_eq!(set.status, 0, "{}", set.stderr);
    Box::new(())
}
