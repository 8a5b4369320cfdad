//! Programs that may not run do not run, under any name and by any caller.

use guard_tests::{Ended, LOADER, World};

/// Returns a world where system programs may run, with copies of one program in places of different rules.
fn world() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/**": "rwx", "@/denied/**": "---", "@/data/**": "rw-", "@/readable/**": "r--"}, "default": "---"}}}"#,
    );
    for directory in ["denied", "data", "readable", "work"] {
        let program = world.write(format!("{directory}/prog"), std::fs::read("/bin/echo").expect("echo"));
        mode(&program, 0o755);
        let script = world.write(format!("{directory}/script"), "#!/bin/sh\necho script ran\n");
        mode(&script, 0o755);
    }
    world
}

fn mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("to change a mode");
}

/// Asserts that a program was refused with EACCES and a line for the operator, and that nothing ran.
fn assert_refused(ended: &Ended, path: &str) {
    assert_eq!(ended.stdout, "", "{}", ended.stderr);
    assert_ne!(ended.status, 0);
    assert!(ended.stderr.contains("Permission denied"), "{}", ended.stderr);
    assert!(ended.guard_lines().iter().any(|line| line.contains(path)), "{path}: {}", ended.stderr);
}

#[test]
fn programs_and_scripts_where_nothing_may_run() {
    let world = world();
    for directory in ["denied", "data", "readable"] {
        for name in ["prog", "script"] {
            let path = format!("{}/{directory}/{name}", world.root().display());
            assert_refused(&world.sh(&format!("exec {path} hello")), &path);
            assert_refused(&world.sh(&format!("exec env {path} hello")), &path);
            assert_refused(&world.sh(&format!("cd ../{directory}; exec ./{name} hello")), &path);
            assert_refused(&world.sh(&format!("ln -sf {path} link; exec ./link hello")), &path);
            let guarded = world.guarded(&["bash", "-c", &format!("exec -a innocent {path} hello")]);
            assert_refused(&guarded, &path);
            assert_refused(
                &world.guarded(&["perl", "-e", &format!("exec '{path}', 'hello' or die qq($!\n)")]),
                &path,
            );
        }
    }
    assert_eq!(world.sh("./prog hello; ./script").stdout, "hello\nscript ran\n");
}

#[test]
fn the_first_command_is_judged_like_any_other() {
    let world = world();
    let path = format!("{}/denied/prog", world.root().display());
    let ended = world.guarded(&[&path]);
    assert_eq!((ended.status, &*ended.stdout), (126, ""), "{}", ended.stderr);
}

#[test]
fn a_script_whose_interpreter_may_not_run() {
    let world = world();
    for (name, line) in [
        ("one", "#!@/denied/prog x\n".to_owned()),
        ("two", "#!@/work/one y\n".to_owned()),
        ("env", "#!/usr/bin/env -S @/denied/prog z\n".to_owned()),
    ] {
        let text = line.replace('@', world.root().to_str().expect("a plain path"));
        mode(&world.write(format!("work/{name}"), text), 0o755);
        let ended = world.sh(&format!("exec ./{name}"));
        assert_refused(&ended, "denied/prog");
    }
}

#[test]
fn the_loader_runs_nothing_that_may_not_run() {
    let world = world();
    let root = world.root();
    let loader = LOADER;
    assert!(std::path::Path::new(loader).exists(), "{loader} is needed by the tests");
    for directory in ["denied", "data", "readable"] {
        for options in ["", "--argv0 echo ", "--library-path /usr/lib "] {
            let ended = world.sh(&format!("{loader} {options}{}/{directory}/prog hello", root.display()));
            assert_eq!(ended.stdout, "", "{directory} {options}: {}", ended.stderr);
            assert_ne!(ended.status, 0);
        }
    }
    // A program that may run, in a place that the tree cannot change.
    let native = world.native(&["readlink", "-f", "/bin/echo"]).stdout;
    assert_eq!(world.sh(&format!("{loader} {} by loader", native.trim())).stdout, "by loader\n");
    let fine =
        world.sh(&format!("{loader} --list {} >/dev/null && {loader} --version | head -c 2", native.trim()));
    assert_eq!(fine.status, 0, "{}", fine.stderr);
}

/// This world allows reading every file, so `--list` works, but it still runs nothing.
#[test]
fn a_loader_that_lists_does_not_run() {
    let world = World::open();
    let loader = LOADER;
    mode(&world.write("work/prog", std::fs::read("/bin/echo").expect("echo")), 0o755);
    for line in
        [format!("{loader} --list ./prog hello"), format!("LD_TRACE_LOADED_OBJECTS=1 {loader} ./prog hello")]
    {
        let ended = world.sh(&line);
        assert!(
            ended.stdout.contains("libc.so") && !ended.stdout.contains("hello"),
            "{line}: {}",
            ended.stdout
        );
    }
    let ended = world.sh(&format!("{loader} ./prog hello"));
    assert_eq!(ended.guard_lines().len(), 1, "what may change is not run: {}", ended.stderr);
}

#[test]
fn a_copy_runs_where_copies_may_run_and_nowhere_else() {
    let world = world();
    // This program may not be read, so there is no copy.
    assert_eq!(world.sh("cp ../denied/prog mine && ./mine copied").stdout, "");
    assert!(
        !world.work().join("mine").exists() || world.read("work/mine").is_some_and(|text| text.is_empty())
    );
    // This one may be read and not run. Its copy is another program, in a place where everything may run: to
    // keep a program from running, a policy must deny reading it, too.
    assert_eq!(world.sh("cp ../readable/prog mine && ./mine copied").stdout, "copied\n");
    // mv copies the program and removes the original, so the moved file may run.
    assert_eq!(
        world.sh("mv ../data/prog moved && ./moved x; ls ../data").stdout,
        "x\nscript\n",
        "copied, then removed"
    );
    assert_eq!(world.sh("ln ../readable/prog hard && ./hard x").stdout, "");
    assert!(!world.work().join("hard").exists());
}

#[test]
fn a_file_that_is_no_program_fails_as_natively_before_rights_are_checked() {
    let world = world();
    let native = world.native(&["sh", "-c", "../denied/none; ../denied; ../denied/none/x; /; true"]);
    let guarded = world.guarded(&["sh", "-c", "../denied/none; ../denied; ../denied/none/x; /; true"]);
    assert_eq!(guarded.stderr, native.stderr);
}

#[test]
fn a_program_that_cannot_be_read_is_refused() {
    let world = world();
    let program = world.write("work/unreadable", std::fs::read("/bin/echo").expect("echo"));
    mode(&program, 0o111);
    assert_eq!(world.native(&["./unreadable", "hello"]).stdout, "hello\n", "natively it runs");
    let path = program.display().to_string();
    assert_refused(&world.sh("exec ./unreadable hello"), &path);
    assert!(world.sh("./unreadable").stderr.contains("chmod +r"));
}

/// Maps a file without PROT_EXEC, and then adds it: by the address, and by addresses with a tag in the upper bits, which some
/// processors ignore (Documentation/arch/arm64/tagged-address-abi.rst, Documentation/arch/x86/x86_64/mm.rst).
const REMAP: &str = r"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
READ, CODE, PRIVATE = 1, 4, 2
at = libc.mmap(None, ctypes.c_size_t(4096), READ, PRIVATE, os.open(sys.argv[1], os.O_RDONLY), ctypes.c_size_t(0))
for tag in [0] + [1 << bit for bit in range(56, 64)] + [0x7f << 56, 0xff << 56, 0x3f << 57]:
    libc.mprotect(ctypes.c_void_p(at | tag), ctypes.c_size_t(4096), READ | CODE)
    libc.pkey_mprotect(ctypes.c_void_p(at | tag), ctypes.c_size_t(4096), READ | CODE, -1)
mine = [line for line in open('/proc/self/maps') if line.startswith('%x-' % at)]
print(mine[0].split()[1])
";

#[test]
fn a_file_that_is_only_readable_does_not_become_code() {
    let world = world();
    let file = world.root().join("readable/prog");
    let remap = ["/usr/bin/python3", "-c", REMAP, file.to_str().expect("UTF-8")];
    assert_eq!(world.native(&remap).stdout, "r-xp\n");
    let guarded = world.guarded(&remap);
    assert_eq!(guarded.stdout, "r--p\n", "{}", guarded.stderr);
}

#[test]
fn a_program_for_another_machine() {
    let world = world();
    let mut image = std::fs::read("/bin/echo").expect("echo");
    // e_machine: aarch64 instead of x86-64, or the other way round.
    let foreign: u16 = if cfg!(target_arch = "aarch64") { 62 } else { 183 };
    image[18..20].copy_from_slice(&foreign.to_le_bytes());
    mode(&world.write("work/foreign", image), 0o755);
    let ended = world.guarded(&["perl", "-e", "exec './foreign' or die qq($!\n)"]);
    assert_ne!(ended.status, 0);
    assert_eq!(ended.guard_lines().len(), 1, "{}", ended.stderr);
}

/// The floor's right to start programs belongs to the directory that was there when the guard started.
#[test]
fn a_root_of_programs_that_is_made_anew_is_named() {
    if guard_tests::lacks_floor() {
        return guard_tests::skip("the floor is not in force");
    }
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/usr", "/bin", "/lib", "/lib64", "@/work/tools"]},
            "permissions": {"filesystem": {"rules": {SYSTEM, "@/work/**": "rwx"}, "default": "---"}}}"#,
    );
    let line = "put() { mkdir tools; cp /bin/true tools/t; }; put; tools/t && echo first; mv tools old; put; tools/t || echo refused
        rm -r tools; mv old tools; tools/t && echo back";
    std::fs::create_dir(world.work().join("tools")).expect("a directory");
    let ended = world.sh(&line.replacen("mkdir tools;", "mkdir -p tools;", 1));
    assert_eq!(ended.stdout, "first\nrefused\nback\n", "{}", ended.stderr);
    let named = "tools is another directory than when the guard started; start the guard anew";
    assert!(ended.guard_lines().iter().any(|line| line.contains(named)), "{}", ended.stderr);
}
