//! The guard's own secrets, files and processes: the tree does not inherit them, and cannot touch them.

use std::process::Command;

use guard_tests::{World, ended, guard, status_of, until};

#[test]
fn tokens_are_not_passed_on() {
    let world = World::open();
    let mut command = world.command();
    command.env("OPENCLAW_HOME", world.root().join("token"));
    for name in [
        "OPENCLAW_GATEWAY_TOKEN",
        "OPENCLAW_ANYTHING",
        "CLAWDBOT_GATEWAY_TOKEN",
        "MOLTBOT_TOKEN",
        "OC_EXEC_ASK",
        "MY_GATEWAY_TOKEN",
        "GATEWAY_PASSWORD",
    ] {
        command.env(name, if name == "OC_EXEC_ASK" { "off" } else { "/token" });
    }
    let ended = ended(command.env("KEPT", "kept").env("OPENCLAW", "kept").args([
        "--",
        "sh",
        "-c",
        "env; tr '\\0' '\\n' < /proc/self/environ",
    ]));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert!(
        ended.stdout.contains("KEPT=kept\n") && ended.stdout.contains("OPENCLAW=kept\n"),
        "{}",
        ended.stdout
    );
    // OPENCLAW_CLI marks every command, and grants nothing.
    let rest = ended.stdout.replace("OPENCLAW_CLI=1\n", "");
    for stripped in ["OPENCLAW_", "CLAWDBOT", "MOLTBOT", "OC_EXEC", "token", "PASSWORD"] {
        assert!(!rest.contains(stripped), "{stripped}: {rest}");
    }
}

#[test]
fn secrets_of_the_gateway_are_not_inherited_under_any_name() {
    let world = World::open();
    let config = "{gateway: {auth: {token: '${MINE}', password: 'as good as it'}}}";
    world.write("home/.openclaw/openclaw.json", config);
    let mut command = world.command();
    command.env("MINE", "opens").env("COPY", "as good as it").env("KEPT", "kept").args(["--", "env"]);
    let ended = ended(&mut command);
    assert!(ended.status == 0 && ended.stdout.contains("KEPT=kept\n"), "{}", ended.stderr);
    assert!(!ended.stdout.contains("opens") && !ended.stdout.contains("as good"), "{}", ended.stdout);
}

#[test]
fn descriptors_above_two_are_closed() {
    let world = World::open();
    world.write("work/secret", "secret");
    let guard = guard();
    let policy = world.root().join("guard.json");
    let script = format!(
        "exec 3< secret 4> out 77< secret; exec {} --policy {} --audit ../audit.jsonl -- sh -c 'ls /proc/self/fd; cat <&3; cat <&77; echo x >&4'",
        guard.display(),
        policy.display()
    );
    let ended = world.native(&["bash", "-c", &script]);
    // Descriptor 3 is ls's own, for the directory that it lists.
    assert_eq!(ended.stdout, "0\n1\n2\n3\n", "{}", ended.stderr);
    assert_eq!(world.read("work/out").as_deref(), Some(""));
}

#[test]
fn the_guards_files_are_out_of_reach() {
    let world = World::open();
    world.write("home/.openclaw/openclaw.json", "{\"token\": \"T\"}");
    let policy = world.read("guard.json").expect("a policy");
    let ended = world.sh(
        "cd ..; cat guard.json audit.jsonl ~/.openclaw/openclaw.json; ls ~/.openclaw; echo x >> guard.json; echo x >> audit.jsonl; echo x > ~/.openclaw/new
         rm -f guard.json audit.jsonl; mv guard.json g; mv audit.jsonl a; mv ~/.openclaw o; mv ~ h; ln guard.json hard; ln -s guard.json soft; cat soft; cp guard.json copy
         chmod 777 guard.json audit.jsonl; truncate -s 0 guard.json; touch -d @1 guard.json; tar cf t.tar guard.json; mkdir ~/.openclaw/d; cat /proc/self/root$PWD/guard.json; echo end",
    );
    assert_eq!(ended.stdout, "end\n", "{}", ended.stderr);
    assert_eq!(world.read("guard.json"), Some(policy));
    assert!(world.read("audit.jsonl").is_some_and(|text| text.lines().all(|line| line.starts_with('{'))));
    for made in ["g", "a", "o", "hard", "home/.openclaw/new", "home/.openclaw/d"] {
        assert!(!world.root().join(made).exists(), "{made}");
    }
    assert!(world.root().join("home/.openclaw/openclaw.json").exists(), "still there: {}", ended.stderr);
}

