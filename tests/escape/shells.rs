//! What a command line hides: the guard judges programs and files when they are used, so the text of a
//! command line cannot mislead it.

use crate::attempt::{Outside, attacks, python, sh};
use guard_tests::Arena;

/// Builds a library in `hide/`, readable but not executable, that leaves the mark when it is loaded.
fn library(arena: &Arena) -> Outside {
    arena.world.write(
        "made/library.c",
        "#include <fcntl.h>\n#include <stdlib.h>\n#include <stdio.h>\n__attribute__((constructor)) static void mark(void) {\
         char name[4096]; snprintf(name, sizeof name, \"%swork/escaped\", getenv(\"R\")); open(name, O_CREAT | O_WRONLY, 0600); }\n",
    );
    let source = arena.root().join("made/library.c");
    let target = arena.root().join("hide/library.so");
    let mut command = std::process::Command::new("cc");
    command.args(["-w", "-shared", "-fPIC", "-o"]).arg(target).arg(source);
    assert!(command.status().is_ok_and(|status| status.success()), "no library");
    Box::new(())
}

attacks! {
    a_substitution => sh("echo $(cat $S) `cat $S`");
    a_substitution_by_the_shell_itself => sh("echo $(<$S)");
    a_substitution_in_quotes => sh("echo \"a$(cat \"$S\")b\"");
    a_quoted_name => sh("c\"a\"t $'\\x24S' 2>/dev/null; $'c\\x61t' \"$S\"");
    a_word_of_other_separators => sh("IFS=,; c=cat,$S; $c");
    a_pattern => sh("cat $R/s*t/f?l[e]");
    braces => sh("{cat,$R/{shut,only}/file}");
    a_history_of_options => sh("set -- cat $S; \"$@\"");
    a_here_document => sh("bash <<'X'\ncat $S\nX");
    a_here_string => sh("bash <<< 'cat $S'");
    a_process_of_input => sh("cat <(cat $S)");
    a_process_of_output => sh("echo x > >(tee $R/shut/new); sleep .1");
    a_coprocess => sh("coproc cat $S; cat <&${COPROC[0]}");
    an_evaluation => sh("a='cat'; eval \"$a \\$S\"");
    an_alias => sh("shopt -s expand_aliases\nalias ls='cat $S'\nls");
    a_function_of_that_name => sh("ls() { command cat $S; }; ls");
    a_function_handed_on => sh("x() { cat $S; }; export -f x; bash -c x");
    a_background_job => sh("cat $S & wait");
    a_continued_line => sh("ca\\\nt $S");
    a_trap => sh("trap 'cat $S' EXIT");
    a_trap_before_each_command => sh("trap 'cat $S' DEBUG; true");
    a_command_that_is_not_found => sh("command_not_found_handle() { cat $S; }; nothing-of-that-name");
    a_remembered_place => sh("hash -p $P ls; cd $R; ls");
    another_first_argument => sh("cd $R; exec -a ls $P");
    a_prompt_command => sh("PROMPT_COMMAND='cat $S' bash --norc -i </dev/null");
    a_startup_file => sh("echo 'cat $S' > rc; BASH_ENV=rc bash -c :");
    a_startup_file_of_sh => sh("echo 'cat $S' > rc; ENV=./rc sh -i </dev/null");
    a_builtin_from_a_file => sh("enable -f $R/hide/library.so x; true").with(library);
    a_library_before_all_others => sh("LD_PRELOAD=$R/hide/library.so /bin/true").with(library);
    a_library_that_watches => sh("LD_AUDIT=$R/hide/library.so /bin/true").with(library);
    a_library_by_python => python("ctypes.CDLL(R + 'hide/library.so')").with(library);
    a_library_by_perl => sh("perl -MDynaLoader -e 'DynaLoader::dl_load_file(\"$ENV{R}hide/library.so\")'").with(library);
    a_library_by_make => sh("printf 'load $(R)hide/library.so\\nall:\\n' > Makefile; make").with(library);
    an_editor_of_git => sh("git init -q r; cd r; GIT_EDITOR='cat $S >&2;:' git -c user.name=a -c user.email=a commit -q --allow-empty");
    an_alias_of_git => sh("git -c alias.x='!cat $S' x");
    an_external_difference => sh("git init -q r; cd r; echo a > a; git add a; echo b > a; GIT_EXTERNAL_DIFF='cat $S;:' git diff");
    a_filter_of_git => sh("git init -q r; cd r; git config filter.x.clean 'cat $S'; echo '* filter=x' > .gitattributes; echo a > a; git add a; git cat-file -p :a");
    a_hook_of_git => sh("git init -q r; cd r; printf '#!/bin/sh\\ncat $S\\n' > h; chmod +x h; mkdir hooks; cp h hooks/pre-commit; git -c core.hooksPath=$PWD/hooks -c user.name=a -c user.email=a commit -q --allow-empty -m x").under(crate::attempt::BUILDING);
    a_way_of_git_to_connect => sh("GIT_SSH_COMMAND='cat $S >&2; false' git clone -q ssh://host/x");
    a_link_in_a_repository => sh("git init -q r; cd r; ln -s $S link; git add link; git -c user.name=a -c user.email=a commit -q -m x; cd ..; git clone -q r c; cat c/link");
    an_editor_without_a_screen => sh("vim -u NONE -i NONE -n -es -c 'r !cat $S' -c 'w! out' -c q; cat out");
    an_editor_that_reads => sh("vim -u NONE -i NONE -n -es -c 'e $S' -c 'w! out' -c q; cat out");
    an_editor_that_writes => sh("vim -u NONE -i NONE -n -es -c 'w! $R/shut/new' -c q file");
    make_s_own_function => sh("printf '$(info $(shell cat $(S)))\\nall:\\n' > Makefile; make");
    make_s_file => sh("printf '$(info $(file <$(S)))\\nall:\\n' > Makefile; make");
    make_that_writes => sh("printf '$(file >$(R)shut/new,x)\\nall:\\n' > Makefile; make");
    xargs => sh("echo $S | xargs -I{} cat {}");
    find_that_runs => sh("find $R/shut -name file -exec cat {} +; find . -maxdepth 0 -exec cat $S \\;");
    find_that_removes => sh("find $R/only/file -delete");
    find_that_writes => sh("find . -maxdepth 0 -fprintf $R/shut/new x");
    sort_that_writes => sh("sort -o $R/shut/new file");
    sort_by_a_part_of_an_option => sh("cd $R; seq 300000 | sort -S 100k --comp=$P -T work > /dev/null");
    sort_that_reads => sh("sort $S; sort --files0-from=<(printf '%s\\0' $S)");
    tee => sh("echo x | tee -a $O");
    dd_that_writes => sh("dd if=file of=$O conv=notrunc status=none");
    dd_that_reads => sh("dd if=$S status=none");
    install_ => sh("install -m 600 file $R/shut/new");
    sed_in_place => sh("sed -i s/k/x/ $O");
    sed_that_writes => sh("sed \"w $R/shut/new\" file");
    sed_that_runs => sh("sed '1e cat $S' file");
    sed_that_reads => sh("sed \"r $S\" file");
    awk_that_writes => sh("awk -v o=$R/shut/new 'BEGIN { print \"x\" > o }'");
    awk_that_runs => sh("awk 'BEGIN { system(\"cat $S\"); \"cat $S\" | getline x; print x }'");
    perl_in_place => sh("perl -pi -e s/k/x/ $O");
    perl_that_opens => sh("perl -e 'open F, \"cat $ENV{S}|\"; print <F>; open F, $ENV{S}; print <F>'");
    perl_s_options => sh("PERL5OPT=-MFile::Copy perl -e 'copy($ENV{S}, \"out\")'; cat out");
    python_s_startup => sh("echo 'print(open(\"'$S'\").read())' > startup; PYTHONSTARTUP=startup python3 -i -c '' </dev/null; PYTHONINSPECT=1 PYTHONSTARTUP=startup python3 </dev/null; python3 startup");
    tar_that_runs => sh("tar cf t --checkpoint=1 --checkpoint-action=exec='cat $S >&2' file; tar xf t --to-command='cat $S >&2'");
    tar_elsewhere => sh("echo x > new; tar cf t new; tar xf t -C $R/shut");
    tar_with_names_that_go_up => sh("mkdir d; echo x > new; tar cPf t --transform 's,^,../shut/,' new; tar xPf t");
    tar_with_links => sh("ln -s $R/shut l; tar cf t l; mkdir l2; echo x > l2/new; tar rf t --transform 's,l2,l,' l2/new; rm -r l; tar xf t --keep-directory-symlink; tar xPf t");
    tar_s_options => sh("echo x > new; TAR_OPTIONS=\"-C $R/shut\" tar cf t file; cd $R/shut && tar xf $R/work/t");
    a_zip_with_names_that_go_up => python("
import zipfile
with zipfile.ZipFile('z', 'w') as z: z.writestr('../shut/new', 'x')
with zipfile.ZipFile('z') as z:
    for name in z.namelist(): open(name, 'wb').write(z.read(name))");
    a_tar_with_absolute_names => python("
import io, tarfile
with tarfile.open('t', 'w') as t: t.addfile(tarfile.TarInfo(R + 'shut/new'), io.BytesIO(b''))
tarfile.open('t').extractall(**({'filter': 'fully_trusted'} if hasattr(tarfile, 'data_filter') else {}))");
    a_patch_of_another_file => sh("printf -- '--- a\\n+++ b\\n@@ -1 +1 @@\\n-kept\\n\\\\ No newline at end of file\\n+x\\n' > p; patch -s $O p");
    a_redirection => sh(": >> $R/shut/new; : <> $O; echo x 1<> $O");
    a_redirection_of_a_descriptor => sh("exec 7>$R/shut/new; echo x >&7");
    a_variable_of_files => sh("mapfile -t a < $S; echo ${a[@]}; read -r a < $S; echo $a");
    a_response_file => sh("echo $S > names; wc --files0-from=<(printf '%s\\0' $S) && cat $(<names)");
    a_directive_of_jq => sh("jq -n --rawfile a $S '$a'; jq -Rn 'input' $S").needs(&["jq"]);
    a_file_that_is_compared => sh("diff $S file; cmp -l $S file; comm $S file");
    a_source => sh(". $S");
    a_dictionary => sh("grep -f $S file; grep '' $S");
    a_list_of_times => sh("date -f $S; touch -r $S file; cat $S");
    a_shell_in_a_shell => sh("env -S 'bash -c \"exec nice nohup timeout 5 setsid -w cat ${S}\"'");
    a_busy_box => sh("busybox sh -c 'busybox cat $S'").needs(&["busybox"]);
    a_line_editor => sh("printf 'r %s\\n,p\\nQ\\n' $S | ed -s file").needs(&["ed"]);
    a_copy_that_is_synchronised => sh("rsync -a $S out; cat out; rsync -a --rsync-path='cat $S >&2;:' -e 'bash -c' file x:y").needs(&["rsync"]);
}
