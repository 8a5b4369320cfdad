//! A yes is for one command as it was shown.

use std::path::Path;

use guard_tests::{Ended, World, compile, until};

use crate::world::{answered, executable, own, run, start, unasked, world};

/// Makes a change while the line's question waits, and then says yes.
fn after(world: &World, line: &str, change: impl FnOnce()) -> Ended {
    let held = start(world, line);
    let asked = world.wait_for(1).remove(0);
    change();
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    held.end()
}

#[test]
fn a_yes_is_used_up_and_never_wider() {
    let world = world();
    let held = start(&world, "RUN echo 1; RUN echo 1; echo 1");
    let asked = world.wait_for(1).remove(0);
    for wider in ["allow-always", "allow-session", "allow-10m"] {
        assert_ne!(world.resolve(&asked, wider).status, 0, "{wider}");
    }
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    let again = world.answer("deny");
    assert_ne!(asked["id"], again["id"]);
    assert_eq!(held.end().stdout, "1\n1\n");
    assert!(asked["always"].to_string().contains("outside the guard"), "{asked}");
}

#[test]
fn a_yes_inside_is_none_outside() {
    let exec = r#""security": "allowlist", "ask": "on-miss", "carriers": ["bash", "sh", "dash"]"#;
    let world = crate::world::with(exec, crate::world::OPEN);
    let echo = "/usr/bin/printf";
    let held = start(&world, &format!("{echo} inside; RUN {echo} outside"));
    let inside = world.answer("allow-session");
    let outside = world.wait_for(1).remove(0);
    assert_ne!(inside["id"], outside["id"]);
    assert!(outside["because"]["text"].as_str().is_some_and(|text| text.contains("OUTSIDE")), "{outside}");
    assert_eq!(world.resolve(&outside, "deny").status, 0);
    assert_eq!(held.end().stdout, "inside");
}

#[test]
fn what_changes_while_a_human_reads_does_not_run() {
    let world = world();
    let script = world.work().join("script");
    let program = world.work().join("program");
    let put = |path: &Path, bytes: &[u8]| {
        let new = executable(&world, "work/new", bytes);
        std::fs::rename(new, path).expect("to replace a file");
    };
    let evil = b"#!/bin/sh\ntouch evil\n";
    let cases: [(&str, &dyn Fn()); 5] = [
        ("RUN ./script", &|| std::fs::write(&script, evil).expect("to edit the script")),
        ("RUN ./script", &|| put(&script, evil)),
        ("RUN sh script", &|| std::fs::write(&script, evil).expect("to edit the script")),
        ("RUN ./program x", &|| put(&program, &std::fs::read("/bin/ls").expect("ls"))),
        ("RUN ./program x", &|| {
            std::fs::write(&program, std::fs::read("/bin/ls").expect("ls")).expect("to edit")
        }),
    ];
    for (line, change) in cases {
        executable(&world, "work/script", "#!/bin/sh\necho good\n");
        executable(&world, "work/program", std::fs::read("/bin/echo").expect("echo"));
        let ended = after(&world, &format!("{line} 2>&1"), change);
        assert_eq!(ended.status, 126, "{line}: {ended:?}");
        assert!(ended.stdout.contains("changed while waiting"), "{line}: {ended:?}");
        assert!(!world.work().join("evil").exists());
    }
}

#[test]
fn a_script_runs_as_it_was_approved() {
    let world = world();
    executable(
        &world,
        "work/script",
        "#!/bin/sh\necho first\nuntil [ -e go ]; do sleep 0.1; done\necho second\n",
    );
    let held = start(&world, "RUN ./script");
    world.answer("allow-once");
    until("the script", || held.stdout() == "first\n");
    std::fs::write(
        world.work().join("script"),
        "#!/bin/sh\necho first\necho evil; echo evil; echo evil; echo evil; echo evil\n",
    )
    .expect("to edit the script");
    world.write("work/go", "");
    assert_eq!(held.end().stdout, "first\nsecond\n");
}

#[test]
fn a_first_line_does_not_make_another_file_the_script() {
    let world = world();
    executable(&world, "work/good", "#!/bin/bash --rcfile\n");
    world.write("work/evil", "echo evil");
    let ended = unasked(&world, "RUN ./good evil 2>&1");
    assert!(!ended.stdout.contains("evil\n") && ended.status != 0, "{ended:?}");
    assert!(ended.stdout.contains("another file would run as the script"), "{ended:?}");
}

#[test]
fn the_directory_is_the_one_that_was_shown() {
    let world = world();
    for name in ["a", "b"] {
        world.write(format!("work/{name}/mark"), name);
    }
    let work = world.work();
    let swap = || {
        std::fs::rename(work.join("a"), work.join("c")).expect("to rename");
        std::os::unix::fs::symlink("b", work.join("a")).expect("a link");
    };
    let ended = after(&world, "cd a; RUN cat mark 2>&1", swap);
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stdout.contains("changed while waiting"), "{ended:?}");
}

