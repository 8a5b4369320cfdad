//! Device nodes of the machine.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::Command;

use guard_tests::{World, ended, is_root, program_text, skip};

/// A node of an unpacked system, in a directory that the floor grants as a whole.
#[test]
fn a_device_outside_dev_is_no_file() {
    if !is_root() {
        return skip("only root makes a device node");
    }
    // fuse and a loop device that nothing uses: to open them has no effect.
    for (name, kind, major, minor) in [("fuse", "c", "10", "229"), ("loop", "b", "7", "253")] {
        for tiers in ["broker", "broker,floored"] {
            let mut world = World::bare().policy(
                r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
                    "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "r--"}}}}"#,
            );
            world.set_tiers(tiers);
            let node = world.work().join(name);
            let made = ended(Command::new("mknod").arg(&node).args([kind, major, minor]));
            assert_eq!(made.status, 0, "{}", made.stderr);
            std::os::unix::fs::symlink(name, world.work().join("link")).expect("a link");
            world.write("work/file", "file");
            for path in [name, "link", node.to_str().expect("a plain path")] {
                let opened = world.sh(&format!("cat file; exec 3< {path} && echo opened"));
                assert_eq!(opened.stdout, "file", "{tiers} {path}: {}", opened.stderr);
                assert!(opened.stderr.contains("denied read"), "{}", opened.stderr);
            }
        }
    }
}

/// Write access to a device does not allow a caller to remove or change it for everybody else.
#[test]
fn a_device_that_may_be_written_stays_as_it_is() {
    if !is_root() {
        return skip("only root makes a device node");
    }
    // A node of this test's own beside the machine's; it behaves as /dev/null.
    let device = format!("/dev/guard-test-{}", std::process::id());
    let made = ended(Command::new("mknod").args(["-m", "666", &device, "c", "1", "3"]));
    assert_eq!(made.status, 0, "{}", made.stderr);
    let world = World::bare().policy(&format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}},
            "permissions": {{"filesystem": {{"rules": {{SYSTEM, "{device}": "rw-", "{device}.new": "rw-", "@/work/**": "rw-"}}}}}}}}"#
    ));
    let program = format!(
        r#"
import os
device = "{device}"
def op(call, *rest):
    try: call(*rest); print("done")
    except OSError as error: print(error.errno)
open("f", "w").close()
op(lambda: open(device, "w").write("x"))
op(os.unlink, device)
op(os.rename, device, device + ".new")
op(os.rename, "f", device)
op(os.chmod, device, 0)
op(os.chown, device, 1000, 1000)
op(os.utime, device, (1, 1))
op(os.mknod, device + ".new", 0o10600)
op(os.unlink, device + ".new")
"#
    );
    let ended = world.guarded(&[&program_text("python3"), "-I", "-B", "-c", &program]);
    let meta = fs::symlink_metadata(&device);
    fs::remove_file(&device).expect("our own device");
    let _ = fs::remove_file(format!("{device}.new"));
    let meta = meta.expect("it is there");
    assert_eq!(ended.stdout, "done\n13\n13\n13\n13\n13\n13\ndone\ndone\n", "{}", ended.stderr);
    assert!(meta.file_type().is_char_device());
    assert_eq!((meta.mode() & 0o777, meta.uid()), (0o666, 0));
    assert!(ended.stderr.contains("a device of the machine"), "{}", ended.stderr);
}
