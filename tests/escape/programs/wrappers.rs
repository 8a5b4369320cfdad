//! Programs whose purpose is to start others.

use crate::attempt::{attacks, sh};

attacks! {
    env => sh("cd $R; env A=1 $P");
    env_split => sh("cd $R; env -S \"$P x\"");
    env_empty => sh("cd $R; env -i $P");
    env_elsewhere => sh("env -C $R $P");
    nice => sh("cd $R; nice $P");
    nohup => sh("cd $R; nohup $P");
    timeout => sh("cd $R; timeout 9 $P");
    stdbuf => sh("cd $R; stdbuf -o0 $P");
    setsid => sh("cd $R; setsid -w $P");
    xargs => sh("cd $R; echo x | xargs $P");
    xargs_of_a_name => sh("cd $R; echo $P | xargs env");
    xargs_in_parallel => sh("cd $R; printf 'a\\nb\\n' | xargs -P2 -n1 $P");
    find => sh("cd $R; find work -maxdepth 0 -exec $P \\;");
    find_with_many => sh("cd $R; find work -maxdepth 0 -exec $P {} +");
    find_and_run => sh("cd $R; find hide -name prog -exec {} \\;");
    find_in_the_directory => sh("cd $R; find . -maxdepth 0 -execdir $P \\;");
    time => sh("cd $R; time $P");
    time_as_a_program => sh("cd $R; /usr/bin/time $P").needs(&["time"]).natively_if(|| std::path::Path::new("/usr/bin/time").exists());
    command => sh("cd $R; command $P; builtin command $P; command -p $P");
    eval => sh("cd $R; eval $P");
    shell => sh("cd $R; sh -c $P");
    login_shell => sh("cd $R; bash -lc $P");
    restricted_shell => sh("cd $R; PATH=$R/hide /usr/bin/bash -rc prog");
    shell_in_shells => sh("cd $R; sh -c \"sh -c \\\"sh -c $P\\\"\"");
    dash => sh("cd $R; dash -c $P").needs(&["dash"]);
    busybox => sh("cd $R; busybox sh -c $P").needs(&["busybox"]);
    busybox_env => sh("cd $R; busybox env $P").needs(&["busybox"]);
    busybox_under_another_name => sh("cd $R; (exec -a sh busybox -c $P)").needs(&["busybox"]);
    busybox_find => sh("cd $R; busybox find work -maxdepth 0 -exec $P \\;").needs(&["busybox"]);
    script => sh("cd $R; script -qec $P /dev/null").needs(&["script"]);
    watch => sh("cd $R; TERM=linux script -qec \"timeout --foreground 1 watch -x $P\" /dev/null").needs(&["watch", "script"]);
    flock => sh("cd $R; flock work/lock $P").needs(&["flock"]);
    flock_shell => sh("cd $R; flock work/lock -c $P").needs(&["flock"]);
    ionice => sh("cd $R; ionice -c3 $P").needs(&["ionice"]);
    taskset => sh("cd $R; taskset 1 $P").needs(&["taskset"]);
    chrt => sh("cd $R; chrt -i 0 $P").needs(&["chrt"]);
    setarch => sh("cd $R; setarch x86_64 $P").needs(&["setarch"]);
    setarch_without_randomness => sh("cd $R; setarch -R $P").needs(&["setarch"]);
    setpriv => sh("cd $R; setpriv --no-new-privs $P").needs(&["setpriv"]);
    prlimit => sh("cd $R; prlimit --nofile=64 $P").needs(&["prlimit"]);
    choom => sh("cd $R; choom -n 0 -- $P").needs(&["choom"]);
    unshare => sh("cd $R; unshare $P").needs(&["unshare"]);
    start_stop_daemon => sh("cd $R; start-stop-daemon --start -d $R --pidfile $R/work/pid --exec $P").needs(&["start-stop-daemon"]);
    run_parts => sh("mkdir d; ln -s $P d/a; cd $R; run-parts work/d").needs(&["run-parts"]);
    split => sh("cd $R; split --filter=$P work/file");
    sort => sh("cd $R; seq 300000 | sort -R -S 64k -T work --compress-program=$P > /dev/null");
    sudo => sh("cd $R; sudo -n $P").needs(&["sudo"]).natively_refused("no_new_privs");
    su => sh("cd $R; su -c $P").natively_refused("no privileges");
    chroot => sh("cd $R; chroot / $P").natively_refused("it needs CAP_SYS_CHROOT");
    nsenter => sh("cd $R; nsenter -t $$ -m $P").needs(&["nsenter"]).natively_refused("it needs CAP_SYS_ADMIN");
    parallel => sh("cd $R; parallel ::: $P").needs(&["parallel"]);
    tmux => sh("cd $R; tmux -S work/socket -f /dev/null new -d $P; for i in {1..50}; do [ ! -e work/escaped ] || break; sleep 0.1; done; tmux -S work/socket kill-server").needs(&["tmux"]);
    a_daemon => sh("cd $R; (setsid sh -c \"setsid $P\" > /dev/null 2>&1 &); for i in {1..50}; do [ ! -e work/escaped ] || break; sleep 0.1; done");
}
