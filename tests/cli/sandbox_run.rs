//! `sandbox run` without a container: what a command there can reach, and what keeps it from starting.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_tests::{Ended, World, ended, guard};

/// A world whose openclaw.json has these settings of a sandbox. `ROOT` stands for the world, in which `work` is the
/// agent's workspace.
fn with(sandbox: &str) -> World {
    configured(World::bare(), sandbox)
}

pub fn configured(world: World, sandbox: &str) -> World {
    let root = world.root().display().to_string();
    let text = format!(
        r#"{{ agents: {{ defaults: {{ workspace: "ROOT/work", sandbox: {{ {sandbox} }} }}, list: [{{ id: "main" }}] }} }}"#
    );
    world.write("home/.openclaw/openclaw.json", text.replace("ROOT", &root));
    world.write("home/secret", "outside\n");
    world.write("work/file", "inside\n");
    world
}

/// Runs a shell command line in the sandbox.
fn run(world: &World, line: &str) -> Ended {
    run_with(world, &["--backend", "guard"], line)
}

fn run_with(world: &World, options: &[&str], line: &str) -> Ended {
    ended(world.command().args(["sandbox", "run"]).args(options).args(["--", "sh", "-c", line]))
}

fn sandboxes(world: &World) -> Vec<PathBuf> {
    let all = fs::read_dir(world.home().join(".openclaw/guard/sandboxes"));
    let mut all: Vec<_> = all.expect("sandboxes").map(|entry| entry.expect("one").path()).collect();
    all.sort();
    all
}

