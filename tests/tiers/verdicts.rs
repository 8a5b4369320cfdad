//! Calls whose verdict needs more than the floor.

use guard_tests::{World, has_floor};

use super::{has_untrapped_reads, in_each_tier, python, world};

/// Access mode 3 allows only ioctl. Landlock has no right for it, so it grants it everywhere.
#[test]
fn what_neither_reads_nor_writes_is_judged() {
    let both = || {
        let world = world(r#""@/work/**": "rw-""#, "");
        world.write("shut/file", "");
        world.write("work/file", "");
        world
    };
    // Nothing may be written here, so neither reading nor writing is held.
    let none = || {
        let world =
            world(r#""@/work/**": "r--""#, "").policy_text(|text| text.replace(r#""/dev/null": "rw-","#, ""));
        world.write("shut/file", "");
        world.write("work/file", "");
        world
    };
    let opens: [(&dyn Fn() -> World, &str); 2] = [(&both, "EACCES\nok\n"), (&none, "EACCES\nEACCES\n")];
    for (make, expected) in opens {
        in_each_tier(make, |world, tiers| {
            let ended = python(world, "op(opened, 'shut/file', 3)\nop(opened, 'work/file', 3)\n");
            assert_eq!(ended.stdout, expected, "{tiers}: {}", ended.stderr);
        });
    }
}

/// Landlock does not know objects without a path: where opens are not held, a pipe of another process can be
/// opened.
#[test]
fn a_pipe_of_another_process_is_the_brokers_to_refuse() {
    in_each_tier(
        || world(r#""@/work/**": "rw-""#, ""),
        |world, tiers| {
            let ended = python(
                world,
                r#"
read, write = os.pipe()
if os.fork() == 0:
    os.close(read)
    op(opened, f"/proc/{os.getppid()}/fd/{read}", os.O_NONBLOCK)
    op(opened, f"/proc/{os.getppid()}/environ", 0)
    import sys; sys.stdout.flush()
    os._exit(0)
os.wait()
"#,
            );
            let pipe = if tiers.contains("kernel") && guard_tests::has_floor() { "None" } else { "EACCES" };
            assert_eq!(
                ended.stdout.replace("ok", "None"),
                format!("{pipe}\nEACCES\n"),
                "{tiers}: {}",
                ended.stderr
            );
        },
    );
}

/// Nothing in the tree can make a device node. The kernel opens an existing one, but lets it do nothing
/// special.
#[test]
fn a_device_in_a_workspace_gets_no_requests() {
    if !guard_tests::is_root() {
        return guard_tests::skip("only root makes a device node");
    }
    in_each_tier(
        || {
            let world = world(r#""@/work/**": "rw-""#, "");
            for (name, number) in [("zero", "5"), ("mem", "1")] {
                let path = world.work().join(name);
                let made = guard_tests::ended(
                    std::process::Command::new("mknod").arg(path).args(["-m", "666", "c", "1", number]),
                );
                assert_eq!(made.status, 0, "{}", made.stderr);
            }
            world
        },
        |world, tiers| {
            // Reading the machine's memory needs a capability that no process in the tree has.
            let source = r#"
import fcntl
op(opened, "work/zero", os.O_RDWR)
op(opened, "work/mem", 0)
with open("work/zero", "rb") as file: op(fcntl.ioctl, file, 0x1234)
"#;
            let ended = python(world, source);
            let lines: Vec<&str> = ended.stdout.lines().collect();
            assert_eq!(lines[0], "ok", "{tiers}: {}", ended.stderr);
            // The guard refuses this device. Where the kernel alone decides, a machine may lack it, and no process in the
            // tree may read it.
            let is_untrapped = tiers.contains("kernel") && has_floor() && has_untrapped_reads(world);
            let opened: &[&str] = if is_untrapped { &["EPERM", "ENXIO"] } else { &["EACCES"] };
            assert!(opened.contains(&lines[1]), "{tiers}: {}", lines[1]);
            assert!(["EACCES", "ENOTTY"].contains(&lines[2]), "{tiers}: {}", lines[2]);
        },
    );
}

/// Every tier gives the same answers to all kinds of names and flags.
#[test]
fn odd_names_and_flags_get_the_same_answers() {
    let make = || {
        let world =
            world(r#""@/work/**": "rw-", "@/only/**": "r--", "@/drop/**": "-w-""#, r#""@/work/secret/**""#);
        for name in [
            "work/f",
            "work/d/g",
            "work/secret/key",
            "only/f",
            "drop/f",
            "shut/f",
            "work/x (deleted)",
            "work/a\nb",
        ] {
            world.write(name, "text");
        }
        let root = world.root();
        for (target, name) in [
            ("f", "work/l"),
            ("secret/key", "work/ls"),
            ("d", "work/dl"),
            ("secret", "work/dls"),
            ("nowhere", "work/dang"),
            ("loop", "work/loop"),
            ("../only", "work/up"),
            ("/proc/self/cwd", "work/here"),
        ] {
            std::os::unix::fs::symlink(target, root.join(name)).expect("a link");
        }
        let fifo = root.join("work/p");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
        world
    };
    let source = r#"
import itertools, ctypes
libc = ctypes.CDLL(None, use_errno=True)
O = os
names = ["work/f", "work/d", "work/d/", "work/d/g/", "work/d//g", "work/./d/../f", "work/l", "work/l/", "work/ls", "work/dl/g",
    "work/dl/../f", "work/dls/key", "work/dls/../f", "work/dang", "work/loop", "work/up/f", "work/here", "work/here/work/f",
    "work/secret", "work/secret/key", "work/secret/new", "work/secret/../f", "work/none", "work/none/", "work/none/x",
    "work/f/x", "work/f/..", "only/f", "only/none", "drop/f", "drop/none", "shut/f", "shut/none", "work/x (deleted)",
    "work/a\nb", "work", "work/", ".", "..", "/", "//usr//bin/../lib", "/lib", "/lib/", "/bin/sh", "/etc/passwd", "/dev/null",
    "/dev/zero", "/dev/tty", "/proc/self/status", "/proc/self/fd/0", "work/" + "n" * 255, "work/" + "n" * 256,
    "work/" + "d/../" * 400 + "f", "work/" + "d/../" * 900 + "f", "", "work/d/.", "work/d/..", "work/p"]
flags = [0, O.O_WRONLY, O.O_RDWR, 3, O.O_RDONLY | O.O_TRUNC, O.O_WRONLY | O.O_TRUNC, O.O_RDONLY | O.O_CREAT,
    O.O_WRONLY | O.O_CREAT, O.O_RDWR | O.O_CREAT | O.O_EXCL, O.O_DIRECTORY, O.O_NOFOLLOW, O.O_PATH, O.O_PATH | O.O_CREAT,
    O.O_PATH | O.O_NOFOLLOW, O.O_TMPFILE | O.O_RDWR, O.O_TMPFILE | O.O_WRONLY, O.O_DIRECTORY | O.O_CREAT, O.O_DIRECTORY | O.O_WRONLY,
    O.O_WRONLY | O.O_APPEND, O.O_CREAT | O.O_NOFOLLOW | O.O_WRONLY]
dirs = [(None, ""), (O.open("work/d", O.O_PATH), "../../"), (O.open("work/f", 0), ""), (999, "")]
def made(call, *rest):
    ctypes.set_errno(0)
    done = call(*rest)
    return errno.errorcode.get(ctypes.get_errno(), "?") if done < 0 else "ok" if done == 0 else done
def state():
    return sorted((top, tuple(sorted(dirs)), tuple((f, O.lstat(O.path.join(top, f)).st_size) for f in sorted(files))) for top, dirs, files in O.walk("work"))
O.umask(0o027)
# Of the machine's own files nothing is tried that could change them.
harmless = [0, O.O_DIRECTORY, O.O_NOFOLLOW, O.O_PATH, O.O_PATH | O.O_NOFOLLOW]
def is_ours(name):
    return name and not name.startswith("/") and not name.startswith("..")
count = 0
for (dirfd, before), name, flag in itertools.product(dirs, names, flags):
    path = before + name if name and not name.startswith("/") else name
    if not is_ours(name) and flag not in harmless:
        continue
    try:
        fd = O.open(path, flag | O.O_NONBLOCK, 0o666, dir_fd=dirfd)
        mode = oct(O.fstat(fd).st_mode)
        O.close(fd)
        said = "ok " + mode
    except OSError as error:
        said = errno.errorcode[error.errno]
    print(dirfd is None, before, repr(name[:40]), len(name), oct(flag), said)
    count += 1
    for new in "work/none", "work/secret/new", "drop/none", "work/nowhere", "work/" + "n" * 255:
        try: O.unlink(new)
        except OSError: pass
for name in filter(is_ours, names):
    path = name.encode()
    print("truncate", repr(name[:40]), made(libc.truncate, path, ctypes.c_long(4)))
    print("unlinkat bad", repr(name[:40]), made(libc.unlinkat, -100, path, 0x400))
for name in ["work/f/", "work/d", "work/none", "work/secret/key", "work/dang", "work/dls/key", "work/l/", "only/f", "shut/f",
    "work/.", "work/..", "work/a\nb", "work/x (deleted)", "work/p", "work/d/g", "work/dl", "work", ""]:
    for call in libc.unlink, libc.rmdir:
        print(call.__name__, repr(name), made(call, name.encode()))
O.mkdir("work/cwd"); O.chdir("work/cwd"); O.rmdir("../cwd")
for name in ["x", ".", "..", "../f", "../none"]:
    for flag in 0, O.O_CREAT | O.O_WRONLY:
        try: O.close(O.open(name, flag, 0o600)); print("gone", name, flag, "ok")
        except OSError as error: print("gone", name, flag, errno.errorcode[error.errno])
import resource
O.chdir(ROOT)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
for name in ["work/f", "work/none", "shut/f", "work/secret/key", "work/none/x"]:
    for flag in 0, O.O_CREAT | O.O_WRONLY:
        try: O.open(name, flag); print("full", name, flag, "ok")
        except OSError as error: print("full", name, flag, errno.errorcode[error.errno])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(state())
print(count, "opens")
"#;
    let answers = std::cell::RefCell::new(Vec::<(String, Vec<String>)>::new());
    in_each_tier(make, |world, tiers| {
        let root = world.root();
        let source = source.replace("ROOT", &format!("{root:?}"));
        let ended = python(world, &source);
        assert_eq!(ended.status, 0, "{tiers}: {}", ended.stderr);
        let mut lines: Vec<String> = ended.stdout.lines().map(str::to_owned).collect();
        // Where a call is held, a refusal is logged.
        if !tiers.contains("kernel") {
            let mut denied: Vec<String> = world
                .audit()
                .iter()
                .filter(|line| line["verdict"] == "deny")
                .map(|line| format!("denied {} {}", line["operation"], of_any_process(&line["path"])))
                .collect();
            denied.sort();
            denied.dedup();
            lines.extend(denied.iter().map(|line| line.replace(root.to_str().expect("a plain path"), "@")));
        }
        answers.borrow_mut().push((tiers.to_owned(), lines));
    });
    let answers = answers.into_inner();
    let (_, broker) = &answers[0];
    println!("{} answers each", broker.len());
    for (tiers, lines) in &answers[1..] {
        let different: Vec<_> = broker.iter().zip(lines).filter(|(one, other)| one != other).collect();
        assert!(
            different.is_empty(),
            "broker and {tiers}: {} of {}: {different:#?}",
            different.len(),
            broker.len()
        );
        assert!(tiers.contains("kernel") || broker.len() == lines.len(), "{tiers}");
    }
}

/// Returns a path with process numbers replaced.
fn of_any_process(path: &serde_json::Value) -> String {
    let path = path.as_str().unwrap_or_default();
    let parts = path.split('/').map(|part| if part.parse::<u32>().is_ok() { "PID" } else { part });
    parts.collect::<Vec<_>>().join("/")
}
