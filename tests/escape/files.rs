//! Files by another name, another call, another way.

use crate::attempt::{attacks, python, sh};

attacks! {
    by_its_name => sh("cat $S");
    by_dots => sh("cat ../only/../shut/file; cat ../shut/./file; cat $R/work/../shut//file");
    by_a_link => sh("ln -s ../shut/file link; cat link");
    by_a_linked_directory => sh("ln -s ../shut link; cat link/file; cat link/./file; cat link/../shut/file");
    by_a_chain_of_links => sh("ln -s ../shut a; ln -s a b; ln -s b/file c; for i in 1 2 3 4 5 6; do ln -s c$p c$i; p=$i; done; cat c6");
    by_a_hard_link => sh("ln $S link && cat link");
    by_a_symbolic_hard_link => sh("ln -s ../shut/file s; ln s h; cat h; ln -L s i; cat i");
    through_proc_root => sh("cat /proc/self/root$S");
    through_proc_cwd => sh("cd ..; cat /proc/self/cwd/shut/file");
    through_a_parents_root => sh("cat /proc/$PPID/root$S /proc/$$/root$S /proc/$$/task/$$/root$S");
    through_a_descriptor_of_the_directory => python("d = os.open(R, os.O_PATH); tell(os.read(os.open('shut/file', os.O_RDONLY, dir_fd=d), 99))");
    reopened_from_o_path => python("f = os.open(S, os.O_PATH); tell(open('/proc/self/fd/%d' % f, 'rb').read())");
    reopened_for_writing => python("f = os.open(O, os.O_RDONLY); open('/proc/self/fd/%d' % f, 'w').write('x')");
    truncated_by_open => python("os.open(O, os.O_RDONLY | os.O_TRUNC)");
    truncated => python("os.truncate(O, 0)");
    written_over => sh("echo x > $O");
    renamed_over => sh("mv -T file $O");
    renamed_away => sh("mv $S stolen; cat stolen");
    removed => sh("rm -f $O");
    created => sh("echo x > $R/shut/new");
    created_through_a_dangling_link => sh("ln -s ../shut/new link; echo x > link");
    made_a_directory => sh("mkdir $R/shut/new");
    made_a_fifo => sh("mkfifo $R/only/new");
    made_executable => sh("chmod 777 $O");
    touched => sh("touch -d 2001-01-01 $O");
}