/// Asserts that a command did not start, and why.
fn refused(ended: &Ended, says: &str) {
    assert_eq!((ended.status, ended.stdout.as_str()), (125, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains(says), "{says}: {}", ended.stderr);
}

const ALL: &str = r#"mode: "all""#;

#[test]
fn it_has_its_own_directory_and_nothing_else() {
    let world = with(ALL);
    let line = "echo kept > x && mkdir -p d && cat x && pwd";
    let first = run(&world, line);
    let files = sandboxes(&world)[0].join("files");
    assert_eq!((first.status, first.stdout), (0, format!("kept\n{}\n", files.display())), "{}", first.stderr);
    let root = world.root().display().to_string();
    for line in [
        "cat ROOT/home/secret",
        "cat /proc/self/root/ROOT/home/secret",
        "ln -sf ROOT/home/secret link; cat link",
        "ln ROOT/home/secret hard; cat hard",
        "cat ../../../../../secret",
        "cat ../lock",
        "cat ROOT/home/.openclaw/openclaw.json",
        "cat ROOT/work/file",
        "ls ROOT/work",
        "ls ..",
        "echo x > ../x",
        "echo x > ROOT/work/new",
        "echo x > /tmp/guard-sandbox-test",
        "echo x > /dev/shm/guard-sandbox-test",
        "mv ../files ../moved",
        "rmdir ../files",
        "chmod 777 .",
        "cat /proc/1/cmdline",
    ] {
        let ended = run(&world, &line.replace("ROOT", &root));
        assert!(ended.status != 0 && ended.stdout.is_empty(), "{line}: {}{}", ended.stdout, ended.stderr);
    }
    for path in ["/tmp/guard-sandbox-test", "/dev/shm/guard-sandbox-test"] {
        assert!(!PathBuf::from(path).exists(), "{path}");
    }
    let why = ended(world.command().args(["why", "--last"]));
    assert!(
        why.stdout.contains("change the session's sandbox in openclaw.json"),
        "{}{}",
        why.stdout,
        why.stderr
    );
    let again = run(&world, "cat x; test -d d; echo $?; echo t > $TMPDIR/t && cat ~/.tmp/t");
    assert_eq!((again.status, again.stdout.as_str()), (0, "kept\n0\nt\n"), "{}", again.stderr);
    assert_eq!(fs::metadata(&files).expect("a directory").permissions().mode() & 0o777, 0o700);
}

#[test]
fn the_workspace_may_be_read_or_written_as_the_settings_say() {
    for (access, writes) in [("ro", false), ("rw", true)] {
        let world = with(&format!("{ALL}, workspaceAccess: \"{access}\""));
        let root = world.root().display().to_string();
        let read = run(&world, "pwd; cat file");
        assert_eq!(read.stdout, format!("{root}/work\ninside\n"), "{}", read.stderr);
        for line in ["echo x > new", "echo x >> file", "rm file", "mkdir d", "ln -s /etc/hosts l"] {
            let before = world.read("work/file");
            let ended = run(&world, line);
            assert_eq!(ended.status == 0, writes, "{access}: {line}: {}", ended.stderr);
            if writes {
                world.write("work/file", "inside\n");
            } else {
                assert_eq!(world.read("work/file"), before, "{line}");
            }
        }
        for line in ["mv ROOT/work ROOT/other", "cat ROOT/home/secret", "ls ROOT", "echo x > ROOT/x"] {
            let ended = run(&world, &line.replace("ROOT", &root));
            assert!(ended.status != 0 && ended.stdout.is_empty(), "{line}: {}", ended.stderr);
        }
        assert!(world.work().join("file").exists());
    }
}

#[test]
fn there_is_no_network() {
    let world = with(ALL);
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let socket = world.root().join("outside.sock");
    let _unix = UnixListener::bind(&socket).expect("a socket");
    let (tcp_port, udp_port) =
        (tcp.local_addr().expect("an address").port(), udp.local_addr().expect("an address").port());
    let tries = format!(
        r#"
import socket
def attempt(name, action):
    try:
        action()
        print(name)
    except OSError:
        pass
attempt("tcp", lambda: socket.create_connection(("127.0.0.1", {tcp_port}), 5))
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {udp_port})))
attempt("udp6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b"x", ("::1", {udp_port})))
attempt("listen", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("serve", lambda: socket.socket().listen())
attempt("bind", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.1", 0)))
attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect("{}"))
"#,
        socket.display()
    );
    let python = |world: &World| {
        let mut command = world.command();
        command.args(["sandbox", "run", "--backend", "guard", "--", "/usr/bin/python3", "-c", &tries]);
        ended(&mut command)
    };
    let none = python(&world);
    assert_eq!((none.status, none.stdout.as_str()), (0, ""), "{}", none.stderr);
    assert!(none.stderr.contains("(sandbox network \"none\")"), "{}", none.stderr);
    udp.set_nonblocking(true).expect("a socket");
    assert!(udp.recv(&mut [0; 8]).is_err(), "a datagram came out");
    // With one, the policy in force decides, and the same attempts work.
    let bridged = python(&with(&format!(r#"{ALL}, docker: {{ network: "bridge" }}"#)));
    assert!(bridged.stdout.contains("tcp\nudp\n"), "{}{}", bridged.stdout, bridged.stderr);
    assert!(!bridged.stdout.contains("unix"), "{}", bridged.stdout);
}

#[test]
fn it_is_never_wider_than_the_policy_in_force() {
    let policy = r#"{ "version": 1, "exec": { "security": "full", "ask": "off" }, "permissions": { "filesystem": {
        "rules": { SYSTEM, "@/work/**": "rw-", "@/work/kept/**": "r--" }, "deny": ["@/work/denied"] } } }"#;
    let world = configured(World::bare().policy(policy), &format!("{ALL}, workspaceAccess: \"rw\""));
    world.write("work/denied", "secret\n");
    world.write("work/kept/x", "kept\n");
    let ended = run(&world, "cat denied; echo x > kept/x; echo x > file; cat file kept/x");
    assert_eq!(ended.stdout, "x\nkept\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("denied read"), "{}", ended.stderr);

    let other = policy.replace("@/work/**", "@/elsewhere/**");
    let world = configured(World::bare().policy(&other), &format!("{ALL}, workspaceAccess: \"rw\""));
    refused(&run(&world, "true"), "/work from every command, so a sandbox cannot have it");
    let own = policy.replace("@/work/denied", "~/.openclaw/**");
    let world = configured(World::bare().policy(&own), ALL);
    refused(&run(&world, "true"), "permissions.filesystem.deny \"~/.openclaw/**\"");

    // Where an agent's workspace is by default, which no policy opens.
    let world = with(&format!("{ALL}, workspaceAccess: \"ro\""));
    let text = world.read("home/.openclaw/openclaw.json").expect("a file");
    let inside = format!("{}/home/.openclaw/workspace", world.root().display());
    let outside = format!("{}/work", world.root().display());
    world.write("home/.openclaw/openclaw.json", text.replace(&outside, &inside));
    world.write("home/.openclaw/workspace/x", "");
    refused(&run(&world, "true"), "builtin deny");
    assert!(
        run_with(&world, &["--observe", "--backend", "guard"], "true").stderr.contains("--observe denies")
    );
}

#[test]
fn a_link_is_no_workspace() {
    let world = with(&format!("{ALL}, workspaceAccess: \"rw\""));
    fs::rename(world.work(), world.root().join("real")).expect("to move it");
    symlink(world.root().join("real"), world.work()).expect("a link");
    let start = |line: &str| {
        let mut command = world.command();
        command.current_dir(world.root()).args(["sandbox", "run", "--backend", "guard"]);
        ended(command.args(["--", "sh", "-c", line]))
    };
    refused(&start("true"), "is or lies behind a symbolic link");
    fs::remove_file(world.work()).expect("the link");
    refused(&start("true"), "does not exist: make it");
    fs::write(world.work(), "").expect("a file");
    refused(&start("true"), "is no directory");
    fs::remove_file(world.work()).expect("the file");
    // A directory on the way.
    let text = world.read("home/.openclaw/openclaw.json").expect("a file");
    world.write("home/.openclaw/openclaw.json", text.replace("/work\"", "/link/work\""));
    fs::create_dir_all(world.root().join("real/work")).expect("a directory");
    symlink("real", world.root().join("link")).expect("a link");
    refused(&start("true"), "is or lies behind a symbolic link");
}

#[test]
fn no_scope_leads_out_of_its_place() {
    let world = with(&format!(r#"{ALL}, scope: "session""#));
    let long = format!("agent:main:{}", "x".repeat(10_000));
    for key in ["agent:main:../../../x", "agent:main:a/b/c", "agent:main:/etc", "agent:main:..", &long] {
        let ended = run_with(&world, &["--session-key", key, "--backend", "guard"], "pwd");
        assert_eq!(ended.status, 0, "{key}: {}", ended.stderr);
    }
    let all = sandboxes(&world);
    assert_eq!(all.len(), 5, "{all:?}");
    assert!(all.iter().all(|path| path.join("lock").is_file() && path.join("files").is_dir()), "{all:?}");
    let mut beside: Vec<_> = fs::read_dir(world.home().join(".openclaw/guard"))
        .expect("the guard's directory")
        .map(|entry| entry.expect("one").file_name().into_string().expect("a name"))
        .collect();
    beside.retain(|name| name.contains("sandbox") || name.contains('x') && !name.contains('.'));
    assert_eq!(beside, ["sandboxes"]);
    // The sessions of an agent share one, and so do all of `shared`.
    let world = with(&format!(r#"{ALL}, scope: "shared""#));
    for key in ["agent:main:a", "agent:main:b"] {
        assert_eq!(run_with(&world, &["--session-key", key, "--backend", "guard"], "true").status, 0);
    }
    assert_eq!(sandboxes(&world).len(), 1);
    assert!(sandboxes(&world)[0].ends_with("shared"));
    // A directory of another scope has another record.
    let lock = sandboxes(&world)[0].join("lock");
    fs::write(&lock, r#"{"scope":"agent:other","createdAtMs":1}"#).expect("a lock");
    refused(&run(&world, "true"), "is the directory of another scope (agent:other)");
}

#[test]
fn what_stands_in_the_place_of_its_directory_is_not_used() {
    let world = with(ALL);
    assert_eq!(run(&world, "true").status, 0);
    let own = sandboxes(&world).remove(0);
    let elsewhere = world.root().join("elsewhere");
    fs::create_dir_all(elsewhere.join("files")).expect("directories");
    for name in ["", "files"] {
        let (at, kept) = (own.join(name), world.root().join("kept"));
        fs::rename(&at, &kept).expect("to move it");
        let at = PathBuf::from(at.to_string_lossy().trim_end_matches('/'));
        symlink(&elsewhere, &at).expect("a link");
        refused(&run(&world, "echo x > x"), "for the sandbox: ");
        fs::remove_file(&at).expect("the link");
        fs::rename(&kept, &at).expect("to move it back");
    }
    assert!(!elsewhere.join("x").exists() && !elsewhere.join("files/x").exists());
    for (name, mode) in [("", 0o750), ("files", 0o707)] {
        let set =
            |mode| fs::set_permissions(own.join(name), fs::Permissions::from_mode(mode)).expect("a mode");
        set(mode);
        refused(&run(&world, "true"), "belongs to another user or lets others in");
        set(0o700);
    }
    fs::remove_file(own.join("lock")).expect("the lock");
    fs::create_dir(own.join("lock")).expect("a directory");
    refused(&run(&world, "true"), "for the sandbox: ");
}

#[test]
fn a_bind_is_at_its_own_path_and_no_link() {
    let bind = format!(r#"{ALL}, docker: {{ binds: ["ROOT/work/data:/data:ro"] }}"#);
    let world = with(&bind);
    world.write("work/data/x", "bound\n");
    let root = world.root().display().to_string();
    let ended =
        run(&world, &format!("cat {root}/work/data/x; cat {root}/work/file; echo y > {root}/work/data/y"));
    assert_eq!(ended.stdout, "bound\n", "{}", ended.stderr);
    assert!(!world.work().join("data/y").exists());
    // The settings are fine, and then the directory becomes a link.
    let check = |world: &World| guard_tests::ended(world.command().args(["sandbox", "check"])).status;
    assert_eq!(check(&world), 0);
    fs::rename(world.work().join("data"), world.root().join("data")).expect("to move it");
    symlink(world.home(), world.work().join("data")).expect("a link");
    refused(&run(&world, &format!("cat {root}/work/data/secret")), "Sandbox security: bind mount");
    fs::remove_file(world.work().join("data")).expect("the link");
    // Also one that leads to where the settings allow it.
    fs::create_dir(world.work().join("real")).expect("a directory");
    symlink("real", world.work().join("data")).expect("a link");
    refused(&run(&world, "true"), "the source of a bind, ");
}

/// Somebody swaps the directory for a link as fast as it goes, while sandboxes start.
#[test]
fn a_bind_that_becomes_a_link_meanwhile_opens_nothing() {
    let world = with(&format!(r#"{ALL}, docker: {{ binds: ["ROOT/work/data:/data:ro"] }}"#));
    let data = world.work().join("data");
    world.write("work/data/x", "bound\n");
    symlink(world.home(), world.work().join("evil")).expect("a link");
    let is_over = AtomicBool::new(false);
    let spare = world.work().join("spare");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                fs::rename(&data, &spare).expect("the directory");
                fs::rename(world.work().join("evil"), &data).expect("the link");
                fs::rename(&data, world.work().join("evil")).expect("the link");
                fs::rename(&spare, &data).expect("the directory");
            }
        });
        for _ in 0..15 {
            let line = format!("for i in 1 2 3 4 5 6 7 8; do cat {}/secret; done", data.display());
            let ended = run(&world, &line);
            assert_eq!(ended.stdout, "", "{}", ended.stderr);
            assert!(ended.status != 0, "{}", ended.stderr);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn what_check_refuses_does_not_run() {
    for (docker, says) in [
        (r#"network: "host""#, "Sandbox security: network mode \"host\" is blocked."),
        (r#"binds: ["/etc:/x"]"#, "targets blocked path \"/etc\""),
        (r#"seccompProfile: "unconfined""#, "seccomp profile \"unconfined\" is blocked"),
        (r#"env: { "A-B": "x" }"#, "Invalid container environment variable name \"A-B\""),
        (r#"memoryMb: 512"#, "memoryMb: OpenClaw does not know this key"),
        (r#"memory: "much""#, "docker.memory \"much\": docker could not read this size"),
        (r#"ulimits: { nofile: "x" }"#, "docker.ulimits.nofile: this is no number above 0"),
    ] {
        let world = with(&format!("{ALL}, docker: {{ {docker} }}"));
        refused(&run(&world, "echo ran"), says);
    }
}

#[test]
fn a_session_without_a_sandbox_needs_to_be_asked_for() {
    let world = with(r#"mode: "off""#);
    refused(&run_with(&world, &[], "echo ran"), "runs without a sandbox, since mode is off: --backend guard");
    refused(&run_with(&world, &["--backend", "docker"], "echo ran"), "runs without a sandbox");
    let ended = run(&world, "echo ran");
    assert_eq!((ended.status, ended.stdout.as_str()), (0, "ran\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("sandbox without a container (its mode is off): "), "{}", ended.stderr);
    let world = with(r#"mode: "non-main", backend: "guard""#);
    refused(&run_with(&world, &[], "echo ran"), "mode is non-main, and this is its agent's main session");
    let cron = run_with(&world, &["--session-key", "agent:main:cron:1"], "echo ran");
    assert_eq!((cron.status, cron.stdout.as_str()), (0, "ran\n"), "{}", cron.stderr);
    let world = with(&format!(r#"{ALL}, backend: "ssh""#));
    refused(&run_with(&world, &[], "true"), "the backend \"ssh\" makes no container on this machine");
}

#[test]
fn inside_a_guard_it_is_refused() {
    // The world lets every file be read and run, so only the sentence can refuse it.
    let world = configured(World::open(), ALL);
    let program = guard().display().to_string();
    let inner = [&program, "sandbox", "run", "--backend", "guard", "--", "sh", "-c", "echo ran"];
    refused(
        &world.guarded(&inner),
        "this runs inside a guard, which guards every program that you start here",
    );
    // And in a sandbox, where the guard's own program may not even be there.
    let own = with(ALL);
    let ended = run(&own, &format!("{program} sandbox run --backend guard -- echo ran"));
    assert!(ended.status != 0 && ended.stdout.is_empty(), "{}{}", ended.stdout, ended.stderr);
}

#[test]
fn its_status_is_the_commands_and_its_limits_are_the_settings() {
    let docker = r#"docker: { memory: "200m", pidsLimit: 60, cpus: 2, ulimits: { nofile: 99, nproc: 5 }, dns: ["1.1.1.1"] }"#;
    let world = with(&format!("{ALL}, {docker}"));
    let ended = run(&world, "ulimit -n; exit 7");
    assert_eq!((ended.status, ended.stdout.as_str()), (7, "99\n"), "{}", ended.stderr);
    for line in
        ["limits: memory 200M, pids 60, openFiles 99", "only a container would have: cpus, ulimits, dns"]
    {
        assert!(ended.stderr.contains(line), "{}", ended.stderr);
    }
    assert_eq!(run(&world, "kill -TERM $$").status, 128 + 15);
    let none =
        guard_tests::ended(world.command().args(["sandbox", "run", "--backend", "guard", "--", "no-such"]));
    assert_eq!(none.status, 127, "{}", none.stderr);
    // What it leaves running ends with it.
    let left = run(&world, "sleep 600 & echo $!");
    let pid = left.stdout.trim();
    guard_tests::until("its end", || !PathBuf::from(format!("/proc/{pid}")).exists());
}

#[test]
fn the_operators_variables_stay_outside() {
    let world = with(&format!(r#"{ALL}, docker: {{ env: {{ LD_PRELOAD: "/x.so", GIVEN: "yes" }} }}"#));
    let mut command = world.command();
    command.args(["sandbox", "run", "--backend", "guard", "--", "env"]);
    command.env("MY_SETTING", "1").env("DB_PASSWORD", "very secret").env("XDG_RUNTIME_DIR", "/run/user/0");
    let ended = ended(&mut command);
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    for name in ["MY_SETTING", "DB_PASSWORD", "LD_PRELOAD", "XDG_RUNTIME_DIR"] {
        assert!(!ended.stdout.contains(name), "{name}: {}", ended.stdout);
    }
    let files = sandboxes(&world)[0].join("files").display().to_string();
    for line in ["GIVEN=yes".to_owned(), format!("HOME={files}"), format!("TMPDIR={files}/.tmp")] {
        assert!(ended.stdout.lines().any(|given| given == line), "{line}: {}", ended.stdout);
    }
    assert!(ended.stderr.contains("not passed on from docker.env: LD_PRELOAD"), "{}", ended.stderr);
}