#[test]
fn the_guards_processes_are_out_of_reach() {
    reach_for_the_guards_processes(&World::open());
}

#[test]
fn tracers_reach_no_further() {
    reach_for_the_guards_processes(&World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "allowPtrace": true},
            "permissions": {"filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#,
    ));
}

/// Tries every private file of the guard's processes in /proc, and every call on them.
fn reach_for_the_guards_processes(world: &World) {
    world.write(
        "work/reach.py",
        r#"
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
# Reaper, supervisor and front are the command's ancestors.
guards, pid = [], os.getppid()
for _ in range(3):
    guards.append(pid)
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
print(len(guards), "processes of the guard", all("guard" in open(f"/proc/{pid}/comm").read() for pid in guards))
for pid in guards:
    for name in "mem environ maps fd fdinfo root/etc/passwd cwd/. exe io auxv personality syscall stack ns/mnt map_files smaps pagemap".split():
        try: f = os.open(f"/proc/{pid}/{name}", os.O_RDONLY); print("OPENED", name, os.read(f, 10) if name not in ("fd", "fdinfo", "task", "map_files", "cwd/.") else os.listdir(f))
        except OSError: pass
    for name in "mem oom_score_adj comm timerslack_ns".split():
        try: os.open(f"/proc/{pid}/{name}", os.O_WRONLY); print("OPENED to write", name)
        except OSError: pass
    for sig in signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP:
        try: os.kill(pid, sig); print("SIGNALLED", sig)
        except OSError: pass
    if libc.ptrace(16, pid, 0, 0) == 0: print("TRACED")
    b = ctypes.create_string_buffer(8); v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 8)
    if libc.process_vm_readv(pid, v, 1, v, 1, 0) >= 0: print("READ")
    if libc.prlimit(pid, 7, b"\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", None) == 0: print("LIMITED")
    try: os.sched_setaffinity(pid, {0}); print("MOVED")
    except OSError: pass
    try: os.setpriority(os.PRIO_PROCESS, pid, 10); print("SLOWED")
    except OSError: pass
    try: fd = os.pidfd_open(pid); signal.pidfd_send_signal(fd, signal.SIGKILL); print("SIGNALLED by descriptor")
    except OSError: pass
    try: print("TOOK", libc.syscall(438, os.pidfd_open(pid), 0, 0) >= 0 or 0)
    except OSError: pass
print("end")
"#,
    );
    let ended = ended(world.command().args(["-q", "--", "/usr/bin/python3", "-B", "reach.py"]));
    assert_eq!(
        ended.stdout.replace("TOOK 0\n", ""),
        "3 processes of the guard True\nend\n",
        "{}",
        ended.stderr
    );
    assert_eq!(ended.status, 0);
}

#[test]
fn the_tree_has_no_way_back() {
    let world = World::open();
    let ended =
        world.sh("grep -E 'NoNewPrivs|Seccomp:|CapEff|CapPrm|CapInh|CapAmb' /proc/self/status; ulimit -c");
    // The bounding set does not matter: with no_new_privs a process gains nothing from it.
    let none = "0000000000000000";
    let expected = format!(
        "CapInh:\t{none}\nCapPrm:\t{none}\nCapEff:\t{none}\nCapAmb:\t{none}\nNoNewPrivs:\t1\nSeccomp:\t2\n0\n"
    );
    assert_eq!(ended.stdout, expected, "{}", ended.stderr);
}

#[test]
fn signals_reach_the_command() {
    let world = World::open();
    for signal in ["TERM", "INT", "HUP", "USR1", "USR2", "QUIT", "ALRM"] {
        let script = format!(
            "trap 'echo got {signal} > got; exit 9' {signal}; echo > ready; while :; do sleep 0.05; done"
        );
        let mut command = world.command();
        let mut guard = command.args(["--", "bash", "-c", &script]).spawn().expect("the guard");
        until("the command is ready", || world.work().join("ready").exists());
        // Signals the guard alone; a terminal's signals reach the whole process group anyway.
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(guard.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()));
        assert_eq!(status_of(&mut guard), 9, "{signal}");
        assert_eq!(world.read("work/got"), Some(format!("got {signal}\n")));
        world.reset();
    }
}