/// Asks for `echo good`, and changes that, or the directory, when `go` is there, from a thread or from a process that
/// shares the memory.
const CHANGER: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>
#include <unistd.h>
static char *word;
static const char *what;
static void *change(void *unused) {
    while (access("go", F_OK)) usleep(1000);
    if (!strcmp(what, "cwd")) { if (chdir("/usr")) _exit(1); } else strcpy(word, "evil");
    int fd = open(DONE, O_CREAT | O_WRONLY, 0600);
    if (fd < 0) _exit(2);
    for (;;) pause();
    return unused;
}
int main(int argc, char **argv) {
    what = argv[1];
    word = strcpy(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), "good");
    if (!strcmp(what, "process")) { if (fork() == 0) change(0); }
    else { pthread_t thread; pthread_create(&thread, NULL, change, NULL); }
    char *words[] = {"guard", "run-outside", "--", "echo", word, NULL};
    execve(argv[2], words, environ);
    return 126;
}
"#;

#[test]
fn what_a_thread_or_a_process_changes_meanwhile_does_not_run() {
    let world = world();
    let done = world.work().join("done");
    let changer = world.root().join("bin/changer");
    compile(CHANGER, &changer, &["-pthread", &format!("-DDONE=\"{}\"", done.display())]);
    for what in ["thread", "process", "cwd"] {
        let line = format!("{} {what} {} 2>&1; kill 0", changer.display(), own());
        let ended = after(&world, &line, || {
            world.write("work/go", "");
            until("the change", || done.exists());
        });
        assert!(!ended.stdout.contains("evil") && !ended.stdout.contains("good"), "{what}: {ended:?}");
        for name in ["go", "done"] {
            std::fs::remove_file(world.work().join(name)).expect("to remove a file");
        }
    }
}

#[test]
fn the_asker_that_is_killed_gets_nothing() {
    let world = world();
    let line = run("RUN touch made & echo $!; wait");
    let held = world.start(&["bash", "-c", &line]);
    let _ = world.wait_for(1);
    let asker = held.stdout().trim().to_owned();
    let killed = std::process::Command::new("kill").args(["-KILL", &asker]).status().expect("kill");
    assert!(killed.success());
    assert!(world.wait_for(0).is_empty());
    held.end();
    assert!(!world.work().join("made").exists());
}

#[test]
fn a_command_whose_client_is_killed_is_hung_up() {
    let world = world();
    let line = "RUN sh -c 'trap \"echo hup > hup; exit\" HUP; echo ready; while :; do sleep 0.05; done' & echo $! > client; wait";
    let held = start(&world, line);
    world.answer("allow-once");
    until("the command", || held.stdout() == "ready\n");
    let client = world.read("work/client").expect("a number");
    let killed = std::process::Command::new("kill").args(["-KILL", client.trim()]).status().expect("kill");
    assert!(killed.success());
    until("the hangup", || world.work().join("hup").exists());
    held.end();
}

#[test]
fn the_programs_of_the_trees_path_and_variables_do_not_count() {
    let world = world();
    executable(&world, "work/evil/id", "#!/bin/sh\necho evil\n");
    world.write("work/env.sh", "echo evil\n");
    let line = "export PATH=$PWD/evil:$PATH LD_PRELOAD=$PWD/none.so BASH_ENV=$PWD/env.sh ENV=$PWD/env.sh; \
                RUN bash -c 'id -u; env' 2>/dev/null";
    let (asked, ended) = answered(&world, line, "allow-once");
    assert!(!ended.stdout.contains("evil") && !ended.stdout.contains("LD_PRELOAD"), "{ended:?}");
    assert_eq!(asked["argv"][0], "bash");
    let (asked, ended) = answered(&world, "PATH=$PWD/evil; RUN id -un", "allow-once");
    assert!(asked["resolvedPath"].as_str().is_some_and(|path| path.ends_with("bin/id")), "{asked}");
    assert!(!ended.stdout.contains("evil"), "{ended:?}");
}

/// A name of the tree's could lead elsewhere after the yes, so the command gets the real path.
#[test]
fn a_link_to_a_script_of_the_operators_is_not_read_again() {
    let world = world();
    let good = executable(&world, "bin/good", "echo $0\n");
    std::os::unix::fs::symlink(&good, world.work().join("x")).expect("a link");
    let real = std::path::Path::new(&good).canonicalize().expect("a real path");
    for line in ["RUN sh x", "RUN sh /proc/self/cwd/../bin/good"] {
        let (asked, ended) = answered(&world, line, "allow-once");
        assert_eq!(ended.stdout, format!("{}\n", real.display()), "{line}");
        assert!(asked.to_string().contains(real.to_str().expect("text")), "{asked}");
    }
}
