//! By a system call of another name.

use crate::attempt::{attacks, c, python};

attacks! {
    open_of_i386 => c("calls", "i386-open");
    open_by_handle => python("
handle = ctypes.create_string_buffer(struct.pack('Ii', 120, 0), 128); mount = ctypes.c_int()
call(303, -100, S.encode(), handle, ctypes.byref(mount), 0)
tell(os.read(call(304, os.open('.', os.O_RDONLY), handle, 0), 99))").natively_refused("it needs CAP_DAC_READ_SEARCH");
}
