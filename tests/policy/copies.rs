//! A program that is withheld by name is also withheld under another name.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use guard_tests::{World, skip};

/// `TOOL` is the permission of `tools/tool`, which is echo(1). The tree may write in `work`, and in a
/// directory of its own in /dev/shm.
fn world(tool: &str) -> World {
    let world = World::bare();
    let shared = shared(&world);
    let world = world.policy(&format!(
        r#"{{"version": 1, "exec": {{"security": "full", "ask": "on-miss"}}, "permissions": {{"filesystem": {{
            "rules": {{SYSTEM, "@/work/**": "rwx", "{shared}/**": "rwx", "@/tools/**": "r-x", "@/tools/tool": "{tool}",
                "@/tools/many/t*": "r--"}},
            "deny": ["@/tools/denied"], "default": "r--"}}}}}}"#
    ));
    for name in ["tool", "denied", "many/t1", "many/other"] {
        // Each has a size of its own: a program ignores what is appended to it.
        let text = [fs::read("/bin/echo").expect("echo"), format!("{name:64}").into_bytes()].concat();
        executable(&world, &format!("tools/{name}"), &text);
    }
    executable(&world, "tools/many/ts", b"#!/bin/sh\necho RAN\n");
    world
}

/// Returns a directory in shared memory that the tree of this world may write.
fn shared(world: &World) -> String {
    format!("/dev/shm/{}", world.root().file_name().expect("a name").to_str().expect("plain"))
}

