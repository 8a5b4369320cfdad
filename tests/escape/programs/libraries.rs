//! Code that is not a program: loaders, libraries, plugins. Mapping it needs `x`, and an allowed program
//! gains no rights from it.

use guard_tests::Arena;

use crate::attempt::{BUILDING, Outside, attacks, python, sh};

/// Builds `hide/library.so`, which may be read but not run.
fn a_library(arena: &Arena) -> Outside {
    arena.build("library", "hide/library.so", &["-shared", "-fPIC"]);
    Box::new(())
}

/// Builds `work/library.so`, which may be run where the policy lets built files run.
fn a_library_of_ones_own(arena: &Arena) -> Outside {
    arena.build("library", "work/library.so", &["-shared", "-fPIC"]);
    Box::new(())
}

/// Builds `work/loaded`, a program whose loader may not run.
fn a_program_with_such_a_loader(arena: &Arena) -> Outside {
    let flag = format!("-Wl,--dynamic-linker={}", arena.root().join("hide/prog").display());
    arena.build("show", "work/loaded", &[&flag]);
    Box::new(())
}

/// Builds programs that name the same loader by a link, and by a path relative to the current directory.
fn programs_with_linked_loaders(arena: &Arena) -> Outside {
    let link = arena.root().join("work/loader");
    std::os::unix::fs::symlink("../hide/prog", &link).expect("a link");
    arena.build("show", "work/linked", &[&format!("-Wl,--dynamic-linker={}", link.display())]);
    arena.build("show", "work/relative", &["-Wl,--dynamic-linker=hide/prog"]);
    Box::new(())
}

