//! A yes is valid for one call; any difference makes it another call.

use std::fs;

use guard_tests::World;

use crate::world::{executable, path, world, world_with};

/// Approves the first call of a line, `bin/asked x`, and checks that the next one is asked for again.
fn is_asked_again(world: &World, line: &str) {
    let line = line.replace("ASKED", &path(world, "bin/asked")).replace("TOOL", &path(world, "bin/tool"));
    let held = world.start(&["bash", "-c", &line]);
    let first = world.answer("allow-once");
    let again = world.answer("deny");
    assert_ne!(first["id"], again["id"], "{line}");
    let ended = held.end();
    assert_eq!(ended.stdout.lines().count(), 1, "{line}: {}", ended.stdout);
}

#[test]
fn any_difference_is_asked_about_again() {
    let world = world();
    for line in [
        "ASKED x; ASKED x",
        "ASKED x; cd /usr; ASKED x",
        "ASKED x; A=b ASKED x",
        "ASKED x; ASKED y",
        "ASKED x; (ASKED x)",
        "ASKED x; cp ASKED copy; ./copy x",
        "ASKED x; bash -c 'exec ASKED x'",
        "TOOL x; TOOL x",
        "cp TOOL t; ./t x; echo 'echo other' >> t; ./t x",
    ] {
        is_asked_again(&world, line);
    }
}

#[test]
fn another_agent_and_another_guard_ask_for_themselves() {
    let world = world();
    let asked = path(&world, "bin/asked");
    let mut other = world.command();
    other.args(["--agent", "other", "--", &asked, "x"]);
    let held = world.start(&[&*asked, "x"]);
    assert_eq!(world.wait_for(1)[0]["agentId"], "main");
    let (beside, third) = (world.start_command(other), world.start(&[&*asked, "x"]));
    let pending = world.wait_for(3);
    let of_other = pending.iter().find(|asked| asked["agentId"] == "other").expect("the other agent's");
    let first = pending.iter().find(|asked| asked["agentId"] == "main").expect("one of the first agent's");
    assert_eq!(world.resolve(first, "allow-session").status, 0);
    // Two questions remain: the answer does not count in the other guards.
    let left = world.wait_for(2);
    assert!(left.contains(of_other));
    for asked in left {
        assert_eq!(world.resolve(&asked, "deny").status, 0);
    }
    let ran = [held.end(), beside.end(), third.end()].iter().filter(|ended| ended.stdout == "x\n").count();
    assert_eq!(ran, 1);
}

/// Makes a change while `argv` waits for approval, and then approves it.
fn after_a_change(world: &World, argv: &[&str], change: impl FnOnce()) -> guard_tests::Ended {
    let held = world.start(argv);
    let asked = world.wait_for(1).remove(0);
    change();
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    held.end()
}

#[test]
fn a_program_that_changed_while_a_human_was_reading_does_not_run() {
    let world = world();
    let (asked, tool) = (path(&world, "bin/asked"), path(&world, "bin/tool"));
    let touched = path(&world, "work/touched");
    let bad = format!("#!/bin/sh\necho bad > {touched}\n");
    type Swap<'s> = (&'s str, Box<dyn Fn() + 's>);
    let swaps: [Swap<'_>; 4] = [
        (&tool, Box::new(|| fs::write(&tool, &bad).expect("to edit the script"))),
        (
            &tool,
            Box::new(|| {
                executable(&world.write("bin/new", &bad));
                fs::rename(world.root().join("bin/new"), &tool).expect("to replace the script");
            }),
        ),
        (
            &asked,
            Box::new(|| {
                executable(&world.write("bin/new", fs::read("/bin/true").expect("a program")));
                fs::rename(world.root().join("bin/new"), &asked).expect("to replace the program");
            }),
        ),
        (
            &asked,
            Box::new(|| {
                let mut other = fs::read("/bin/true").expect("a program");
                other.push(0);
                fs::write(&asked, other).expect("to overwrite the program");
            }),
        ),
    ];
    for (program, change) in swaps {
        executable(&world.write("bin/asked", fs::read("/bin/echo").expect("a program")));
        executable(&world.write("bin/tool", "#!/bin/sh\necho tool\n"));
        let ended = after_a_change(&world, &[program, "x"], change);
        assert_eq!((ended.status, &*ended.stdout), (126, ""), "{}", ended.stderr);
        assert!(ended.stderr.contains("changed while waiting"), "{}", ended.stderr);
        assert!(!world.work().join("touched").exists());
    }
}

#[test]
fn an_interpreter_reads_the_script_that_was_approved() {
    let world = world();
    let tool = path(&world, "bin/tool");
    // The interpreter pauses before it reads on; meanwhile the file is edited.
    let text = "#!/bin/sh\necho first\nuntil [ -e go ]; do sleep 0.1; done\necho second\n";
    executable(&world.write("bin/tool", text));
    let held = world.start(&[&tool]);
    world.answer("allow-once");
    guard_tests::until("it runs", || world.read("out.0").is_some_and(|text| text == "first\n"));
    let other = text.replace("second", "edited");
    fs::write(&tool, other).expect("to edit");
    world.write("work/go", "");
    assert_eq!(held.end().stdout, "first\nsecond\n");
}

