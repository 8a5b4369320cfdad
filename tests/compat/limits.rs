//! What a process has no more of, and what directories hand down.

use guard_tests::{World, program_text};

fn same_python(source: &str) -> String {
    let world = World::open();
    let prepare = |world: &World| drop(world.write("work/t.py", source));
    let same = world.same(prepare, &[&program_text("python3"), "-B", "t.py"], &[]);
    assert_eq!(same.native.status, 0, "the program itself: {}", same.native.stderr);
    same.native.stdout
}

/// The kernel takes the descriptor before it looks at the path: without one, nothing is made, cut or waited for.
#[test]
fn without_a_descriptor_nothing_is_made() {
    let out = same_python(
        r#"
import os, errno, resource
def attempt(path, flags):
    try: return os.close(os.open(path, flags, 0o600))
    except OSError as e: return errno.errorcode[e.errno]
open("kept", "w").write("kept"); os.mkdir("d"); os.mkfifo("p"); here = os.getcwd()
paths = [("new", os.O_CREAT | os.O_WRONLY), ("kept", os.O_TRUNC | os.O_WRONLY), ("kept", os.O_RDONLY), ("missing", os.O_RDONLY), ("", os.O_RDONLY), ("x" * 5000, 0), ("new", os.O_CREAT | os.O_EXCL | os.O_RDONLY),
         (here + "/new", os.O_CREAT | os.O_RDWR), ("d", os.O_TMPFILE | os.O_RDWR), ("p", os.O_WRONLY), ("kept/x", 0), ("d/../new", os.O_CREAT | os.O_RDWR)]
resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
found = [attempt(*p) for p in paths]
os.close(2); found += [attempt("kept", os.O_RDONLY), attempt("made", os.O_CREAT | os.O_WRONLY)]
os.open("kept", 0); found.append(attempt("new", os.O_CREAT | os.O_WRONLY))
print(found); print(os.path.exists("new"), os.stat("kept").st_size, os.path.exists("made"))
"#,
    );
    assert!(out.contains("['EMFILE', 'EMFILE', 'EMFILE', 'EMFILE', 'ENOENT', 'ENAMETOOLONG',"), "{out}");
    assert!(out.ends_with("False 4 True\n"), "{out}");
}

#[test]
fn default_acls_are_handed_down() {
    let out = same_python(
        r#"
import os, struct
def acl(*entries): return struct.pack("I", 2) + b"".join(struct.pack("HHI", *entry) for entry in entries)
none = 0xffffffff
def show(name):
    lists = {a: os.getxattr(name, "system.posix_acl_" + a).hex() for a in ("access", "default") if "system.posix_acl_" + a in os.listxattr(name)}
    print(name, oct(os.stat(name).st_mode), lists)
for kind, default in ("wide", acl((1, 7, none), (2, 6, 4242), (4, 5, none), (16, 7, none), (32, 0, none))), ("plain", acl((1, 6, none), (4, 4, none), (32, 4, none))):
    os.mkdir(kind); os.chmod(kind, 0o777); os.setxattr(kind, "system.posix_acl_default", default); here = os.getcwd()
    for mask in 0o022, 0o077, 0:
        os.umask(mask); at = f"{kind}/{mask:o}"
        os.mkdir(at + "d", 0o777); os.mkfifo(at + "p", 0o666); os.mknod(at + "n", 0o100640)
        for name, flags in ("f", os.O_CREAT | os.O_WRONLY), ("x", os.O_CREAT | os.O_EXCL | os.O_RDWR):
            os.close(os.open(at + name, flags, 0o666)); os.close(os.open(f"{here}/{at}{name}2", flags, 0o777))
        fd = os.open(kind, os.O_TMPFILE | os.O_RDWR, 0o666); show(fd); os.close(fd)
        for name in "d", "p", "n", "f", "f2", "x", "x2": show(at + name)
"#,
    );
    assert!(out.contains("'default'"), "{out}");
}