fn executable(world: &World, path: &str, text: &[u8]) {
    let path = world.write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Every way to make a copy and start it; `@` is the world's directory.
const WAYS: [(&str, &str); 27] = [
    ("cp", "cp @/tools/tool x && ./x RAN"),
    ("a reflink", "cp --reflink=auto @/tools/tool x && ./x RAN"),
    ("install", "install -m 755 @/tools/tool x && ./x RAN"),
    ("cat", "cat @/tools/tool > x && chmod +x x && ./x RAN"),
    ("dd", "dd if=@/tools/tool of=x bs=1M 2>/dev/null && chmod +x x && ./x RAN"),
    ("tar", "tar -C @/tools -cf - tool | tar -xf - && ./tool RAN"),
    ("python", "/usr/bin/python3 -c 'import shutil; shutil.copy(\"@/tools/tool\", \"x\")' && ./x RAN"),
    ("renamed", "cp @/tools/tool y && mv y x && ./x RAN"),
    ("a directory that is renamed", "mkdir d && cp @/tools/tool d/x && mv d e && e/x RAN"),
    ("a link to a copy", "cp @/tools/tool x && ln x y && rm x && ./y RAN"),
    ("a symbolic link to a copy", "cp @/tools/tool x && ln -s x y && ./y RAN"),
    ("grown to it", "cp @/tools/tool x && truncate -s 100 x && tail -c +101 @/tools/tool >> x && ./x RAN"),
    ("another owner of the same", "cp -p @/tools/tool x && chmod 700 x && touch -d 2001-01-01 x && ./x RAN"),
    ("/dev/shm", "mkdir -p SHM && cp @/tools/tool SHM/x && SHM/x RAN"),
    ("/proc/self/fd", "cp @/tools/tool x && exec 3< x && /proc/self/fd/3 RAN"),
    (
        "a descriptor",
        "cp @/tools/tool x && /usr/bin/python3 -c 'import os; os.execve(os.open(\"x\", os.O_RDONLY), [\"x\", \"RAN\"], {})'",
    ),
    ("another name for itself", "cp @/tools/tool x && exec -a /usr/bin/true ./x RAN"),
    ("env", "cp @/tools/tool x && env ./x RAN"),
    ("PATH", "cp @/tools/tool x && PATH=$PWD:$PATH x RAN"),
    ("xargs", "cp @/tools/tool x && echo RAN | xargs ./x"),
    ("an interpreter", "cp @/tools/tool x && printf '#!%s/x RAN\\n' $PWD > s && chmod +x s && ./s"),
    (
        "an interpreter's interpreter",
        "cp @/tools/tool x && printf '#!%s/x RAN\\n' $PWD > s && printf '#!%s/s\\n' $PWD > t && chmod +x s t && ./t",
    ),
    ("the loader's operand", "cp @/tools/tool x && /lib64/ld-linux-x86-64.so.2 $PWD/x RAN"),
    (
        "a copy of the loader",
        "cp /lib64/ld-linux-x86-64.so.2 ld.so && cp @/tools/tool x && ./ld.so $PWD/x RAN",
    ),
    ("one of many", "cp @/tools/many/t1 x && ./x RAN"),
    ("a script", "cp @/tools/many/ts x && ./x"),
    ("one that could not be read", "cp brought x && ./x RAN"),
];

/// Runs a line in an empty workspace. Returns how it ended.
fn attempt(world: &World, line: &str) -> guard_tests::Ended {
    let line = line.replace('@', &world.root().display().to_string()).replace("SHM", &shared(world));
    world.guarded(&["bash", "-c", &format!("rm -rf d e x y s t tool ld.so; {line}")])
}

#[test]
fn a_copy_is_the_same_program() {
    let world = world("r--");
    // Where nothing is withheld each of these ways works, except a loader's operand that the tree may write.
    let open = self::world("r-x").policy_text(|text| text.replace("many/t*\": \"r--", "many/t*\": \"r-x"));
    let open = open.policy_text(|text| text.replace("tools/denied", "tools/none"));
    for world in [&world, &open] {
        // A copy from outside of the tree, as if the operator had downloaded the program.
        fs::copy(world.root().join("tools/denied"), world.work().join("brought")).expect("a copy");
    }
    let mut stopped = 0;
    for (name, line) in WAYS {
        let ended = attempt(&world, line);
        assert!(!ended.stdout.contains("RAN") && ended.status != 0, "{name}: {ended:?}");
        let is_reported =
            ended.guard_lines().iter().any(|line| line.contains("copy of ") && line.contains("/tools/"));
        assert!(is_reported, "{name}: {}", ended.stderr);
        let free = attempt(&open, line);
        assert!(free.stdout.contains("RAN") || line.contains("ld-linux"), "{name}: {free:?}");
        assert!(!free.stderr.contains("copy of "), "{name}: {free:?}");
        stopped += 1;
    }
    for world in [&world, &open] {
        let _ = fs::remove_dir_all(shared(world));
    }
    println!("copies: {stopped} of {}", WAYS.len());
}

#[test]
fn the_verdict_names_the_rule_and_the_program() {
    let world = world("r--");
    let root = world.root().display().to_string();
    let ended = world.sh("cp ../tools/tool x; ./x RAN");
    let rule = format!("permissions.filesystem.rules \"{root}/tools/tool\": \"r--\"");
    assert_eq!(
        ended.guard_lines(),
        [format!("openclaw-guard: denied exec {root}/work/x (copy of {root}/tools/tool: {rule})")]
    );
    let denied = world.audit().into_iter().find(|line| line["verdict"] == "deny").expect("a line");
    assert_eq!(denied["because"]["path"], format!("permissions.filesystem.rules[\"{root}/tools/tool\"]"));
    let text = format!("copy of {root}/tools/tool, which may not start: \"{root}/tools/tool\" grants read");
    assert_eq!(denied["because"]["text"], text);
    // `check` gives the same reason without running anything.
    let checked = guard_tests::ended(world.command().args(["check", "--", "./x", "RAN"]));
    assert_eq!(checked.status, 1, "{checked:?}");
    assert!(checked.stdout.contains(&text), "{checked:?}");
}

#[test]
fn a_link_to_a_named_program_cannot_be_made() {
    let world = world("r--");
    let ended = world.sh("ln ../tools/tool x; ln -s ../tools/tool y; ./x RAN; ./y RAN");
    assert!(!ended.stdout.contains("RAN"), "{ended:?}");
    // A hard link that existed before leads to the same file.
    fs::hard_link(world.root().join("tools/tool"), world.work().join("z")).expect("a link");
    let ended = world.sh("./z RAN");
    assert!(!ended.stdout.contains("RAN") && ended.stderr.contains("copy of "), "{ended:?}");
}

/// Other programs run: one different byte is enough, and the operator's own copy elsewhere is another
/// program.
#[test]
fn another_program_is_another_program() {
    let world = world("r--");
    let ended = world.sh("cp ../tools/tool x; echo >> x; ./x one; cp /bin/echo y; ./y two; cp ../tools/many/other z; ./z three");
    assert_eq!(ended.stdout, "one\ntwo\nthree\n", "{}", ended.stderr);
    fs::copy(world.root().join("tools/tool"), world.root().join("tools/twin")).expect("a copy");
    let ended = world.sh("../tools/twin four");
    assert_eq!(ended.stdout, "four\n", "{}", ended.stderr);
}

/// After the operator replaces a program, its new content is what counts.
#[test]
fn a_named_program_that_is_replaced_is_hashed_again() {
    let world = world("r--");
    assert_eq!(world.sh("cp /bin/echo x; ./x RAN").stdout, "RAN\n");
    let world = world.policy_text(|text| text);
    let held = world.start(&["sh", "-c", "cp ../tools/tool a; ./a RAN; until [ -e go ]; do sleep 0.05; done; cp ../tools/tool b; ./b RAN; cp /bin/echo c; ./c RAN; cp ../tools/many/t2 d; ./d RAN"]);
    guard_tests::until("the first is denied", || held.stderr().contains("work/a (copy of"));
    let mut text = fs::read("/bin/echo").expect("echo");
    text.extend(b"a newer one, and longer");
    executable(&world, "tools/tool", &text);
    text.extend(b" still");
    executable(&world, "tools/many/t2", &text);
    world.write("work/go", "");
    let ended = held.end();
    assert_eq!(ended.stdout, "RAN\n", "{}", ended.stderr);
    for name in ["b", "d"] {
        assert!(ended.stderr.contains(&format!("work/{name} (copy of")), "{name}: {}", ended.stderr);
    }
}

/// A new policy withholds its own programs.
#[test]
fn a_policy_that_is_read_again_names_others() {
    let world = world("r-x");
    let held = world.start(&[
        "sh",
        "-c",
        "cp ../tools/tool x; ./x one; until [ -e go ]; do sleep 0.05; done; ./x RAN",
    ]);
    guard_tests::until("it runs", || held.stdout().contains("one"));
    let text = world.read("guard.json").expect("a policy");
    let tool = format!("{}/tools/tool\": \"r", world.root().display());
    fs::write(world.root().join("guard.json"), text.replace(&format!("{tool}-x"), &format!("{tool}--")))
        .expect("a policy");
    guard_tests::until("it is read", || held.stderr().contains("was read again"));
    world.write("work/go", "");
    let ended = held.end();
    assert_eq!(ended.stdout, "one\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("work/x (copy of"), "{}", ended.stderr);
}

#[test]
fn a_copy_of_what_is_asked_for_is_asked_for() {
    let world = world("r-?").attended();
    let root = world.root().display().to_string();
    let held = world.start(&["sh", "-c", "cp ../tools/tool x; ./x yes; ./x no; cp /bin/echo y; ./y free"]);
    let asked = world.answer("allow-once");
    assert_eq!(asked["resolvedPath"], format!("{root}/work/x"), "{asked}");
    let text = format!("copy of {root}/tools/tool, which is asked for");
    assert!(asked["because"].to_string().contains(&text), "{asked}");
    // An answer for always would save the program itself.
    assert_eq!(asked["always"]["saves"][0]["pattern"], format!("{root}/tools/tool"), "{asked}");
    world.answer("deny");
    let ended = held.end();
    assert_eq!(ended.stdout, "yes\nfree\n", "{}", ended.stderr);
}

/// Nobody answers: the fallback decides about a copy as it does about the program itself.
#[test]
fn a_fallback_for_a_copy_is_that_for_the_program() {
    for (fallback, expected) in [("deny", ""), ("allowlist", ""), ("full", "RAN\n")] {
        let world = world("r-?").policy_text(|text| {
            text.replace(r#""ask": "on-miss""#, &format!(r#""ask": "on-miss", "askFallback": "{fallback}""#))
        });
        let ended = world.sh("cp ../tools/tool x; ./x RAN");
        assert_eq!(ended.stdout, expected, "{fallback}: {}", ended.stderr);
    }
}

#[test]
fn a_copy_of_a_shell_of_many_names_is_that_shell() {
    let Some(busybox) =
        ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|path| fs::exists(path).unwrap_or(false))
    else {
        return skip("busybox is not installed");
    };
    let world = world("r--");
    fs::copy(busybox, world.root().join("tools/tool")).expect("a copy");
    let ended = world.sh("cp ../tools/tool echo; ./echo RAN; cp ../tools/tool busybox; ./busybox echo RAN; ln -s busybox sh; ./sh -c 'echo RAN'");
    assert!(!ended.stdout.contains("RAN"), "{ended:?}");
    assert!(ended.stderr.contains("copy of "), "{ended:?}");
}

/// At most a thousand programs are recognised; a warning reports the others.
#[test]
fn too_many_named_programs_are_reported() {
    let world = world("r--");
    for number in 0..1005 {
        executable(
            &world,
            &format!("tools/many/t{number:04}"),
            format!("#!/bin/sh\n# {number}\n").as_bytes(),
        );
    }
    let ended =
        world.sh("cp ../tools/many/t0001 x; ./x && echo RAN; cp ../tools/many/t1004 y; ./y && echo left out");
    assert_eq!(ended.stdout, "left out\n", "{}", ended.stderr);
    assert!(
        ended.stderr.contains(
            "more than 1000 programs are denied by name, and copies of 9 of them are not recognised"
        ),
        "{}",
        ended.stderr
    );
    let validated = guard_tests::ended(world.command().args(["policy", "validate"]));
    assert!(validated.stdout.contains("copies of 9 of them are not recognised"), "{validated:?}");
}

/// With `--observe` the copy runs, and the denial is reported.
#[test]
fn a_copy_that_is_only_observed_runs() {
    let world = world("r--");
    let mut command = world.command();
    command.args(["--observe", "--", "sh", "-c", "cp ../tools/tool x; ./x RAN"]);
    let ended = guard_tests::ended(&mut command);
    assert_eq!(ended.stdout, "RAN\n", "{}", ended.stderr);
    assert!(
        ended.stderr.contains("would have denied") && ended.stderr.contains("copy of"),
        "{}",
        ended.stderr
    );
}
