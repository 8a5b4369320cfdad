//! Programs that may be read but not run.

mod called;
mod libraries;
mod scripts;
mod tools;
mod wrappers;

use crate::attempt::{BUILDING, attacks, c, python, sh};
use crate::machine::has_i386;

attacks! {
    by_its_name => sh("cd $R; $P");
    by_a_relative_name => sh("cd $R; hide/prog");
    by_dots => sh("cd $R; work/../hide//./prog");
    by_a_directory => sh("cd $R/hide; mkdir -p work; cd ..; PATH=$R/hide; prog");
    by_an_empty_path => sh("cd $R/hide; ln -s $P $R/work/prog; cd $R; PATH=work:; prog");
    by_a_link => sh("ln -s $P prog; cd $R; work/prog");
    by_a_linked_directory => sh("ln -s ../hide d; cd $R; work/d/prog");
    by_a_hard_link => sh("ln $P ./prog; cd $R; work/prog").under(BUILDING);
    by_a_hard_link_of_a_descriptor => python("
f = os.open(P, os.O_PATH); call(265, -100, b'/proc/self/fd/%d' % f, -100, b'prog', 0x400)
os.chdir(R); os.execv('work/prog', ['x'])").under(BUILDING);
    renamed => sh("mv $P ./prog; cd $R; work/prog").under(BUILDING);
    renamed_within => sh("mv $P $R/hide/other; cd $R; hide/other");
    exchanged => python("
open('prog', 'w'); os.chmod('prog', 0o755); call(316, -100, P.encode(), -100, b'prog', 2)
os.chdir(R); os.execv('work/prog', ['x'])").under(BUILDING);
    its_directory_renamed => sh("mv $R/hide ./d; cd $R; work/d/prog").under(BUILDING);
    by_a_copy => sh("cp $P ./prog; cd $R; work/prog").under(BUILDING);
    by_a_copy_of_a_copy => sh("cat $P > a; cp a b; mv b c; chmod +x c; ln c d; cd $R; work/d").under(BUILDING);
    by_a_copy_with_another_name_of_its_own => sh("install -m 755 $P ls; cd $R; PATH=work; ls").under(BUILDING);
    by_a_copy_that_may_not_run => sh("cp $P ./prog; cd $R; work/prog");
    by_a_copy_in_dev_shm => sh("p=/dev/shm/guard-$$; cp $P $p; cd $R; $p; rm -f $p");
    through_proc_root => sh("cd $R; /proc/self/root$P");
    through_proc_cwd => sh("cd $R; /proc/self/cwd/hide/prog");
    through_a_descriptor => sh("cd $R; exec 7<$P; /proc/self/fd/7");
    through_dev_fd => sh("cd $R; exec 7<$P; /dev/fd/7");
    through_o_path => python("f = os.open(P, os.O_PATH); os.set_inheritable(f, True); os.chdir(R); os.execv('/proc/self/fd/%d' % f, ['x'])");
    through_a_threads_directory => sh("cd $R; /proc/thread-self/cwd/hide/prog");
    as_another_name_says => sh("cd $R; (exec -a ls $P)");
    as_a_login_shell => sh("cd $R; (exec -l $P)");
    without_an_environment => sh("cd $R; (exec -c $P)");
    in_the_background => sh("cd $R; $P & wait");
    as_a_coprocess => sh("cd $R; coproc $P; wait");
    in_a_pipeline => sh("cd $R; true | $P | true");
    in_a_substitution => sh("cd $R; x=$($P); y=<($P)");
    in_a_trap => sh("cd $R; trap $P EXIT");
    as_a_function_that_is_missing => sh("cd $R; command_not_found_handle() { $P; }; nosuchprogram");
    as_a_prompts_command => sh("cd $R; echo | PROMPT_COMMAND=$P bash --norc -i 2>&1");
    as_an_interactive_shells_file => sh("cd $R; echo $P > work/rc; bash --rcfile work/rc -i < /dev/null 2>&1");
    as_what_bash_reads_first => sh("cd $R; echo $P > work/rc; BASH_ENV=work/rc bash -c :");
    by_the_loader => sh("cd $R; /lib64/ld-linux-x86-64.so.2 $P");
    from_memory => python("
m = os.memfd_create('x'); os.write(m, open(P, 'rb').read())
os.chdir(R); call(322, m, b'', array(b'x'), 0, 0x1000)");
    from_sealed_memory => python("
m = call(319, b'x', 0x10 | 2); os.write(m, open(P, 'rb').read())
import fcntl; fcntl.fcntl(m, 1033, 0xf); os.chdir(R); call(322, m, b'', array(b'x'), 0, 0x1000)");
    from_memory_by_its_name => python("
m = os.memfd_create('x', 0); os.write(m, open(P, 'rb').read())
os.chdir(R); os.execv('/proc/self/fd/%d' % m, ['x'])");
    from_a_nameless_file => python("
f = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o700); os.write(f, open(P, 'rb').read())
g = os.open('/proc/self/fd/%d' % f, os.O_RDONLY); os.close(f); os.chdir(R); os.execv('/proc/self/fd/%d' % g, ['x'])");
    from_a_nameless_file_where_programs_run => python("
f = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o700); os.write(f, open(P, 'rb').read())
g = os.open('/proc/self/fd/%d' % f, os.O_RDONLY); os.close(f); os.chdir(R); call(322, g, b'', array(b'x'), 0, 0x1000)").under(BUILDING);
    from_a_removed_file => sh("cp $P prog; exec 7<prog; rm prog; cd $R; /proc/self/fd/7");
    from_a_removed_file_where_programs_run => sh("cp $P prog; exec 7<prog; rm prog; cd $R; /proc/self/fd/7").under(BUILDING);
    by_the_entry_of_i386 => c("exec", "i386").natively_if(has_i386);
    by_the_entry_of_x32 => c("exec", "x32").natively_refused("the kernel has no x32");
    from_a_thread => c("exec", "thread");
    from_threads_at_once => c("exec", "threads");
    after_vfork => c("exec", "vfork");
    after_sharing_memory => c("exec", "clone-vm");
    after_sharing_everything => c("exec", "clone-files");
    after_clone3 => c("exec", "clone3");
    after_fork_by_another_number => c("exec", "fork");
    by_posix_spawn => c("exec", "spawn");
    from_a_signals_handler => c("exec", "signal");
    from_a_handler_on_another_stack => c("exec", "stack");
    from_an_exit_handler => c("exec", "exit");
    with_a_small_stack => c("exec", "limits");
    by_popen => c("exec", "popen");
    by_wordexp => c("exec", "wordexp");
    with_reads_that_imply_running => c("exec", "personality");
    behind_a_filter_of_its_own => c("exec", "filter");
    as_a_session_of_its_own => c("exec", "session");
}
