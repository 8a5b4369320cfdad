//! Paths that refer to the caller: /proc/self, /dev/fd, /dev/stdin, /dev/tty.

use guard_tests::World;

#[test]
fn proc_self_is_the_caller() {
    let same = World::open().same_script(
        r#"
        cat /proc/self/comm; readlink /proc/self/exe; readlink /proc/self/cwd; tr '\0' ' ' < /proc/self/cmdline; echo
        head -1 /proc/self/status; ls /proc/self/fd | grep -x [012]; test "$(readlink /proc/self)" -gt 1; cat /proc/thread-self/comm
        echo renamed > /proc/self/comm; cat /proc/$$/comm; cat /proc/$$/task/$$/comm
        wc -l < /proc/self/maps >/dev/null; grep -c VmSize /proc/self/status; echo 500 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj
        wc -l < /proc/mounts; head -1 /proc/net/dev; cat /proc/self/limits | head -1; cat /proc/sys/kernel/ostype; cmp /proc/cpuinfo /proc/cpuinfo
        cd /proc/self/root/usr && pwd -P; head -c4 /proc/self/exe | od -c | head -1; cat /proc/self/cwd/../../etc/hostname >/dev/null; cat /proc/self/environ | tr '\0' '\n' | grep ^HOME
        cat /proc/self/root/proc/self/comm /proc/self/task/../comm"#,
        &[],
    );
    assert!(same.native.stdout.starts_with("cat\n"), "{}", same.native.stdout);
}

#[test]
fn descriptors_by_name() {
    let same = World::open().same_script(
        r#"
        echo in | cat /dev/stdin; echo out > /dev/stdout; echo err 2>&1 > /dev/stderr; echo file > f
        cat /dev/stdin < f; cat /dev/fd/0 < f; cat /proc/self/fd/0 < f; exec 3<f; cat /dev/fd/3; exec 3>g; echo via > /dev/fd/3; cat g
        cat <(echo substituted) <(echo twice); echo x | tee /dev/stderr /dev/fd/1 > o 2>&1; cat o; tee >(cat > p) < f > /dev/null; until cmp -s p f; do sleep 0.05; done; cat p
        set +e; cat /dev/fd/99; cat /proc/self/fd/99; cat /dev/fd/; echo > /dev/fd/99; cat /dev/fd/3; exec 3>&-; cat /dev/fd/3
        echo a > h; exec 5<h; rm h; cat /dev/fd/5; exec 5<>h; echo grown > /proc/self/fd/5; cat h; ls -l /dev/fd/5 | sed 's/.*-> //'
        : | cat /dev/fd/0; cat /dev/null; head -c3 /dev/zero | od -c; test -c /dev/urandom && head -c5 /dev/urandom | wc -c; echo full > /dev/full; true"#,
        &[],
    );
    assert!(same.native.stdout.contains("substituted\ntwice\n"), "{}", same.native.stdout);
}

#[test]
fn terminals_of_its_own() {
    let same = World::open().same_script(
        r#"
        script -qec 'tty | sed s/[0-9]*$//; echo typed > /dev/tty; test -t 0 && echo terminal; stty -a | head -1; sh -c "echo child > /dev/tty"' /dev/null < /dev/null
        set +e; sh -c 'echo x > /dev/tty' 2>&1 | sed 's/.*: //'; setsid -w cat /dev/tty; true"#,
        &[],
    );
    assert!(same.native.stdout.contains("terminal"), "{}", same.native.stdout);
}
