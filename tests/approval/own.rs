//! A guarded program cannot approve its own calls.

use std::process::{Command, Stdio};

use guard_tests::{World, guard, until};

use crate::world::{path, world};

/// Returns a world that allows everything except `bin/asked` and what no policy can open.
fn permissive() -> World {
    let text = r#"{"version": 1, "exec": {"security": "allowlist", "ask": "on-miss", "carriers": ["bash", "sh"]},
        "agents": {"*": {"allowlist": [{"pattern": "/usr/**"}, {"pattern": "GUARD"}]}},
        "permissions": {"filesystem": {"rules": {"/**": "rwx"}, "default": "rwx"}}}"#;
    world().policy(&text.replace("GUARD", guard().canonicalize().expect("the guard").to_str().expect("text")))
}

/// Runs an attack while `bin/asked` waits, and checks that the question stays pending.
fn in_vain(world: &World, attack: &str) -> String {
    let home = path(world, "home");
    let attack = attack.replace("HOME", &home).replace("GUARD", guard().to_str().expect("a path"));
    let held =
        world.start(&["bash", "-c", &format!("{} x & {attack}; echo over; wait", path(world, "bin/asked"))]);
    let asked = world.wait_for(1).remove(0);
    world.write("work/go", "");
    until("the attack is over", || held.stdout().contains("over"));
    assert_eq!(world.pending(), std::slice::from_ref(&asked), "{attack}");
    assert_eq!(world.resolve(&asked, "deny").status, 0);
    let ended = held.end();
    assert!(!ended.stdout.contains("x\n"), "{attack}: {}", ended.stdout);
    ended.stdout + &ended.stderr
}

#[test]
fn attack_by_the_command_line() {
    let world = permissive();
    let output = in_vain(
        &world,
        "until [ -e go ]; do sleep 0.05; done; GUARD approvals list; GUARD approvals list --json; GUARD approvals watch --json & sleep 0.5; kill %2",
    );
    assert!(!output.contains("bin/asked  ") && !output.contains("\"id\""), "{output}");
}

#[test]
fn attack_by_the_socket() {
    let world = permissive();
    let code = r#"
import glob, json, os, socket, time
while not os.path.exists('go'): time.sleep(0.05)
run = 'HOME/.openclaw/guard/run'
def ways():
    yield run
    yield '/proc/self/root' + run
    yield '/proc/thread-self/root' + run
    os.chdir('HOME'); yield '.openclaw/guard/run'
    yield '../there'
    os.symlink(run, 'there'); yield 'there'
found = 0
def tried(ways):
    while True:
        try: yield next(ways)
        except (PermissionError, StopIteration): return
for way in tried(ways()):
    try:
        names = os.listdir(way)
    except OSError:
        names = ['%d.sock' % pid for pid in range(os.getppid() - 40, os.getpid())]
    for name in names:
        try:
            peer = socket.socket(socket.AF_UNIX); peer.settimeout(2)
            peer.connect(way + '/' + name)
            peer.sendall(b'{"version": 1, "method": "list"}\n')
            found += len(peer.recv(10))
        except OSError:
            pass
print('found', found)
"#;
    world.write("work/attack.py", code.replace("HOME", &path(&world, "home")));
    // The tree's own link there is refused.
    std::os::unix::fs::symlink(world.home().join(".openclaw/guard/run"), world.root().join("there")).unwrap();
    let output = in_vain(&world, "/usr/bin/python3 attack.py");
    assert!(output.contains("found 0\n"), "{output}");
}

#[test]
fn attack_by_the_files() {
    let world = permissive();
    let state = "HOME/.openclaw";
    let output = in_vain(
        &world,
        &format!(
            "until [ -e go ]; do sleep 0.05; done; echo '{{}}' > {state}/exec-approvals.json; echo '{{}}' > {state}/guard/approvals.json; \
             mv {state} HOME/other; ln {state}/guard/approvals.json stolen; cat {state}/guard/*; rm -rf {state}; \
             mkdir -p {state}/guard; chmod 777 {state}"
        ),
    );
    assert!(!world.home().join(".openclaw/exec-approvals.json").exists(), "{output}");
    assert!(!world.home().join(".openclaw/guard/approvals.json").exists(), "{output}");
    assert!(world.home().join(".openclaw/guard/run").exists() && !world.work().join("stolen").exists());
}

#[test]
fn attack_by_the_guards_own_processes() {
    let world = permissive();
    let attack = "until [ -s pids ]; do sleep 0.05; done; for p in $(cat pids); do kill -CONT $p; kill -USR1 $p; kill -KILL $p; cat /proc/$p/environ /proc/$p/mem; \
                  ls /proc/$p/fd; done";
    let line = format!("{} x & {attack}; echo over; wait", path(&world, "bin/asked"));
    // The guard's processes are the front and the one that the question names.
    let held = world.start(&["bash", "-c", &line]);
    let asked = world.wait_for(1).remove(0);
    let pids = format!("{} {}", held.pid(), asked["guard"]);
    world.write("work/pids", pids);
    until("the attack is over", || held.stdout().contains("over"));
    assert_eq!(world.pending(), std::slice::from_ref(&asked));
    assert_eq!(world.resolve(&asked, "deny").status, 0);
    assert_eq!(held.end().stdout, "over\n");
}

#[test]
fn attack_by_a_process_that_left_its_parents() {
    let world = permissive();
    let code = format!(
        "import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
while not os.path.exists('go'): time.sleep(0.05)
os.system('{} approvals list --json > listed 2>&1; echo done >> listed')",
        guard().display()
    );
    world.write("work/leave.py", code);
    in_vain(&world, "/usr/bin/python3 leave.py; sleep 1.5");
    until("it has tried", || world.read("work/listed").is_some_and(|text| text.ends_with("done\n")));
    assert!(!world.read("work/listed").expect("a file").contains("\"id\""));
}

#[test]
fn a_guard_that_is_killed_lets_nothing_go() {
    let world = world();
    let held =
        world.start(&["bash", "-c", &format!("{} x; echo $?; cat /etc/hostname", path(&world, "bin/asked"))]);
    let asked = world.wait_for(1).remove(0);
    let pid = asked["guard"].to_string();
    let killed = Command::new("kill").args(["-KILL", &pid]).stdin(Stdio::null()).status();
    assert!(killed.is_ok_and(|status| status.success()));
    let ended = held.end();
    assert_eq!(ended.status, 125, "{ended:?}");
    std::thread::sleep(std::time::Duration::from_millis(500));
    let output = world.read("out.0").unwrap_or_default();
    assert!(!output.contains('x'), "{output}");
    assert_eq!(world.pending().len(), 0, "a socket without a guard is nothing");
}
