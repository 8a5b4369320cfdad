//! Everyday tools that start the programs they are given.

use crate::attempt::{attacks, python, sh};
use guard_tests::number;

attacks! {
    make => sh("printf 'all:\\n\\t%s\\n' $P > m; cd $R; make -f work/m").needs(&["make"]);
    make_in_a_function => sh("printf 'X := $(shell %s)\\nall:\\n' $P > m; cd $R; make -f work/m").needs(&["make"]);
    make_as_its_shell => sh("printf 'SHELL = %s\\nall:\\n\\t@echo $$x;\\n' $P > m; cd $R; make -f work/m").needs(&["make"]);
    git_alias => sh("cd $R; git -c alias.x=\"!$P\" x").needs(&["git"]);
    git_pager => sh("cd $R; script -qec \"git -c core.pager=$P help -a\" /dev/null").needs(&["git", "script"]);
    git_editor => sh("git init -q r; cd r; git -c user.name=a -c user.email=a@b -c core.editor=\"cd $R; $P;\" commit --allow-empty").needs(&["git"]);
    git_hook => sh("git init -q r; mkdir h; printf '#!/bin/sh\\ncd $R; $P\\n' > h/pre-commit; chmod +x h/pre-commit; cd r; git -c user.name=a -c user.email=a@b -c core.hooksPath=../h commit -q --allow-empty -m x").under(crate::attempt::BUILDING).needs(&["git"]);
    git_difference => sh("git init -q r; cd r; echo a > f; git add f; echo b > f; GIT_EXTERNAL_DIFF=\"cd $R; $P;\" git diff").needs(&["git"]);
    git_watcher => sh("git init -q r; cd r; git -c core.fsmonitor=\"cd $R; $P\" status").needs(&["git"]);
    git_connection => sh("cd $R; GIT_SSH_COMMAND=$P git ls-remote ssh://nobody@localhost/x").needs(&["git"]);
    git_credentials => sh("cd $R; echo url=https://localhost | git -c credential.helper=\"!$P\" credential fill").needs(&["git"]);
    git_filter => sh("git init -q r; cd r; echo 'f filter=x' > .gitattributes; echo a > f; git -c filter.x.clean=\"cd $R; $P\" add f").needs(&["git"]);
    git_upload => sh("cd $R; git ls-remote --upload-pack=$P work").needs(&["git"]);
    git_external_transport => sh("cd $R; git -c protocol.ext.allow=always ls-remote ext::$P").needs(&["git"]);
    git_bisection => sh("git init -q r; cd r; for i in 1 2 3; do git -c user.name=a -c user.email=a@b commit -q --allow-empty -m $i; done; git bisect start HEAD HEAD~2; git bisect run sh -c \"cd $R; $P\"").needs(&["git"]);
    git_submodules => sh("git init -q r; cd r; git -c user.name=a -c user.email=a@b rebase --root -x \"cd $R; $P\"; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git -c user.name=a -c user.email=a@b rebase -q --root -x \"cd $R; $P\"").needs(&["git"]);
    tar_checkpoint => sh("cd $R; tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=$P work");
    tar_to_a_command => sh("tar cf t.tar file; cd $R; tar xf work/t.tar --to-command=$P");
    tar_compressor => sh("cd $R; tar cf work/t.tar -I $P work/file");
    tar_volumes => sh("cd $R; head -c 30000 /dev/zero > work/z; tar cMf work/t.tar -L 10 -F $P work/z");
    rsync_shell => sh("cd $R; rsync -e $P work/file x:").needs(&["rsync"]);
    ssh_proxy => sh("cd $R; ssh -F none -o ProxyCommand=$P x").needs(&["ssh"]);
    ssh_match => sh("echo \"Match exec $P\" > c; cd $R; ssh -F work/c x").needs(&["ssh"]);
    scp => sh("cd $R; scp -S $P work/file x:").needs(&["scp"]);
    sftp => sh("cd $R; sftp -S $P x").needs(&["sftp"]);
    vim => sh("cd $R; vim -es -u NONE -c \"!$P\" -c q").needs(&["vim"]);
    vim_function => sh("cd $R; vim -es -u NONE -c \"call system('$P')\" -c q").needs(&["vim"]);
    vim_mode_line => sh("cd $R; printf 'x\\n' > work/f; ex -s -u NONE -c \"r !$P\" -c q! work/f").needs(&["ex"]);
    ed => sh("cd $R; echo \"!$P\" | ed -s").needs(&["ed"]);
    less => sh("cd $R; LESSOPEN=\"|$P %s\" less work/file").needs(&["less"]);
    awk => sh("cd $R; awk 'BEGIN { system(ENVIRON[\"P\"]) }'");
    awk_pipe => sh("cd $R; awk 'BEGIN { ENVIRON[\"P\"] | getline; print | ENVIRON[\"P\"] }'");
    sed => sh("cd $R; sed \"1e $P\" work/file");
    sed_flag => sh("cd $R; echo $P | sed 's/^//e'");
    perl => sh("cd $R; perl -e 'exec $ENV{P}'").needs(&["perl"]);
    perl_system => sh("cd $R; perl -e 'system {$ENV{P}} \"ls\"'").needs(&["perl"]);
    perl_open => sh("cd $R; perl -e 'open F, \"$ENV{P}|\"; `$ENV{P}`'").needs(&["perl"]);
    perl_by_number => sh(concat!("cd $R; perl -e 'syscall ", number!(execve), ", $ENV{P}, pack(\"pQ\", \"x\", 0), 0'")).needs(&["perl"]);
    python_exec => python("os.chdir(R); os.execv(P, ['x'])");
    python_spawn => python("os.chdir(R); os.posix_spawn(P, ['x'], {}); os.wait()");
    python_process => python("import subprocess; subprocess.run([P], cwd=R)");
    python_shell => python("os.chdir(R); os.system(P)");
    python_pool => python("
import multiprocessing
os.chdir(R); p = multiprocessing.get_context('fork').Process(target=os.execv, args=(P, ['x'])); p.start(); p.join()");
    python_terminal => python("import pty; os.chdir(R); pty.spawn([P])");
    node => sh("cd $R; node -e 'require(\"child_process\").spawnSync(process.env.P)'").needs(&["node"]);
    node_shell => sh("cd $R; node -e 'require(\"child_process\").execSync(process.env.P)'").needs(&["node"]);
    node_as_node => sh("cd $R; node -e 'require(\"child_process\").fork(\"x\", {execPath: process.env.P}).on(\"error\", () => {})'").needs(&["node"]);
    node_execve => sh("cd $R; node -e 'process.execve(process.env.P, [\"x\"], {})'").needs(&["node"]).natively_if(has_node_execve);
    npm => sh("mkdir n; cd n; printf '{\"scripts\": {\"x\": \"cd $R; $P\"}}' > package.json; npm_config_cache=$R/work/cache npm_config_update_notifier=false npm run -s x").needs(&["npm"]);
    gdb => sh("cd $R; gdb -nx -batch -ex \"shell $P\"").needs(&["gdb"]);
    gdb_debugs => sh("cd $R; gdb -nx -batch -ex run $P").needs(&["gdb"]);
    strace => sh("cd $R; strace -o /dev/null $P").needs(&["strace"]);
    compiler_wrapper => sh("echo > x.c; cd $R; cc -wrapper $P -c work/x.c -o work/x.o").needs(&["cc"]);
    compiler_directory => sh("mkdir b; ln -s $P b/cc1; ln -s $P b/as; echo > x.c; cd $R; cc -B $R/work/b -c work/x.c -o work/x.o").needs(&["cc"]);
    compiler_path => sh("mkdir b; ln -s $P b/as; echo > x.c; cd $R; COMPILER_PATH=$R/work/b cc -c work/x.c -o work/x.o").needs(&["cc"]);
    tcl => sh("cd $R; echo 'exec $env(P)' | tclsh").needs(&["tclsh"]);
    ruby => sh("cd $R; ruby -e 'exec ENV[\"P\"]'").needs(&["ruby"]);
    php => sh("cd $R; php -r 'system(getenv(\"P\"));'").needs(&["php"]);
    sqlite => sh("cd $R; sqlite3 :memory: \".shell $P\"").needs(&["sqlite3"]);
    sqlite_pipe => sh("cd $R; sqlite3 :memory: \".once |$P\" 'select 1'").needs(&["sqlite3"]);
    curl_is_no_shell => sh("cd $R; curl -s file://$P -o work/p; chmod +x work/p; work/p").needs(&["curl"]);
    install_strip => sh("cd $R; install -s --strip-program=$P work/file work/x");
    dpkg_pager => sh("cd $R; script -qec \"PAGER=$P dpkg -l\" /dev/null").needs(&["dpkg", "script"]);
    cargo_runner => sh("mkdir -p c/src; cd c; printf '[package]\\nname = \"x\"\\nversion = \"0.1.0\"\\n' > Cargo.toml; echo 'fn main() {}' > src/main.rs; cd $R; CARGO_HOME=$R/work/home RUSTC_WRAPPER=$P cargo build --offline --manifest-path work/c/Cargo.toml").needs(&["cargo"]);
}

fn has_node_execve() -> bool {
    let ask = ["-e", "process.exit(process.execve ? 0 : 1)"];
    guard_tests::ended(std::process::Command::new(guard_tests::program("node")).args(ask)).status == 0
}
