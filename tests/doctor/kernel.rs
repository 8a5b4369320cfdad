//! What the kernel offers: each feature is taken away by a filter, as containers do.

use std::fs;

use guard_tests::{World, ended, program_text, skip, without_layers};

use super::found::{Found, Rule, behind, refused};

/// Flags of seccomp(2), linux/seccomp.h.
const WAIT_KILLABLE: u32 = 1 << 5;
/// ioctl requests of a seccomp listener and of /proc/PID/maps.
const SET_FLAGS: u32 = 0x4008_2104;
const ADD: u32 = 0x4018_2103;
const PROCMAP_QUERY: u32 = 0xc068_6611;

#[test]
fn on_this_machine_every_feature_is_found() {
    let world = World::bare();
    let found = Found::of(&world);
    // The other tests run a guard on this machine, so it has what a guard needs.
    for name in ["release", "machine", "proc", "notify", "notify-sizes", "wait-killable", "listener", "addfd"]
    {
        found.must("ok", name, "", "");
    }
    for name in ["addfd-send", "ptrace", "memory", "pidfd", "openat2", "user-namespaces"] {
        found.must("ok", name, "", "");
    }
    assert!(!found.all.iter().any(|one| one["section"] == "kernel" && one["state"] == "problem"));
    let enforced = found.named("floor");
    assert_eq!(enforced[0]["section"], "enforcement");
}

#[test]
fn features_that_a_filter_removes_are_missing() {
    let world = World::bare();
    let bits = |number, at, bits, errno| Rule { number, argument: Some((at, bits)), errno };
    let cases = [
        ("wait-killable", bits(libc::SYS_seccomp, 1, WAIT_KILLABLE, libc::EINVAL), "Linux 5.19"),
        ("notify", bits(libc::SYS_seccomp, 0, libc::SECCOMP_GET_ACTION_AVAIL, libc::EOPNOTSUPP), "Linux 5.0"),
        (
            "notify-sizes",
            bits(libc::SYS_seccomp, 0, libc::SECCOMP_GET_NOTIF_SIZES, libc::EINVAL),
            "Linux 5.0",
        ),
        ("addfd", bits(libc::SYS_ioctl, 1, ADD, libc::EINVAL), "Linux 5.9"),
        ("addfd-send", bits(libc::SYS_ioctl, 1, ADD, libc::EINVAL), "Linux 5.14"),
        ("openat2", refused(libc::SYS_openat2, libc::ENOSYS), "Linux 5.6"),
        ("ptrace", refused(libc::SYS_ptrace, libc::EPERM), "container"),
        ("memory", refused(libc::SYS_process_vm_readv, libc::EPERM), "container"),
        ("pidfd", refused(libc::SYS_pidfd_getfd, libc::EPERM), "container"),
        ("listener", bits(libc::SYS_seccomp, 0, libc::SECCOMP_SET_MODE_FILTER, libc::EPERM), "container"),
    ];
    let count = cases.len();
    for (done, (name, rule, fix)) in cases.into_iter().enumerate() {
        let found = Found::behind(&world, &[rule]);
        found.must("problem", name, "", fix);
        found.must("note", "own", "restrict this process", "");
        println!("features: {} of {count}", done + 1);
    }
}

#[test]
fn missing_features_that_only_save_time_are_warnings() {
    let world = World::bare();
    let rule = |bits, errno| Rule { number: libc::SYS_ioctl, argument: Some((1, bits)), errno };
    let found = Found::behind(&world, &[rule(SET_FLAGS, libc::EINVAL), rule(PROCMAP_QUERY, libc::ENOTTY)]);
    found.must("warning", "wake-up", "held calls take longer", "Linux 6.6");
    found.must("warning", "procmap-query", "starts take longer", "Linux 6.11");
    assert!(!found.all.iter().any(|one| one["section"] == "kernel" && one["state"] == "problem"));
    let found = Found::behind(&world, &[rule(PROCMAP_QUERY, libc::EACCES)]);
    found.must("problem", "procmap-query", "cannot be queried", "container");
}

#[test]
fn without_landlock_the_broker_is_alone() {
    for (errno, text, fix) in [
        (libc::ENOSYS, "has no Landlock", "CONFIG_SECURITY_LANDLOCK"),
        (libc::EOPNOTSUPP, "switched off", "lsm="),
    ] {
        let world = World::bare();
        let found = Found::behind(&world, &[refused(libc::SYS_landlock_create_ruleset, errno)]);
        found.must("warning", "landlock", text, fix);
        found.must("warning", "floor", "none", "Landlock");
        found.must("ok", "tiers", "broker", "");
        assert!(!found.is("ok", "tiers", "floored"));
        // The guard starts without a floor.
        assert!(!found.is("problem", "floor", "") && !found.is("problem", "landlock", ""));
    }
}

