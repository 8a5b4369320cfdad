//! Attacks by system calls under other names, through other entries and other ways into the kernel.

use crate::attempt::{attacks, c, python};
use crate::machine::{dumps_here, has_i386, has_rings};

attacks! {
    open_of_i386 => c("calls", "i386-open").natively_if(has_i386);
    openat_of_i386 => c("calls", "i386-openat").natively_if(has_i386);
    openat2_of_i386 => c("calls", "i386-openat2").natively_if(has_i386);
    creat_of_i386 => c("calls", "i386-creat").natively_if(has_i386);
    unlink_of_i386 => c("calls", "i386-unlink").natively_if(has_i386);
    rename_of_i386 => c("calls", "i386-rename").natively_if(has_i386);
    link_of_i386 => c("calls", "i386-link").natively_if(has_i386);
    truncate_of_i386 => c("calls", "i386-truncate").natively_if(has_i386);
    chmod_of_i386 => c("calls", "i386-chmod").natively_if(has_i386);
    mkdir_of_i386 => c("calls", "i386-mkdir").natively_if(has_i386);
    open_of_x32 => c("calls", "x32-open").natively_refused("the kernel has no x32");
    openat_of_x32 => c("calls", "x32-openat").natively_refused("the kernel has no x32");
    a_number_with_upper_bits => c("calls", "upper-bits").natively_if(|| crate::machine::since(5, 14));
    opened_by_a_ring => c("calls", "ring-open").natively_if(has_rings);
    opened_by_a_ring_and_a_structure => c("calls", "ring-open2").natively_if(has_rings);
    truncated_by_a_ring => c("calls", "ring-write").natively_if(has_rings);
    removed_by_a_ring => c("calls", "ring-unlink").natively_if(has_rings);
    moved_by_a_ring => c("calls", "ring-rename").natively_if(has_rings);
    made_by_a_ring => c("calls", "ring-mkdir").natively_if(has_rings);
    opened_by_a_ring_of_the_kernels_own_thread => c("calls", "ring-polled").natively_if(has_rings);
    behind_a_filter_that_allows => c("calls", "filter-allows");
    behind_a_filter_that_logs => c("calls", "filter-logs");
    behind_a_filter_by_prctl => c("calls", "filter-by-prctl");
    behind_a_filter_that_lies => c("calls", "filter-lies").natively_refused("nothing is opened");
    behind_a_filter_that_traps => c("calls", "filter-traps");
    behind_many_filters => c("calls", "filter-stacked");
    behind_a_listener_of_its_own => c("calls", "filter-listens");
    by_guessing_the_listener => c("calls", "listener-guessed");
    hidden_from_the_supervisor => c("calls", "undumpable");
    hidden_with_upper_bits => c("calls", "undumpable-upper-bits");
    named_as_the_guard => c("calls", "other-name");
    adopted_by_its_own => c("calls", "subreaper");
    dispatched_to_itself => c("calls", "dispatched");
    after_reading_its_parent => c("calls", "read-directly");
    from_memory_that_is_not_needed => c("calls", "not-needed");
    from_memory_that_is_protected => c("calls", "protected");
    from_memory_beyond_the_end_of_its_file => c("calls", "beyond-the-end");
    dumped_where_nothing_may_be_made => c("calls", "dumps").natively_if(dumps_here);
    open_by_handle => python("
handle = ctypes.create_string_buffer(struct.pack('Ii', 120, 0), 128); mount = ctypes.c_int()
call(303, -100, S.encode(), handle, ctypes.byref(mount), 0)
tell(os.read(call(304, os.open('.', os.O_RDONLY), handle, 0), 99))").natively_refused("it needs CAP_DAC_READ_SEARCH");
    stalled_by_a_fault_of_its_own => python("
f = call(323, os.O_CLOEXEC | 1); page = call(9, 0, 4096, 3, 0x22, -1, 0)
api = bytearray(struct.pack('QQQ', 0xaa, 0, 0)); import fcntl; fcntl.ioctl(f, 0xc018aa3f, api)
fcntl.ioctl(f, 0xc020aa00, bytearray(struct.pack('QQQQ', page, 4096, 1, 0))); call(257, -100, page, 0, 0)").natively_refused("a fault in the kernel is not told to everybody");
    a_descriptor_with_upper_bits => python("d = os.open(R, os.O_PATH); tell(os.read(call(257, d | 0x7777 << 32, b'shut/file', 0, 0), 99))");
    a_namespace_with_upper_bits => python("call(308, os.open('/proc/self/ns/user', 0) | 0x7777 << 32, 0x7777 << 32); tell(open(S, 'rb').read())").natively_refused("EINVAL: its own");
    an_attribute_with_upper_bits => python("
f = os.open(O, os.O_RDONLY); call(91, f | 0x7777 << 32, 0o777)");
    a_mode_with_upper_bits => python("call(90, O.encode(), 0o777 | 0x7777 << 32)");
    a_lease_with_upper_bits => python("f = os.open(S, os.O_PATH); call(72, f | 1 << 40, 1 << 40, 0); tell(open('/proc/self/fd/%d' % f, 'rb').read())");
    a_personality => python("
try: call(135, 0x0400000)
except OSError: pass
tell(open(S, 'rb').read())");
}
