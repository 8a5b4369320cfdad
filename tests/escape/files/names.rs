//! Spellings of a path, names that are not plain text, and directories that have moved.

use guard_tests::Arena;

use crate::attempt::{Outside, attacks, python, sh};
use crate::machine::has_secret_memory;

/// Creates more secrets, under names that are hard to write in a rule.
fn strange_names(arena: &Arena) -> Outside {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let shut = arena.root().join("shut");
    let names: [&[u8]; 7] =
        [b"a\nb", b"\xff\xfe", b"\x1b[2Jx", b" ", b"...", b"e\xcc\x81", b"file (deleted)"];
    for name in names {
        std::fs::copy(shut.join("file"), shut.join(OsStr::from_bytes(name))).expect("a file");
    }
    std::fs::create_dir(shut.join("\u{202e}")).expect("a directory");
    std::fs::copy(shut.join("file"), shut.join("\u{202e}/x")).expect("a file");
    Box::new(())
}

attacks! {
    by_dots => sh("cat ../only/../shut/file");
    by_dots_from_the_root => sh("cat $R/work/../shut//file");
    by_dots_above_the_root => sh("cat /../../..$S");
    by_dots_in_the_middle => sh("cat ../shut/./file");
    by_doubled_slashes => sh("cat //$R////shut///file");
    by_a_directory_and_back => sh("cat $R/shut/dir/../file");
    by_a_name_of_path_max => python("tell(os.read(os.open('/' * (4095 - len(S)) + S, 0), 99))");
    by_dots_of_path_max => python("p = '../shut/file'; p = './' * ((4095 - len(p)) // 2) + p; tell(os.read(os.open(p, 0), 99))");
    by_a_name_beyond_path_max => python("os.open('/' * (4096 - len(S)) + S, 0)").natively_refused("ENAMETOOLONG");
    by_a_trailing_slash => python("tell(open(S + '/', 'rb').read())").natively_refused("it is no directory");
    by_a_trailing_dot => python("tell(open(S + '/.', 'rb').read())").natively_refused("it is no directory");
    by_an_upper_case_name => sh("cat $R/SHUT/FILE $R/Shut/file").natively_refused("the file system heeds case");
    by_a_space_and_a_dot => sh("cat \"$S \" \"$S.\" \"$S::\\$DATA\"").natively_refused("the file system heeds them");
    a_newline => python("tell(open(R + '/shut/a\\nb', 'rb').read())").with(strange_names);
    no_text => python("tell(open(R.encode() + b'/shut/\\xff\\xfe', 'rb').read())").with(strange_names);
    an_escape_sequence => python("tell(open(R + '/shut/\\x1b[2Jx', 'rb').read())").with(strange_names);
    a_blank => python("tell(open(R + '/shut/ ', 'rb').read())").with(strange_names);
    three_dots => python("tell(open(R + '/shut/...', 'rb').read())").with(strange_names);
    a_decomposed_letter => python("tell(open(R.encode() + b'/shut/e\\xcc\\x81', 'rb').read())").with(strange_names);
    a_deleted_files_name => python("tell(open(R + '/shut/file (deleted)', 'rb').read())").with(strange_names);
    below_a_name_that_turns_text_around => python("tell(open(R + '/shut/\\u202e/x', 'rb').read())").with(strange_names);
    by_a_changed_directory => sh("cd $R/shut; cat file");
    by_a_changed_directory_and_back => sh("cd $R/shut/dir; cat ../file");
    by_a_directorys_descriptor => python("os.fchdir(os.open('../shut', os.O_PATH)); tell(open('file', 'rb').read())");
    by_a_link_that_is_the_current_directory => sh("ln -s ../shut link; cd link; cat file; cat ./file");
    /// `..` of a removed directory is still its parent.
    by_a_removed_directory => python("
os.mkdir('d'); os.chdir('d'); os.rmdir('../d'); tell(open('../../shut/file', 'rb').read())");
    by_the_name_of_a_removed_directory => python("
os.mkdir('d'); os.symlink('../shut', 'd (deleted)'); os.chdir('d'); os.rmdir('../d'); tell(open('file', 'rb').read())")
        .natively_refused("nothing is found in a directory that is gone");
    written_by_the_name_of_a_removed_directory => python("
os.mkdir('d'); os.symlink('../only', 'd (deleted)'); os.chdir('d'); os.rmdir('../d'); open('file', 'w').write('x')")
        .natively_refused("nothing is made in a directory that is gone");
    in_a_directory_named_like_a_removed_one => sh("mkdir 'd (deleted)'; cd 'd (deleted)'; ln -s ../../shut s; cat s/file");
    by_a_moved_directory => python("
os.makedirs('a/b/shut'); os.makedirs('a/b/c'); open('a/b/shut/file', 'w').write('harmless')
os.chdir('a/b/c'); d = os.open('../../..', os.O_PATH); open('../shut/file').read()
os.rename('a/b/c', 'c', src_dir_fd=d, dst_dir_fd=d); tell(open('../../shut/file', 'rb').read())");
    by_a_moved_descriptor => python("
os.makedirs('a/b/c'); c = os.open('a/b/c', os.O_PATH); os.rename('a/b/c', 'c')
tell(os.read(os.open('../../shut/file', os.O_RDONLY, dir_fd=c), 99))");
    written_by_a_moved_directory => python("
os.makedirs('a/only'); os.makedirs('a/b/c'); c = os.open('a/b/c', os.O_PATH); os.rename('a/b/c', 'c')
open(os.open('../../only/file', os.O_WRONLY, dir_fd=c), 'w').write('x')");
    /// Deeper than any path that the kernel reports.
    by_the_way_up_from_a_deep_directory => python("
d = 'x' * 200
for _ in range(25): os.mkdir(d); os.chdir(d)
tell(open('../' * 25 + '../shut/file', 'rb').read())");
    by_a_link_from_a_deep_directory => python("
d = 'x' * 200
for _ in range(25): os.mkdir(d); os.chdir(d)
os.symlink(S, 'link'); tell(open('link', 'rb').read())");
    written_from_a_deep_directory => python("
d = 'x' * 200
for _ in range(25): os.mkdir(d); os.chdir(d)
open('../' * 25 + '../only/new', 'w')");
    a_deep_directory_moved_away => python("
d = 'x' * 200
top = os.open('../only', os.O_PATH)
for _ in range(25): os.mkdir(d); os.chdir(d)
open('file', 'w'); os.rename('file', 'new', dst_dir_fd=top)");
    /// The path's last byte is the last byte of the mapped page.
    at_the_end_of_a_page => python("
page = call(9, 0, 8192, 3, 0x22, -1, 0); call(11, page + 4096, 4096)
text = S.encode() + b'\\0'; start = page + 4096 - len(text); ctypes.memmove(start, text, len(text))
tell(os.read(call(257, -100, start, 0, 0), 99))");
    across_a_hole => python("
page = call(9, 0, 8192, 3, 0x22, -1, 0); call(11, page + 4096, 4096)
text = S.encode(); start = page + 4096 - len(text); ctypes.memmove(start, text, len(text))
call(257, -100, start, 0, 0)").natively_refused("EFAULT: it does not end");
    from_a_page_that_cannot_be_written => python("
page = call(9, 0, 4096, 3, 0x22, -1, 0); ctypes.memmove(page, S.encode() + b'\\0', len(S) + 1); call(10, page, 4096, 1)
tell(os.read(call(257, -100, page, 0, 0), 99))");
    from_a_page_of_a_file => python("
open('path', 'wb').write(S.encode() + bytes(4096)); f = os.open('path', os.O_RDWR)
page = call(9, 0, 4096, 3, 1, f, 0); tell(os.read(call(257, -100, page, 0, 0), 99))");
    from_a_page_of_secret_memory => python("
f = call(447, 0); os.ftruncate(f, 4096); page = call(9, 0, 4096, 3, 1, f, 0); ctypes.memmove(page, S.encode() + b'\\0', len(S) + 1)
tell(os.read(call(257, -100, page, 0, 0), 99))").natively_if(has_secret_memory);
    from_a_page_behind_a_key => python("
page = call(9, 0, 4096, 3, 0x22, -1, 0); ctypes.memmove(page, S.encode() + b'\\0', len(S) + 1)
try: key = call(330, 0, 0); call(329, page, 4096, 3, key)
except OSError: pass
tell(os.read(call(257, -100, page, 0, 0), 99))");
}