/// Older kernels: each version of Landlock, without what Linux 6.6 and 6.11 added.
#[test]
fn a_guard_works_with_each_version_of_landlock() {
    if !Found::of(&World::bare()).is("ok", "landlock", "") {
        return skip("this kernel's own Landlock is old");
    }
    for version in 0..=6 {
        let world = World::bare();
        let directory = world.home().join(".ssh");
        fs::create_dir_all(&directory).expect("a directory");
        fs::write(directory.join("id_rsa"), "TOPSECRET").expect("a file");
        let guard = || {
            let mut guard = world.command_of(&without_layers());
            guard.env("GUARD_TEST_LAYERS_OFF", format!("landlock-{version},wake-up,procmap-query"));
            guard
        };
        let line = "echo made > notes; cat notes ~/.ssh/id_rsa";
        let ran = ended(guard().args(["--", "sh", "-c", line]));
        assert_eq!((ran.stdout.as_str(), ran.status), ("made\n", 1), "version {version}: {}", ran.stderr);
        assert!(ran.stderr.contains("denied read"), "version {version}: {}", ran.stderr);

        let found = Found::read(ended(guard().args(["doctor", "--json"])));
        let (state, floor) = match version {
            0 => ("warning", "none"),
            1..=5 => ("warning", "partial"),
            _ => ("ok", "full"),
        };
        found.must(state, "floor", floor, "");
        assert_eq!(found.is("ok", "tiers", "floored"), version >= 3, "version {version}: {found:?}");
        found.must("warning", "procmap-query", "starts take longer", "Linux 6.11");
        println!("versions: {} of 7", version + 1);
    }
}

#[test]
fn a_floor_that_is_required_and_missing_is_a_problem() {
    let world = World::floored();
    let mut command = world.command();
    command.arg("--require-floor");
    let rules = [refused(libc::SYS_landlock_create_ruleset, libc::ENOSYS)];
    let found = Found::behind_command(command, &rules);
    found.must("problem", "floor", "--require-floor was given", "Linux 6.12");
}

/// A container's filter may leave pidfd_getfd out (containers-common's seccomp.json does, without CAP_SYS_PTRACE).
#[test]
fn what_needs_a_descriptor_is_denied_with_a_line_where_none_can_be_had() {
    let world = World::open();
    let mut command = behind(world.command(), &[refused(libc::SYS_pidfd_getfd, libc::ENOSYS)]);
    let script = "import socket
try: socket.socket(socket.AF_UNIX).connect('nobody')
except OSError as error: print(error.errno)";
    let ended = ended(command.args(["--", &program_text("python3"), "-c", script]));
    assert_eq!(ended.stdout, format!("{}\n", libc::EACCES), "{ended:?}");
    assert_eq!(ended.stderr.matches("forbids pidfd_getfd").count(), 1, "{ended:?}");
}

/// PR_GET_AUXV is of Linux 6.4, and /proc/self/auxv cannot be opened by a process that is not dumpable.
#[test]
fn programs_start_where_the_kernel_tells_no_auxiliary_vector() {
    const GET_AUXV: u32 = 0x4155_5856;
    let rule = Rule { number: libc::SYS_prctl, argument: Some((0, GET_AUXV)), errno: libc::EINVAL };
    let ended = ended(behind(World::open().command(), &[rule]).args(["--", "echo", "started"]));
    assert_eq!((&*ended.stdout, &*ended.stderr), ("started\n", ""));
}

#[test]
fn a_listener_of_another_program_is_in_the_way() {
    let found = Found::behind(&World::bare(), &[]);
    found.must("problem", "listener", "has a listener", "start it outside");
    assert!(!found.is("problem", "listener", "a guard above"), "{found:?}");
    assert!(found.named("addfd").is_empty(), "what it can do is not known");
}

#[test]
fn tiers_are_those_of_a_guard_that_starts() {
    let mut world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/usr"]}, "permissions": {"base": false,
            "persistence": false, "filesystem": {"rules": {"/usr/**": "r-x", "/etc/**": "r--", "@/work/**": "rw-"}}}}"#,
    );
    world.set_tiers("broker,floored,kernel");
    let found = Found::of(&world);
    if found.is("ok", "floor", "full") {
        found.must("ok", "tiers", "floored (reads and writes), kernel (reads)", "");
        found.must("note", "held-writes", "because", "");
        assert!(found.named("held-reads").is_empty());
    }
    world.set_tiers("broker");
    let found = Found::of(&world);
    found.must("ok", "tiers", "broker: ", "");
    let mut world = World::bare();
    world.set_tiers("broker,floored,kernel");
    let found = Found::of(&world);
    if found.is("ok", "floor", "full") {
        found.must("note", "held-writes", "because", "");
    }
    found.must("ok", "programs", "exec.security is allowlist", "");
    let found = Found::with(&World::open(), |_| {});
    found.must("note", "programs", "every program may start", "");
}

#[test]
fn observing_enforces_nothing() {
    let world = World::bare();
    let found = Found::with(&world, |command| {
        command.arg("--observe");
    });
    found.must("warning", "tiers", "nothing would be blocked", "--observe");
    assert!(found.named("floor").is_empty());
}
