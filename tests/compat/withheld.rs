//! What the guard withholds or answers differently, each as a minimal case: rows of docs/compatibility.md.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use guard_tests::{World, skip, words};

use crate::script::printed;

/// Returns a world whose policy has `more` as further rules.
fn with_rules(more: &str) -> World {
    World::bare().policy(&format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}},
            "permissions": {{"filesystem": {{"rules": {{SYSTEM, "/root/**": "r-x", "@/**": "rw-", {more}}}, "default": "---"}}}}}}"#
    ))
}

#[test]
fn clone3() {
    assert_eq!(printed(&World::open(), "print(error(c.syscall(435, 0, 0)))"), ["EINVAL", "ENOSYS"]);
}

#[test]
fn extended_attributes_by_the_newest_calls() {
    let found =
        printed(&World::open(), "open('f', 'w'); print(error(c.syscall(466, -100, b'f', 0, b'user.none')))");
    // Linux has these calls since 6.13.
    assert!(["ENODATA", "ENOSYS", "ENOTSUP"].contains(&&*found[0]), "{found:?}");
    assert_eq!(found[1], "ENOSYS");
}

#[test]
fn hiding_from_tracers() {
    let script = "c.prctl(4, 0, 0, 0, 0); print(c.prctl(3, 0, 0, 0, 0))";
    assert_eq!(printed(&World::open(), script), ["0", "1"]);
}

#[test]
fn domains_of_landlock() {
    let [native, guarded] = printed(&World::open(), "print(error(c.syscall(444, 0, 0, 1)))");
    assert_eq!(guarded, "ENOTSUP");
    assert!(["done", "ENOTSUP", "ENOSYS"].contains(&&*native), "{native}");
}

#[test]
fn a_terminal_that_is_opened_does_not_become_the_controlling_one() {
    let script = "m, s = pty.openpty()\nif os.fork(): os.wait()\nelse: os.setsid(); os.open(os.ttyname(s), os.O_RDWR); print(tried(os.open, '/dev/tty', os.O_RDWR))";
    assert_eq!(printed(&World::open(), script), ["done", "ENXIO"]);
}

#[test]
fn the_pid_of_a_peer() {
    let script = "s = socket.socket(1); s.bind('s%d' % os.getpid()); s.listen(); p = socket.socket(1); p.connect(s.getsockname())\n\
                  print(int.from_bytes(s.accept()[0].getsockopt(1, 17, 12)[:4], 'little') == os.getpid())";
    assert_eq!(printed(&World::open(), script), ["True", "False"]);
}

#[test]
fn the_name_of_a_socket_where_rules_differ() {
    let world = with_rules(r#""@/work/other": "---""#);
    let script = "n = './s%d' % os.getpid(); s = socket.socket(1); s.bind('../work/' + n); print(s.getsockname().split('/')[1])";
    assert_eq!(printed(&world, script), ["work", "proc"]);
}

#[test]
fn sockets_of_others() {
    let world = World::open();
    let _server = UnixListener::bind(world.root().join("socket")).expect("a socket");
    let script = "print(tried(socket.socket(1).connect, '../socket'))";
    assert_eq!(printed(&world, script), ["done", "EACCES"]);
}

#[test]
fn files_that_would_gain_rights() {
    let world = with_rules(r#""@/work/run/**": "rwx", "@/work/d/keep": "---""#);
    let script = "os.makedirs('run', exist_ok=True); os.makedirs('t', exist_ok=True); open('f', 'w')\nprint(tried(os.rename, 'f', 'run/f'), tried(os.rename, 't', 'd'))";
    assert_eq!(printed(&world, script), ["done done", "EXDEV EXDEV"].map(str::to_owned));
    fs::remove_dir_all(world.work()).expect("to clean up");
}

#[test]
fn memory_of_other_processes_cannot_be_read() {
    let world = World::open();
    let mut other = world.native_command().args(["sleep", "1000"]).spawn().expect("a process");
    let script = format!("print(tried(lambda: open('/proc/{}/environ', 'rb').read()))", other.id());
    let found = printed(&world, &script);
    other.kill().and_then(|()| other.wait()).expect("its end");
    assert_eq!(found, ["done", "EACCES"]);
}

#[test]
fn devices_that_act_on_the_machine() {
    let devices = ["/dev/fuse", "/dev/kvm", "/dev/net/tun", "/dev/loop-control", "/dev/uinput"];
    let world = World::open();
    for device in devices.into_iter().filter(|device| Path::new(device).exists()) {
        let [native, guarded] = printed(&world, &format!("print(tried(os.open, '{device}', 0))"));
        assert_eq!(guarded, "EACCES", "{device}");
        if native == "done" {
            return;
        }
    }
    skip("this user may open no device that acts on the machine");
}

#[test]
fn signals_that_cannot_be_held_from_terminals() {
    let script = "print(tried(fcntl.fcntl, os.pipe()[0], 10, 9), tried(fcntl.fcntl, os.pipe()[0], 10, 10))";
    assert_eq!(printed(&World::open(), script), ["done done", "EINVAL done"]);
}

#[test]
fn rings_of_calls() {
    let [native, guarded] = printed(&World::open(), "print(error(c.syscall(425, 1, 0)))");
    assert_eq!(guarded, "ENOSYS");
    // The machine may have it disabled (kernel.io_uring_disabled).
    assert!(["EFAULT", "EPERM", "ENOSYS"].contains(&&*native), "{native}");
}

#[test]
fn tracing() {
    assert_eq!(printed(&World::open(), "print(error(c.ptrace(0, 0, 0, 0)))"), ["done", "EPERM"]);
}

#[test]
fn standard_output_that_is_closed() {
    let world = World::open();
    let line = |runner: &str| format!("{runner} echo text >&- 2> /dev/null; echo $?");
    let [native, guarded] = [words(&world.native_command()), format!("{} --", words(&world.command()))]
        .map(|runner| world.native(&["sh", "-c", &line(&runner)]));
    assert_eq!([native.stdout, guarded.stdout], ["1\n", "0\n"]);
}
