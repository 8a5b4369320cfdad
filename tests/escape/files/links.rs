//! Links of both kinds: long chains, links in the middle of a path, links to places that depend on the
//! caller.

use crate::attempt::{attacks, python, sh};
use crate::machine::since;

attacks! {
    by_a_link => sh("ln -s ../shut/file link; cat link");
    by_an_absolute_link => sh("ln -s $S link; cat link");
    by_a_linked_directory => sh("ln -s ../shut link; cat link/file");
    by_a_linked_directory_and_dots => sh("ln -s ../shut/dir link; cat link/../file");
    by_a_chain_of_links => sh("ln -s ../shut a; ln -s a b; ln -s b/file c; for i in 1 2 3 4 5 6; do ln -s c$p c$i; p=$i; done; cat c6");
    by_the_longest_chain => sh("ln -s ../shut/file l1; for i in $(seq 2 40); do ln -s l$((i-1)) l$i; done; cat l40");
    by_a_chain_too_long => sh("ln -s ../shut/file l1; for i in $(seq 2 42); do ln -s l$((i-1)) l$i; done; cat l42").natively_refused("40 links at most");
    by_links_in_every_component => sh("ln -s . a; ln -s .. b; cat a/a/a/b/shut/../shut/file");
    by_a_link_to_a_link_with_dots => sh("mkdir -p d/e; ln -s ../../.. d/e/up; cat d/e/up/shut/file");
    by_a_link_to_the_current_directory => sh("cd ..; ln -s /proc/self/cwd/shut work/link; cat work/link/file");
    by_a_link_to_the_root => sh("ln -s /proc/self/root link; cat link$S");
    by_a_link_to_a_thread => sh("ln -s /proc/thread-self/root link; cat link$S");
    by_a_link_to_a_descriptor => python("
d = os.open('../shut', os.O_PATH); os.symlink('/proc/self/fd/%d' % d, 'link'); tell(open('link/file', 'rb').read())");
    by_a_link_to_dev_fd => python("
d = os.open('../shut', os.O_PATH); os.symlink('/dev/fd/%d/file' % d, 'link'); tell(open('link', 'rb').read())");
    /// The first open finds nothing; that must not make the guard trust the name.
    by_a_link_that_appears_later => sh("cat link; cat link; ln -s ../shut/file link; cat link");
    by_a_directory_that_becomes_a_link => sh("mkdir d; echo x > d/file; cat d/file; rm -r d; ln -s ../shut d; cat d/file");
    by_a_file_that_becomes_a_link => sh("echo x > f; cat f; ln -sf ../shut/file f; cat f");
    by_a_link_with_a_trailing_slash => sh("ln -s ../shut/ link; cat link//file");
    by_a_link_with_text_of_path_max => python("
os.symlink('/' * (4094 - len(S)) + S, 'link'); tell(open('link', 'rb').read())");
    by_a_link_with_strange_characters => python("
os.symlink(b'../shut', b'\\xff\\n\\x1b[31m'); tell(open(b'\\xff\\n\\x1b[31m/file', 'rb').read())");
    created_through_a_dangling_link => sh("ln -s ../shut/new link; echo x > link");
    created_through_a_chain_of_dangling_links => sh("ln -s ../shut/new a; ln -s a b; echo x > b");
    created_through_a_linked_directory => sh("ln -s ../shut link; echo x > link/new");
    created_exclusively_through_a_link => python("
os.symlink('../shut/new', 'link'); os.open('link', os.O_CREAT | os.O_EXCL | os.O_WRONLY)").natively_refused("O_EXCL follows no link");
    created_by_a_directory_through_a_link => sh("ln -s ../shut/new link; mkdir link").natively_refused("mkdir follows no link");
    written_through_a_link => sh("ln -s ../only/file link; echo x > link");
    truncated_through_a_link => python("os.symlink('../only/file', 'link'); os.truncate('link', 0)");
    changed_through_a_link => sh("ln -s ../only/file link; chmod 777 link");
    touched_through_a_link => sh("ln -s ../only/file link; touch -d 2001-01-01 link");
    the_link_itself_touched => python("
os.symlink('x', '../only/link'); os.utime('../only/link', (1, 1), follow_symlinks=False)");
    by_a_hard_link => sh("ln $S link && cat link");
    by_a_hard_link_of_a_directorys_descriptor => python("
os.link('file', 'link', src_dir_fd=os.open('../shut', os.O_PATH)); tell(open('link', 'rb').read())");
    by_a_hard_link_through_a_descriptor => python("
f = os.open(S, os.O_PATH); call(265, -100, b'/proc/self/fd/%d' % f, -100, b'link', 0x400); tell(open('link', 'rb').read())");
    by_a_hard_link_of_an_empty_path => python("
f = os.open(S, os.O_PATH); call(265, f, b'', -100, b'link', 0x1000); tell(open('link', 'rb').read())").natively_if(|| since(6, 10));
    by_a_symbolic_hard_link => sh("ln -s ../shut/file s; ln s h; cat h; ln -L s i; cat i");
    by_a_hard_link_written_to => sh("ln $O link; echo x > link");
    by_a_hard_link_into_a_closed_directory => sh("ln file $R/only/new");
    by_a_hard_link_then_removed => sh("ln $S link; rm $S; cat link");
    a_nameless_file_linked_in => python("
f = os.open('.', os.O_TMPFILE | os.O_WRONLY); call(265, -100, b'/proc/self/fd/%d' % f, -100, (R + '/only/new').encode(), 0x400)");
    a_nameless_file_linked_over => python("
f = os.open('.', os.O_TMPFILE | os.O_WRONLY); os.unlink(O); call(265, -100, b'/proc/self/fd/%d' % f, -100, O.encode(), 0x400)");
    a_nameless_file_of_a_closed_directory => python("
f = os.open('../only', os.O_TMPFILE | os.O_WRONLY); call(265, -100, b'/proc/self/fd/%d' % f, -100, (R + '/only/new').encode(), 0x400)");
}