#[test]
fn a_script_that_is_replaced_after_the_yes_is_not_read() {
    let world = world();
    let code = "#!/bin/sh\necho approved\n";
    // As soon as the shell's child has called execve, the test replaces the script and the link to it.
    let other = "#!/bin/sh\necho BAD\n";
    for name in ["./t", "./link", "TOP/t", "TOP/link"] {
        for _ in 0..10 {
            executable(&world.write("work/t", code));
            executable(&world.write("work/bad", other));
            let _ = fs::remove_file(world.work().join("link"));
            std::os::unix::fs::symlink("t", world.work().join("link")).expect("a link");
            let name = name.replace("TOP", &path(&world, "work"));
            let held = world.start(&["bash", "-c", &format!("{name} & wait")]);
            let asked = world.wait_for(1).remove(0);
            let exe = format!("/proc/{}/exe", asked["askedBy"][0]["pid"]);
            let before = fs::read_link(&exe).expect("a program");
            let work = world.work();
            let swap = std::thread::spawn(move || {
                while fs::read_link(&exe).is_ok_and(|now| now == before) {}
                fs::rename(work.join("bad"), work.join("t")).expect("to replace");
                let _ = fs::remove_file(work.join("link"));
                std::os::unix::fs::symlink("bad", work.join("link")).expect("a link");
            });
            assert_eq!(world.resolve(&asked, "allow-once").status, 0);
            let ended = held.end();
            swap.join().expect("to have swapped");
            assert!(!ended.stdout.contains("BAD"), "{name}: {ended:?}");
        }
    }
}

#[test]
fn a_path_that_leads_elsewhere_by_then_is_another_file() {
    let world = world();
    world.write("else/other", "other\n");
    std::os::unix::fs::symlink(world.root().join("else/file"), world.work().join("link")).expect("a link");
    let held = world.start(&["cat", "link"]);
    let asked = world.wait_for(1).remove(0);
    fs::remove_file(world.work().join("link")).expect("to remove");
    std::os::unix::fs::symlink(world.root().join("else/other"), world.work().join("link")).expect("a link");
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    let second = world.answer("deny");
    assert_eq!(second["resolvedPath"], path(&world, "else/other"));
    assert_eq!(held.end().stdout, "");
}

#[test]
fn an_unanswered_question_allows_no_other_program() {
    let text = |text: String| {
        text.replace(r#""allowlist", "ask": "on-miss""#, r#""full", "ask": "always", "askFallback": "full""#)
    };
    let world = world_with(10_000, "").policy_text(text);
    let code = r#"
        #include <pthread.h>
        #include <string.h>
        #include <unistd.h>
        static char argument[] = "shown";
        static void *change(void *unused) {
            while (access("change", F_OK)) usleep(1000);
            memcpy(argument, "other", 5);
            return unused;
        }
        int main(int argc, char **argv) {
            pthread_t thread;
            pthread_create(&thread, 0, change, 0);
            char *arguments[] = {argv[1], argument, 0}, *environment[] = {0};
            execve(argv[1], arguments, environment);
            return 9;
        }"#;
    guard_tests::compile(code, &world.root().join("bin/free"), &["-pthread"]);
    let held = world.start(&[path(&world, "bin/free"), path(&world, "bin/asked")]);
    world.answer("allow-once");
    assert_eq!(world.wait_for(1)[0]["argv"][1], "shown");
    world.write("work/change", "");
    let ended = held.end();
    assert_eq!((ended.status, &*ended.stdout), (9, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("changed while waiting"), "{}", ended.stderr);
}

/// Builds `work/program`, which prints `ran`, with a copy of the system's loader in `work/ld`. False without a compiler.
fn with_a_loader_of_its_own(world: &World) -> bool {
    let maps = fs::read_to_string("/proc/self/maps").expect("maps");
    let mut mapped = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let Some(loader) = mapped.find(|path| path.contains("/ld-linux")) else {
        guard_tests::skip("this test has no loader");
        return false;
    };
    if !guard_tests::has(&["cc"]) {
        return false;
    }
    fs::copy(loader, world.work().join("ld")).expect("a loader");
    world.write("main.c", "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }\n");
    let mut cc = std::process::Command::new("cc");
    cc.arg("-o").arg(world.work().join("program")).arg(world.root().join("main.c"));
    cc.arg(format!("-Wl,--dynamic-linker={}", path(world, "work/ld")));
    cc.status().expect("cc").success()
}

#[test]
fn a_loader_that_changed_while_a_human_was_reading_does_not_run() {
    let world = world();
    if !with_a_loader_of_its_own(&world) {
        return;
    }
    let (program, loader) = (path(&world, "work/program"), world.work().join("ld"));
    let held = world.start(&[&program]);
    let asked = world.wait_for(1).remove(0);
    assert_eq!(asked["files"][0]["path"], path(&world, "work/ld"), "{asked}");
    assert!(asked["always"]["never"].as_str().is_some_and(|why| why.contains("loader")), "{asked}");
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    assert_eq!(held.end().stdout, "ran\n");

    let mut other = fs::read(&loader).expect("the loader");
    other.push(0);
    let ended = after_a_change(&world, &[&program], || {
        fs::write(&loader, &other).expect("to overwrite the loader");
    });
    assert_eq!((ended.status, &*ended.stdout), (126, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("changed"), "{}", ended.stderr);
}

#[test]
fn an_answer_for_the_session_is_for_one_loader() {
    let world = world();
    if !with_a_loader_of_its_own(&world) {
        return;
    }
    let line = "./program; ./program; cp ld new; printf x >> new; mv new ld; ./program";
    let held = world.start(&["bash", "-c", line]);
    let first = world.answer("allow-session");
    let again = world.answer("deny");
    assert_ne!(first["files"][0]["sha256"], again["files"][0]["sha256"]);
    assert_eq!(held.end().stdout, "ran\nran\n");
}
