//! What a start needs besides `x`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use guard_tests::World;

/// A program can read its own file, so one without `r` that the tree may write would give away what it is written over.
#[test]
fn a_program_over_the_beginning_of_a_file_does_not_print_the_rest() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/"]}, "permissions": {"persistence": false, "filesystem": {
            "rules": {SYSTEM, "@/work/**": "rwx", "@/closed/**": "-wx", "@/fixed/**": "--x"}, "default": "---"}}}"#,
    );
    for name in ["closed/file", "fixed/file"] {
        let program = fs::read("/bin/echo").expect("echo");
        let path = world.write(name, [program, b"secret".to_vec()].concat());
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let root = world.root().display().to_string();
    let over =
        format!("dd if=/bin/echo of={root}/closed/file conv=notrunc status=none && {root}/closed/file ran");
    let ended = world.guarded(&["bash", "-c", &over]);
    assert_eq!((ended.status, &*ended.stdout), (126, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("denied exec"), "{}", ended.stderr);
    // What the tree cannot write is what the operator put there.
    let ended = world.guarded(&[&format!("{root}/fixed/file"), "ran"]);
    assert_eq!(ended.stdout, "ran\n", "{}", ended.stderr);
}