#[test]
fn standard_input_and_output_are_the_commands() {
    let world = World::open();
    let line = format!(
        "printf 'a\\nb\\n' | {0} --policy ../guard.json -- cat | {0} --policy ../guard.json -- sort -r; {0} --policy ../guard.json -- sh -c 'echo e >&2' 2>&1 >/dev/null; yes | {0} --policy ../guard.json -- head -2",
        guard().display()
    );
    let ended = world.native(&["bash", "-c", &line]);
    assert_eq!(ended.stdout, "b\na\ne\ny\ny\n", "{}", ended.stderr);
}

/// Each says in one sentence what to do, before it tries what the guard would deny and log.
#[test]
fn inside_a_guard_subcommands_say_where_they_work() {
    let world = World::open();
    let guard = guard().display().to_string();
    for words in [
        "why",
        "why --last",
        "allow read /srv/x",
        "deny exec curl",
        "approvals list",
        "approvals saved",
        "audit tail",
        "check ls",
        "init",
        "policy show",
        "learn -- true",
        "-- true",
    ] {
        let argv: Vec<&str> = [guard.as_str()].into_iter().chain(words.split(' ')).collect();
        // The variable would name the policy of the guard around.
        let ended = world.guarded(&[&["env", "-u", "OPENCLAW_GUARD_POLICY"][..], &argv].concat());
        assert_eq!((ended.status, &*ended.stdout), (125, ""), "{words}: {}", ended.stderr);
        let lines = ended.guard_lines();
        assert_eq!(lines.len(), 1, "{words}: {}", ended.stderr);
        assert!(lines[0].contains("this runs inside a guard, which "), "{words}: {}", ended.stderr);
    }
    assert_eq!(world.denied(), Vec::<String>::new());
    for words in [&["version"][..], &["completions", "bash"], &["policy", "schema"], &["check", "--batch"]] {
        assert_eq!(world.guarded(&[&[guard.as_str()], words].concat()).status, 0, "{words:?}");
    }
}

/// The tree learns no more than the lines that it was shown.
#[test]
fn inside_a_guard_why_tells_of_this_sessions_last_denial() {
    let world =
        World::open().policy_text(|text| text.replace("\"rules\"", r#""deny": ["@/closed/**"], "rules""#));
    world.write("closed/one", "secret");
    world.write("closed/two", "secret");
    let why = format!("env -u OPENCLAW_GUARD_POLICY {} why --last", guard().display());
    let ended = world.sh(&format!("cat ../closed/one; cat ../closed/two; {why}"));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let two = world.root().join("closed/two");
    assert_eq!(lines[0], format!("denied read {}", two.display()), "{lines:#?}");
    assert!(lines[1].starts_with("  asked by  cat "), "{lines:#?}");
    assert_eq!(lines[2..4], ["  argv[0]   cat", "  argv[1]   ../closed/two"]);
    assert!(lines[4].starts_with("  rule      permissions.filesystem.deny "), "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("  outside   openclaw-guard why --last"), "{lines:#?}");
    // Asking is no denial of its own.
    assert_eq!(world.denied().len(), 2);
    // Another session's is not told, and neither is what nobody was to be shown.
    for line in [why.clone(), format!("cat ../closed/one; {why}")] {
        let ended = guard_tests::ended(world.command().args(["-q", "--", "sh", "-c", &line]));
        assert_eq!((ended.status, &*ended.stdout), (125, ""), "{}", ended.stderr);
        assert!(ended.stderr.contains("this runs inside a guard"), "{}", ended.stderr);
    }
    // It is one text to be read: nothing can be put there, and nothing is below it or beside it.
    let name = "/.openclaw-guard/last-denial";
    let line = format!(
        "cat ../closed/one; cat {name} && for name in {name}/x {name}/ /.openclaw-guard //.openclaw-guard/last-denial; do cat $name; done; \
         exec 3<{name}; echo bad >&3; echo bad >/proc/self/fd/3; cat {name}; (echo bad > {name}) || echo no"
    );
    let ended = world.sh(&line);
    assert_eq!(ended.stdout.matches("asked by").count(), 2, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.ends_with("no\n") && !ended.stdout.contains("bad"), "{}", ended.stdout);
}
