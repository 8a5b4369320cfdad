//! Set-user-ID and set-group-ID bits: a program with one of them, left where somebody else may start it, runs with the
//! operator's rights. Each call that gives a mode tries to leave one.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use guard_tests::{TIERS, World, program_text};

use super::native;

/// Makes `made` with both bits: `c` is the C library, numbers are those of x86_64 ([`native::numbers`]).
const WAYS: &[(&str, &str)] = &[
    ("chmod", "touch(); call(90, b'made', 0o6755)"),
    ("fchmod", "call(91, touch(), 0o6755)"),
    ("fchmod, one bit", "call(91, touch(), 0o4755); call(91, touch(), 0o2755)"),
    ("fchmodat", "touch(); call(268, -100, b'made', 0o6755)"),
    ("fchmodat2", "touch(); call(452, -100, b'made', 0o6755, 0)"),
    ("fchmodat2 by descriptor", "call(452, touch(), b'', 0o6755, 0x1000)"),
    ("O_PATH", "touch(); call(452, os.open('made', os.O_PATH), b'', 0o6755, 0x1000)"),
    ("a descriptor's link", "touch(); os.chmod('/proc/self/fd/%d' % os.open('made', os.O_PATH), 0o6755)"),
    ("a link", "touch(); os.symlink('made', 'link'); call(90, b'link', 0o6755)"),
    ("upper bits", "touch(); call(90, b'made', 0o6755 | 0x7777 << 32)"),
    ("mknod", "call(133, b'made', 0o106755, 0)"),
    ("mknod without a type", "call(133, b'made', 0o6755, 0)"),
    ("mknodat", "call(259, -100, b'made', 0o106755, 0)"),
    ("creat", "call(85, b'made', 0o6755)"),
    ("open", "call(2, b'made', os.O_CREAT | os.O_WRONLY, 0o6755)"),
    ("open to read", "call(2, b'made', os.O_CREAT, 0o6755)"),
    ("openat", "call(257, -100, b'made', os.O_CREAT | os.O_RDWR, 0o6755)"),
    ("openat, absolute", "call(257, -100, os.path.abspath('made').encode(), os.O_CREAT | os.O_RDWR, 0o6755)"),
    ("openat2", "call(437, -100, b'made', struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o6755, 0), 24)"),
    (
        "O_TMPFILE",
        "f = call(257, -100, b'.', os.O_TMPFILE | os.O_RDWR, 0o6755); call(265, -100, b'/proc/self/fd/%d' % f, -100, b'made', 0x400)",
    ),
    ("moved", "os.mkdir('d'); call(85, b'd/made', 0o6755); os.rename('d/made', 'made')"),
    ("linked", "call(85, b'other', 0o6755); os.link('other', 'made')"),
];

const PRELUDE: &str = "
import ctypes, os, struct
os.umask(0)
c = ctypes.CDLL(None, use_errno=True); c.syscall.restype = ctypes.c_long
def call(number, *args):
    number, args = native(number, args)
    result = c.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
def touch(): return os.open('made', os.O_CREAT | os.O_RDWR, 0o755)
";

/// Policies under which the broker, the floor, or the kernel alone performs opens.
fn worlds() -> Vec<(String, World)> {
    let exact = r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/usr"]},
        "permissions": {"base": false, "persistence": false, "filesystem": {"rules":
            {"/usr/**": "r-x", "/etc/**": "r--", "@": "r--", "@/work/**": "rw-"}}}}"#;
    let mut worlds = vec![
        ("open".to_owned(), World::open()),
        ("exact".to_owned(), World::bare().policy(exact)),
        ("uniform".to_owned(), World::bare().policy(&exact.replace("rw-", "rwx"))),
    ];
    for tiers in TIERS {
        let mut world = World::floored();
        world.set_tiers(tiers);
        worlds.push((format!("floored, {tiers}"), world));
    }
    worlds
}

fn mode(world: &World) -> u32 {
    fs::metadata(world.work().join("made")).expect("it was made").mode() & 0o7777
}

