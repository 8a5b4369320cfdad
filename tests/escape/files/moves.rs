//! Names that are moved, exchanged and replaced.

use crate::attempt::{attacks, python, sh};

attacks! {
    renamed_over => sh("mv -T file $O");
    renamed_away => sh("mv $S stolen; cat stolen");
    renamed_away_by_the_oldest_call => python("call(82, S.encode(), b'stolen'); tell(open('stolen', 'rb').read())");
    renamed_away_by_directories => python("
d = os.open(R, os.O_PATH); call(264, d, b'shut/file', d, b'work/stolen'); tell(open('stolen', 'rb').read())");
    renamed_away_through_a_link => sh("ln -s ../shut link; mv link/file stolen; cat stolen");
    renamed_within => sh("mv $S $R/shut/other");
    renamed_in => sh("mv file $R/only/new");
    renamed_in_through_a_link => sh("ln -s ../only link; mv file link/new");
    exchanged => python("call(316, -100, S.encode(), -100, b'file', 2); tell(open('file', 'rb').read())");
    exchanged_the_other_way => python("call(316, -100, b'file', -100, S.encode(), 2); tell(open('file', 'rb').read())");
    exchanged_to_plant => python("call(316, -100, b'file', -100, O.encode(), 2)");
    exchanged_with_a_directory => python("os.mkdir('d'); call(316, -100, b'd', -100, b'../shut', 2); tell(open('d/file', 'rb').read())");
    exchanged_with_a_link => python("os.symlink('x', 'l'); call(316, -100, b'l', -100, O.encode(), 2)");
    exchanged_with_upper_bits => python("call(316, -100, S.encode(), -100, b'file', 0x100000002); tell(open('file', 'rb').read())");
    moved_where_nothing_is => python("call(316, -100, S.encode(), -100, b'stolen', 1); tell(open('stolen', 'rb').read())");
    moved_in_where_nothing_is => python("call(316, -100, b'file', -100, (R + '/only/new').encode(), 1)");
    moved_and_left_a_whiteout => python("call(316, -100, S.encode(), -100, b'stolen', 4); tell(open('stolen', 'rb').read())");
    the_directory_moved => sh("mv $R/shut stolen; cat stolen/file");
    the_directory_moved_and_replaced => sh("mv $R/only gone; mkdir $R/only; echo x > $R/only/file");
    a_directory_over_an_empty_one => sh("mkdir d; echo x > d/x; mv -T d $R/shut/dir");
    the_arena_moved => sh("r=${R%/}; mv $r $r.moved; cat $r.moved/shut/file; mv $r.moved $r");
    the_workspace_moved_away => sh("cd $R; mv work shut/work 2>/dev/null; mv work only/work");
    removed_by_the_oldest_call => python("call(87, O.encode())");
    removed_by_a_directory => python("call(263, os.open('../only', os.O_PATH), b'file', 0)");
    removed_through_a_link => sh("ln -s ../only link; rm link/file");
    removed_in_the_directory => sh("cd $R/only; rm -f file");
    removed_whole => sh("rm -rf $R/only");
    an_empty_directory_removed_by_unlinkat => python("call(263, os.open('../shut', os.O_PATH), b'dir', 0x200)");
    a_directory_made_by_a_descriptor => python("os.mkdir('new', dir_fd=os.open('../only', os.O_PATH))");
    a_directory_made_through_a_link => sh("ln -s ../only link; mkdir link/new");
    a_directory_made_with_a_slash => sh("mkdir $R/only/new/");
    directories_made_at_once => sh("mkdir -p $R/shut/a/b/c");
    a_link_made_by_a_descriptor => python("os.symlink('x', 'new', dir_fd=os.open('../only', os.O_PATH))");
    a_fifo_made_by_a_descriptor => python("os.mkfifo('new', dir_fd=os.open('../only', os.O_PATH))");
    a_home_planted => sh("mkdir $HOME/.ssh; echo x > $HOME/.bashrc");
}