attacks! {
    the_loader_by_a_link => sh("ln -s /lib64/ld-linux-x86-64.so.2 l; cd $R; work/l $P");
    the_loader_by_a_copy => sh("cp /lib64/ld-linux-x86-64.so.2 l; cd $R; work/l $P").under(BUILDING);
    the_loader_by_its_own_name => sh("cd $R; /usr/bin/ld.so $P").natively_if(|| std::path::Path::new("/usr/bin/ld.so").exists());
    the_loader_with_a_name => sh("cd $R; /lib64/ld-linux-x86-64.so.2 --argv0 true $P");
    the_loader_with_a_path => sh("cd $R; /lib64/ld-linux-x86-64.so.2 --library-path work --inhibit-cache $P");
    the_loader_with_a_mask => sh("cd $R; /lib64/ld-linux-x86-64.so.2 --glibc-hwcaps-mask x $P");
    the_loader_from_its_directory => sh("cd $R; ln -s $P p; d=$PWD; /lib64/ld-linux-x86-64.so.2 ./hide/prog");
    the_loader_by_a_linked_program => sh("ln -s $P p; cd $R; /lib64/ld-linux-x86-64.so.2 work/p");
    the_loader_of_a_copy => sh("cp $P p; cd $R; /lib64/ld-linux-x86-64.so.2 work/p");
    the_loader_of_a_descriptor => sh("exec 7<$P; cd $R; /lib64/ld-linux-x86-64.so.2 /proc/self/fd/7");
    the_loader_under_another_name => sh("cd $R; (exec -a cat /lib64/ld-linux-x86-64.so.2 $P)");
    the_loader_by_a_descriptor => python("
f = os.open('/lib64/ld-linux-x86-64.so.2', os.O_RDONLY); os.chdir(R); call(322, f, b'', array(b'ld.so', P.encode()), 0, 0x1000)");
    the_loader_of_a_loader => sh("cd $R; /lib64/ld-linux-x86-64.so.2 /lib64/ld-linux-x86-64.so.2 $P").natively_refused("it cannot load itself");
    the_loader_of_env => sh("cd $R; /lib64/ld-linux-x86-64.so.2 /usr/bin/env $P");
    the_loader_of_a_shell => sh("cd $R; /lib64/ld-linux-x86-64.so.2 /usr/bin/bash -c $P");
    a_denied_loader => sh("cd $R; work/loaded").under(BUILDING).with(a_program_with_such_a_loader);
    a_denied_loader_by_a_link => sh("cd $R; work/linked").under(BUILDING).with(programs_with_linked_loaders);
    a_denied_loader_by_a_relative_name => sh("cd $R; work/relative").under(BUILDING).with(programs_with_linked_loaders);
    a_denied_loader_by_the_loader => sh("cd $R; /lib64/ld-linux-x86-64.so.2 work/loaded; work/loaded").under(BUILDING).with(a_program_with_such_a_loader);
    preloaded => sh("MARK=1 LD_PRELOAD=$R/hide/library.so cat /dev/null").with(a_library);
    preloaded_by_the_loader => sh("MARK=1 /lib64/ld-linux-x86-64.so.2 --preload $R/hide/library.so /usr/bin/true").with(a_library);
    audited => sh("MARK=1 LD_AUDIT=$R/hide/library.so cat /dev/null").with(a_library);
    found_by_a_path => sh("cp $R/hide/library.so .; MARK=1 LD_LIBRARY_PATH=. python3 -I -c 'import ctypes; ctypes.CDLL(\"library.so\")'").with(a_library);
    found_by_a_linked_path => sh("ln -s $R/hide d; MARK=1 LD_LIBRARY_PATH=d python3 -I -c 'import ctypes; ctypes.CDLL(\"library.so\")'").with(a_library);
    opened => python("os.environ['MARK'] = '1'; ctypes.CDLL(R + '/hide/library.so')").with(a_library);
    opened_by_a_link => python("os.environ['MARK'] = '1'; os.symlink('../hide/library.so', 'l.so'); ctypes.CDLL('./l.so')").with(a_library);
    opened_by_a_copy => python("os.environ['MARK'] = '1'; import shutil; shutil.copy(R + '/hide/library.so', 'l.so'); ctypes.CDLL('./l.so')").with(a_library);
    opened_by_a_descriptor => python("os.environ['MARK'] = '1'; f = os.open(R + '/hide/library.so', os.O_RDONLY); ctypes.CDLL('/proc/self/fd/%d' % f)").with(a_library);
    as_a_builtin_of_bash => sh("export MARK=1; enable -f $R/hide/library.so x").with(a_library);
    as_a_module_of_perl => sh("MARK=1 perl -MDynaLoader -e 'DynaLoader::dl_load_file(\"$ENV{R}/hide/library.so\", 0)'").with(a_library).needs(&["perl"]);
    as_an_extension_of_sqlite => sh("MARK=1 sqlite3 :memory: \".load $R/hide/library.so\"").with(a_library).needs(&["sqlite3"]);
    as_a_plugin_of_the_linker => sh("MARK=1 ld -plugin $R/hide/library.so -o x /dev/null").with(a_library).needs(&["ld"]);
    as_a_plugin_of_the_compiler => sh("echo > x.c; MARK=1 cc -fplugin=$R/hide/library.so -c x.c").with(a_library).needs(&["cc"]);
    as_a_provider_of_openssl => sh("MARK=1 openssl list -providers -provider-path $R/hide -provider library").with(a_library).needs(&["openssl"]);
    as_an_addon_of_node => sh("cp $R/hide/library.so l.node; MARK=1 node -e 'process.dlopen({exports: {}}, process.env.R + \"/work/l.node\")'").with(a_library).needs(&["node"]);
    /// An allowed program that loads the tree's own code gets no more rights than the tree.
    reads_nothing_more_preloaded => sh("LD_PRELOAD=./library.so cat /dev/null").with(a_library_of_ones_own).under(BUILDING);
    reads_nothing_more_preloaded_by_the_loader => sh("/lib64/ld-linux-x86-64.so.2 --preload ./library.so /usr/bin/true").with(a_library_of_ones_own).under(BUILDING);
    reads_nothing_more_audited => sh("LD_AUDIT=./library.so cat /dev/null").with(a_library_of_ones_own).under(BUILDING);
    reads_nothing_more_opened => python("ctypes.CDLL('./library.so')").with(a_library_of_ones_own).under(BUILDING);
    reads_nothing_more_in_git => sh("LD_PRELOAD=./library.so git --version").with(a_library_of_ones_own).under(BUILDING).needs(&["git"]);
}