#[test]
fn no_call_gives_them_to_a_file() {
    let python = program_text("python3");
    let script = |way: &str| format!("{}{PRELUDE}{way}\n", native::numbers());
    for (called, way) in WAYS {
        let world = World::bare();
        let native = world.native(&[&python, "-I", "-c", &script(way)]);
        assert_eq!((native.status, native.stderr.as_str()), (0, ""), "{called}");
        assert_ne!(mode(&world) & 0o6000, 0, "{called}: natively it has them");
    }
    for (name, world) in worlds() {
        for (called, way) in WAYS {
            world.reset();
            let guarded = world.guarded(&[&python, "-I", "-c", &script(way)]);
            assert_eq!(guarded.status, 0, "{name}, {called}: {}", guarded.stderr);
            assert_eq!(mode(&world), 0o755, "{name}, {called}");
        }
    }
}

/// Between a look at the bits that a file has and the change, its contents could become others.
#[test]
fn bits_that_are_there_are_not_given_again() {
    let world = World::open();
    let file = world.write("work/made", "x");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).expect("a mode");
    let ended = world.sh("chmod 4755 made");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(mode(&world), 0o755);
}

#[test]
fn removed_set_id_bits_are_reported_and_nothing_else() {
    let world = World::open();
    let ended = world
        .sh("touch made; chmod 4711 made; chmod 755 made; mkdir d; chmod 2775 d; mkfifo p; chmod 4600 p");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let lines = ended.guard_lines();
    let file = world.work().join("made");
    let expected = format!("openclaw-guard: {} gets no set-user-ID or set-group-ID bit", file.display());
    assert!(lines.len() == 1 && lines[0].starts_with(&expected), "{lines:?}");
    let logged = |line: &serde_json::Value| {
        line["verdict"] == "deny"
            && line["operation"] == "write"
            && line["path"] == file.to_str().expect("text")
    };
    assert_eq!(world.audit().iter().filter(|line| logged(line)).count(), 1);
    let mode = |name: &str| fs::metadata(world.work().join(name)).expect("it is there").mode() & 0o7777;
    assert_eq!((mode("d"), mode("p")), (0o2775, 0o4600), "nothing is started from there");
}

#[test]
fn observing_only_reports() {
    let world = World::open();
    let mut command = world.command();
    let ended =
        guard_tests::ended(command.args(["--observe", "--", "sh", "-c", "touch made; chmod 4755 made"]));
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    assert_eq!(mode(&world), 0o4755);
    assert!(world.audit().iter().any(|line| line["verdict"] == "deny" && line["operation"] == "write"));
}

/// The tools that set modes go on, with the rest of the mode.
#[test]
fn archives_and_copies_end_without_the_bits() {
    let world = World::open();
    let source = world.write("source/tool", "#!/bin/sh\n");
    fs::set_permissions(&source, fs::Permissions::from_mode(0o6755)).expect("a mode");
    let pack = "umask 022; tar -C source -cf source/a.tar tool; cd source; echo tool | cpio -oH newc > a.cpio 2> /dev/null || rm a.cpio";
    let root = world.root();
    let packed = guard_tests::ended(world.native_command().args(["sh", "-c", pack]).current_dir(&root));
    assert_eq!(packed.status, 0, "{}", packed.stderr);
    for tool in [
        "tar -xpf @/source/a.tar",
        "test ! -e @/source/a.cpio || cpio -idm < @/source/a.cpio 2> /dev/null; test -e tool || cp @/source/tool tool",
        "install -m 6755 @/source/tool tool",
        "cp @/source/tool tool; chmod ug+s tool",
        "cp -p @/source/tool tool",
        "cp -a @/source/tool tool",
        "! command -v rsync > /dev/null || rsync -a @/source/tool tool; test -e tool || cp @/source/tool tool",
    ] {
        world.reset();
        let ended = world
            .sh(&format!("set -e; umask 022; {}", tool.replace('@', root.to_str().expect("a plain path"))));
        assert_eq!(ended.status, 0, "{tool}: {}", ended.stderr);
        let others: Vec<&str> =
            ended.stderr.lines().filter(|line| !line.starts_with("openclaw-guard: ")).collect();
        assert!(others.is_empty(), "{tool}: {others:?}");
        let mode = fs::metadata(world.work().join("tool")).expect("it is there").mode() & 0o7777;
        assert_eq!(mode, 0o755, "{tool}");
    }
}
