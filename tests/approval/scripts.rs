//! An interpreter runs the script that was approved, whatever the tree does to its names.

use std::fs;
use std::path::Path;

use guard_tests::{Ended, World, has, program_text, rounds, until};
use serde_json::Value;

use crate::world::{executable, path, world};

#[test]
fn a_script_that_interprets_the_script_is_bound_too() {
    let world = world();
    let inner = path(&world, "work/inner");
    executable(&world.write("work/inner", "#!/bin/sh\necho inner\n. \"$1\"\n"));
    executable(&world.write("work/t", format!("#!{inner}\necho approved\n")));
    let line = format!("./t; echo 'echo BAD' >> {inner}; ./t");
    let held = world.start(&["bash", "-c", &line]);
    let asked = world.wait_for(1).remove(0);
    assert_eq!(asked["script"]["path"], path(&world, "work/t"));
    assert_eq!(asked["through"][0]["path"], &*inner);
    assert_eq!(world.resolve(&asked, "allow-session").status, 0);
    let again = world.wait_for(1).remove(0);
    assert_ne!(asked["through"], again["through"]);
    // The second edit comes while the question is pending.
    fs::write(&inner, "#!/bin/sh\necho BAD\n").expect("to edit");
    assert_eq!(world.resolve(&again, "allow-once").status, 0);
    let ended = held.end();
    assert_eq!(ended.stdout, "inner\napproved\n", "{}", ended.stderr);
    assert!(ended.stderr.contains("changed while waiting"), "{}", ended.stderr);
}

/// The file that runs is the one that is shown and bound, whatever options and other files stand before it.
#[test]
fn the_script_that_runs_is_the_one_that_is_shown() {
    let lines: [(&str, &[&str]); 11] = [
        ("perl", &["-X", "evil.pl", "good.pl"]),
        ("perl", &["-I", "good.pl", "evil.pl"]),
        ("perl", &["-lI", "good.pl", "evil.pl"]),
        ("perl", &["-F: -I", "good.pl", "evil.pl"]),
        ("python3", &["-O", "evil.py", "good.py"]),
        ("node", &["--title", "good.js", "evil.js"]),
        ("ruby", &["-r", "./good.rb", "evil.rb"]),
        ("ruby", &["-C", "d", "evil.rb"]),
        ("ruby", &["-Xd", "evil.rb"]),
        ("ruby", &["-xd", "evil.rb"]),
        ("ruby", &["-C", "d", "-C", "..", "evil.rb"]),
    ];
    for (program, arguments) in lines {
        if !has(&[program]) {
            continue;
        }
        let is_inside = arguments.iter().any(|word| word.ends_with('d')) && !arguments.contains(&"..");
        let evil = arguments.iter().rfind(|word| word.contains("evil")).expect("a script");
        let evil = if is_inside { format!("d/{evil}") } else { (*evil).to_owned() };
        let ended = changed_meanwhile(program, arguments, &evil, |asked, path| {
            let spelled = path.replace("/d/../", "/");
            assert_eq!(asked["script"]["path"], *spelled, "{program} {arguments:?}: {asked}");
        });
        assert!(!ended.stdout.contains("BAD"), "{program} {arguments:?}: {}", ended.stdout);
        assert!(ended.stderr.contains("changed while waiting"), "{program} {arguments:?}: {}", ended.stderr);
    }
}

/// The option would take the name that the kernel adds, and the interpreter would run an argument.
#[test]
fn a_first_line_that_makes_another_file_the_script_is_not_asked_for() {
    for (program, first, code) in [
        ("perl", "#!/usr/bin/perl -I", "print 'BAD'"),
        ("python3", "#!/usr/bin/python3 -W", "print('BAD')"),
        ("bash", "#!/bin/bash --rcfile", "echo BAD"),
    ] {
        if !has(&[program]) {
            continue;
        }
        let world = world();
        executable(&world.write("work/good", format!("{first}\n")));
        world.write("work/evil", code);
        let ended = world.guarded(&["./good", "evil"]);
        assert_eq!((ended.stdout.as_str(), ended.status), ("", 126), "{program}: {}", ended.stderr);
        assert!(ended.stderr.contains("another file would run as the script"), "{program}: {}", ended.stderr);
    }
}

/// Where it is not certain which file runs, the card shows and binds each that the tree may write: also the value of an
/// option or a setting, a file in another directory, and what a directory runs.
#[test]
fn every_file_that_may_run_is_bound() {
    let lines: [(&str, &[&str], &str); 30] = [
        ("make", &["-f", "evil.mk"], "evil.mk"),
        ("make", &["-C", "d", "-f", "evil.mk"], "d/evil.mk"),
        ("make", &["--directory=d", "--makefile=evil.mk"], "d/evil.mk"),
        ("awk", &["-f", "evil.awk"], "evil.awk"),
        ("gawk", &["-W", "file=evil.awk"], "evil.awk"),
        ("node", &["--no-deprecation", "evil.js"], "evil.js"),
        ("node", &["d"], "d/index.js"),
        ("node", &["pk"], "pk/evil.js"),
        ("node", &["./pk/"], "pk/evil.js"),
        ("node", &["both"], "both.js"),
        ("node", &["marked"], "marked/evil.js"),
        ("python3", &["d"], "d/__main__.py"),
        ("python3", &["-m", "evil"], "evil.py"),
        ("ruby", &["-r./evil", "good.rb"], "evil.rb"),
        ("gdb", &["-q", "-batch", "-x=evil.gdb"], "evil.gdb"),
        ("gdb", &["-q", "-batch", "-ix=evil.gdb"], "evil.gdb"),
        ("gdb", &["-q", "-batch", "-cd=d", "-x", "evil.gdb"], "d/evil.gdb"),
        ("php", &["-d", "auto_prepend_file=evil.php", "good.php"], "evil.php"),
        ("sqlite3", &["--init", "evil.sql", ":memory:", ".quit"], "evil.sql"),
        ("sqlite3", &[":memory:", ".read evil.sql"], "evil.sql"),
        // Words of commands and code, whatever the command is called.
        ("sqlite3", &[":memory:", ".read  evil.sql"], "evil.sql"),
        ("gdb", &["-q", "-batch", "-ex", "source -v evil.gdb"], "evil.gdb"),
        ("python3", &["-m", "runpy", "evil"], "evil.py"),
        ("python3", &["-m", "unittest", "evil"], "evil.py"),
        ("python3", &["-c", "exec(open('evil.py').read())"], "evil.py"),
        ("python3", &["-c", "import evil"], "evil.py"),
        ("perl", &["-e", "do './evil.pl'"], "evil.pl"),
        ("make", &["--eval=include evil.mk"], "evil.mk"),
        ("jq", &["-nf", "evil.jq"], "evil.jq"),
        ("emacs", &["--batch", "--lo=./evil.el"], "evil.el"),
    ];
    for (program, arguments, evil) in lines {
        if !has(&[program]) {
            continue;
        }
        let ended = changed_meanwhile(program, arguments, evil, |asked, path| {
            let files = asked["files"].as_array().cloned().unwrap_or_default();
            assert!(files.iter().any(|file| file["path"] == *path), "{program} {arguments:?}: {asked}");
        });
        assert!(!ended.stdout.contains("BAD"), "{program} {arguments:?}: {}", ended.stdout);
        assert!(ended.stderr.contains("changed while waiting"), "{program} {arguments:?}: {}", ended.stderr);
    }
}

/// The file names another file whenever the guard has read it, and the first one again a moment later.
#[test]
fn what_a_package_names_is_what_was_shown() {
    if !has(&["node", "gcc"]) {
        return;
    }
    let world = world().policy_text(|text| text.replace("on-miss", "always"));
    world.write("work/pk/package.json", "{\"main\": \"g.js\"}\n");
    world.write("work/pk/g.js", "console.log('good')");
    world.write("work/pk/e.js", "console.log('BAD')");
    guard_tests::compile_flips(&world.work().join("flips"));
    for _ in 0..3 {
        let held = world.start(&["./flips", "pk/package.json", "10", "e", "g", &program_text("node"), "pk"]);
        let (_, ended) = held.answer_all(|_| {
            // The answer comes when the file names what it named at the first look.
            std::thread::sleep(std::time::Duration::from_millis(700));
            "allow-once"
        });
        assert!(!ended.stdout.contains("BAD"), "{ended:?}");
    }
}

/// The name leads to another file when the guard holds what it names than when it looked for names in it. A long file among
/// the arguments, which the guard reads in between, tells when.
const OTHER_LINK: &str = r#"
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
def lead(to):
    os.symlink(to, "link"); os.replace("link", "a")
looks = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
libc.inotify_add_watch(looks, b"big", 1)
def looked():
    try: return os.read(looks, 4096)
    except BlockingIOError: return b""
lead("a1")
child = os.fork()
if not child:
    time.sleep(0.2); os.execv(sys.argv[1], ["java", "@a", "@big"])
while os.waitpid(child, os.WNOHANG)[0] == 0:
    if looked():
        lead("a2"); time.sleep(0.5); lead("a1")
        while looked(): pass
    time.sleep(0.0005)
"#;

#[test]
fn what_a_file_of_arguments_names_is_what_was_shown() {
    let world = world().policy_text(|text| text.replace("on-miss", "always"));
    // It prints what it is told to run: only the name of the program counts.
    let prints = "#include <stdio.h>\n#include <unistd.h>\nint main(int c, char **w) { char b[64] = {0}; FILE *f = fopen(w[1] + 1, \"r\"); \
        if (f && fread(b, 1, 63, f)) puts(b); return 0; }";
    guard_tests::compile(prints, &world.root().join("bin/java"), &[]);
    for (name, text) in
        [("a1", "-cp good.jar Main\n"), ("a2", "-cp BAD.jar Main\n"), ("good.jar", ""), ("BAD.jar", "")]
    {
        world.write(format!("work/{name}"), text);
    }
    world.write("work/big", " ".repeat(12 << 20));
    let held = world.start(&["python3", "-S", "-c", OTHER_LINK, &path(&world, "bin/java")]);
    let (_, ended) = held.answer_all(|_| {
        // The answer comes when the name leads where it led at the first look.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        "allow-once"
    });
    assert!(!ended.stdout.contains("BAD"), "{ended:?}");
}

/// java reads quotes and backslashes, takes values of options, and lists of files.
#[test]
fn each_word_of_a_file_of_arguments_counts() {
    let world = world().policy_text(|text| text.replace("on-miss", "always"));
    guard_tests::compile("int main(void) { return 0; }", &world.root().join("bin/java"), &[]);
    for name in ["e.jar", "f.jar", "a b.jar"] {
        world.write(format!("work/{name}"), "");
    }
    let java = path(&world, "bin/java");
    let long = (0..1025).map(|number| format!("x{number} ")).collect::<String>() + "e.jar";
    for (text, named) in [
        ("-cp \"e.j\\ar\" Main", Some("e.jar")),
        ("--class-path=e.jar", Some("e.jar")),
        ("-cp 'a b.jar'", Some("a b.jar")),
        ("-cp e.jar:f.jar", Some("f.jar")),
        ("# don't use others\n-cp e.jar", Some("e.jar")),
        ("-cp \"e.\\\n  jar\"", Some("e.jar")),
        ("-javaagent:e.jar=x", Some("e.jar")),
        (long.as_str(), None),
    ] {
        world.write("work/args", text);
        let (asked, ended) = world.start(&[&java, "@args"]).answer_all(|_| "deny");
        let files = asked.first().map(|asked| asked["files"].to_string()).unwrap_or_default();
        match named {
            Some(named) => {
                assert!(files.contains(&path(&world, &format!("work/{named}"))), "{text}: {files}")
            }
            None => assert!(files.is_empty() && ended.stderr.contains("too long"), "{files} {ended:?}"),
        }
    }
}

/// Files of options name files, too.
#[test]
fn what_a_file_of_options_names_is_bound() {
    for (program, arguments, text) in [
        ("java", "-XX:VMOptionsFile=options", "-javaagent:e.jar=x"),
        ("node", "--env-file=options x.js", "NODE_OPTIONS=--require=./e.jar"),
        ("node", "--env-file options x.js", "NODE_OPTIONS='--import ./e.jar'"),
        ("java", "-cp 'lib/*' Main", ""),
    ] {
        let world = world().policy_text(|text| text.replace("on-miss", "always"));
        let program = path(&world, &format!("bin/{program}"));
        guard_tests::compile("int main(void) { return 0; }", program.as_ref(), &[]);
        for (name, text) in [("e.jar", ""), ("lib/a.jar", ""), ("x.js", ""), ("options", text)] {
            world.write(format!("work/{name}"), text);
        }
        let is_it = |asked: &Value| asked["argv"][0] == *program;
        let held = world.start(&["bash", "-c", &format!("exec {program} {arguments}")]);
        let (asked, ended) = held.answer_all(|asked| if is_it(asked) { "deny" } else { "allow-once" });
        let asked = asked.into_iter().find(is_it).unwrap_or_else(|| panic!("{arguments}: {}", ended.stderr));
        let shown =
            if text.is_empty() { (&asked["inputs"], "work/lib") } else { (&asked["files"], "work/e.jar") };
        assert!(shown.0.to_string().contains(&path(&world, shown.1)), "{arguments}: {asked}");
    }
}

/// The program reads its arguments so that another file runs than a first look would say.
#[test]
fn a_file_with_an_unusual_name_is_bound() {
    for (program, arguments, file, evil) in [
        ("perl", "-D- -x good.pl", "-x", "#!perl\nprint 'BAD';"),
        ("perl", "-w- -x good.pl", "-x", "#!perl\nprint 'BAD';"),
        ("perl", "-0x41I evil.pl good.pl", "evil.pl", "print 'BAD'"),
        ("make", "-f '~/evil.mk'", "evil.mk", "all:\n\t@echo BAD\n"),
        ("tclsh", "'~/evil.tcl'", "evil.tcl", "puts BAD"),
        ("gdb", "-nx -batch -x '~/evil.gdb'", "evil.gdb", "echo BAD"),
        ("gdb", "-nx -batch -ex 'source ~/evil.gdb'", "evil.gdb", "echo BAD"),
        ("gdb", "-nx -batch -x -e.gdb", "-e.gdb", "echo BAD"),
        ("sqlite3", "-init -e.sql :memory: 'select 1'", "-e.sql", ".print BAD"),
        ("sqlite3", ":memory: '. read evil.sql'", "evil.sql", ".print BAD"),
        ("node", "--import ./%65vil.mjs good.js", "evil.mjs", "console.log('BAD')"),
        ("node", "--import './evil.mjs?x' good.js", "evil.mjs", "console.log('BAD')"),
    ] {
        if !has(&[program]) {
            continue;
        }
        let world = world().policy_text(|text| text.replace("on-miss", "always"));
        for name in [file, "good.pl", "good.js"] {
            world.write(format!("work/{name}"), if name == "-x" { "#!perl\n" } else { "" });
        }
        let program = program_text(program);
        let held = world.start(&["bash", "-c", &format!("HOME=$PWD exec {program} {arguments}")]);
        let (_, ended) = held.answer_all(|asked| {
            if asked["argv"][0] == *program {
                world.write(format!("work/{file}"), evil);
            }
            "allow-once"
        });
        assert!(!ended.stdout.contains("BAD"), "{program} {arguments}: {}", ended.stdout);
        assert!(ended.stderr.contains("changed while waiting"), "{program} {arguments}: {}", ended.stderr);
    }
}

/// perl reads the descriptor, and not the name.
#[test]
fn a_script_of_perls_that_is_named_by_a_descriptor_is_not_asked_for() {
    let world = world().policy_text(|text| text.replace("on-miss", "always"));
    world.write("work/x.pl", "print 'BAD'");
    let perl = program_text("perl");
    let held = world.start(&["bash", "-c", &format!("exec 3< x.pl; exec {perl} /dev/fd/3")]);
    let (_, ended) = held.answer_all(|_| "allow-once");
    assert!(!ended.stdout.contains("BAD"), "{}", ended.stdout);
    assert!(ended.stderr.contains("named by a descriptor"), "{}", ended.stderr);
}

/// node goes up from what is written, the kernel from where a link leads: such a name is not certain.
#[test]
fn a_script_whose_name_goes_up_from_a_link_is_not_asked_for() {
    if !has(&["node"]) {
        return;
    }
    for argv in
        [&["node", "link/../x.js"][..], &["node", "l.js"], &["./link/../x.js"], &["node", "/dev/fd/0"]]
    {
        let world = world().policy_text(|text| text.replace("on-miss", "always"));
        let node = program_text("node");
        for name in ["x.js", "sub/x.js"] {
            executable(&world.write(format!("work/{name}"), format!("#!{node}\nconsole.log('BAD')\n")));
        }
        world.write("work/sub/deep/y", "");
        std::os::unix::fs::symlink("sub/deep", world.work().join("link")).expect("a link");
        std::os::unix::fs::symlink("link/../x.js", world.work().join("l.js")).expect("a link");
        let argv: Vec<&str> = argv.iter().map(|word| if *word == "node" { &*node } else { *word }).collect();
        let line = format!("exec {} < x.js", argv.join(" "));
        let ended = world.start(&["bash", "-c", &line]).end();
        assert_eq!((ended.status, &*ended.stdout), (126, ""), "{argv:?}: {}", ended.stderr);
    }
}

/// A directory is not held, so the card says that it may run.
#[test]
fn a_directory_that_runs_is_shown_and_not_saved() {
    let world = world().policy_text(|text| {
        text.replace(r#""ask": "on-miss","#, r#""ask": "on-miss", "strictInlineEval": true,"#)
    });
    world.write("work/d/__main__.py", "print('ran')\n");
    executable(&world.write("bin/python3", fs::read(program_text("python3")).expect("python")));
    let held = world.start(&[&*path(&world, "bin/python3"), "d"]);
    let asked = world.wait_for(1).remove(0);
    let directory = path(&world, "work/d");
    let row = format!("code from {directory}: the directory {directory}, as it is when it is read");
    assert_eq!(asked["inputs"], serde_json::json!([row]), "{asked}");
    assert!(asked["always"]["never"].is_string(), "{asked}");
    assert_eq!(world.resolve(&asked, "deny").status, 0);
    held.end();
}

/// Python looks for a module in more directories than are known. The card says so where the standard library, which comes before
/// those, has none of that name.
#[test]
fn a_module_that_may_be_anywhere_is_shown_and_not_saved() {
    let world = world().policy_text(|text| {
        text.replace(r#""ask": "on-miss","#, r#""ask": "on-miss", "strictInlineEval": true,"#)
    });
    executable(&world.write("bin/python3", fs::read(program_text("python3")).expect("python")));
    let held = world.start(&[&*path(&world, "bin/python3"), "-m", "anywhere.x"]);
    let asked = world.wait_for(1).remove(0);
    let row = "code from -m anywhere.x: the module anywhere.x, wherever the program finds it";
    assert_eq!(asked["inputs"], serde_json::json!([row]), "{asked}");
    assert!(asked["always"]["never"].is_string(), "{asked}");
    assert_eq!(world.resolve(&asked, "deny").status, 0);
    held.end();
}

/// A module of the current directory is not the one that runs where options leave that directory out, and one of the library
/// is not where a virtual environment of the tree's may name another library.
#[test]
fn a_module_that_is_left_out_is_not_taken_for_certain() {
    let python = program_text("python3");
    let linked = "work/v/bin/python3";
    for (program, words, variable, is_certain) in [
        (&*python, &["-m", "here"][..], None, true),
        (&*python, &["-B", "-m", "json.tool"], None, true),
        (&*python, &["-I", "-m", "here"], None, false),
        (&*python, &["-BP", "-m", "here"], None, false),
        (&*python, &["-m", "here"], Some("PYTHONSAFEPATH"), false),
        (linked, &["-m", "json.tool"], None, false),
    ] {
        let world = world().policy_text(|text| text.replace("on-miss", "always"));
        world.write("work/here.py", "");
        world.write("work/v/pyvenv.cfg", "home = /nowhere\n");
        fs::create_dir(world.work().join("v/bin")).expect("a directory");
        std::os::unix::fs::symlink(&python, world.root().join(linked)).expect("a link");
        let program = if program == linked { path(&world, linked) } else { program.to_owned() };
        let set = variable.map(|name| format!("{name}=1"));
        let argv: Vec<&str> = [program.as_str()].into_iter().chain(words.iter().copied()).collect();
        let held = match &set {
            Some(set) => world.start(&[&["env", set][..], &argv].concat()),
            None => world.start(&argv),
        };
        let is_python = |asked: &Value| asked["argv"][0] == *program;
        let (asked, _) = held.answer_all(|asked| if is_python(asked) { "deny" } else { "allow-once" });
        let inputs = asked.into_iter().find(is_python).expect("a question")["inputs"].to_string();
        assert_eq!(!inputs.contains("wherever"), is_certain, "{argv:?} {set:?}: {inputs}");
    }
}

/// The kernel names such a script by its descriptor, and node looks where that leads by then.
#[test]
fn a_script_that_is_started_by_a_descriptor_is_not_asked_for() {
    if !has(&["node"]) {
        return;
    }
    let world = world().policy_text(|text| text.replace("on-miss", "always"));
    let node = program_text("node");
    executable(&world.write("work/x.js", format!("#!{node}\nconsole.log('BAD')\n")));
    let line = "import os\nfd = os.open('x.' + 'js', os.O_RDONLY)\nos.set_inheritable(fd, True)\nos.execve(fd, ['x'], os.environ)";
    let held = world.start(&["python3", "-S", "-c", line]);
    world.answer("allow-once");
    let ended = held.end();
    assert_eq!(ended.stdout, "", "{ended:?}");
    assert!(ended.stderr.contains("named by a descriptor"), "{ended:?}");
}

/// The guard opens no files of other processes, and a name by a descriptor may lead elsewhere later.
#[test]
fn names_of_processes_files_are_shown_as_what_is_not_held() {
    if !has(&["node"]) {
        return;
    }
    let world = world().policy_text(|text| text.replace("on-miss", "always"));
    let node = program_text("node");
    world.write("work/x.js", "");
    world.write("work/pre.js", "");
    let line = format!("exec 9< pre.js; exec {node} -r /proc/$PPID/cwd/pre.js -r /dev/fd/9 x.js");
    let is_node = |asked: &Value| asked["argv"][0] == *node;
    let held = world.start(&["bash", "-c", &line]);
    let (asked, _) = held.answer_all(|asked| if is_node(asked) { "deny" } else { "allow-once" });
    let inputs = asked.into_iter().find(is_node).expect("node's question")["inputs"].to_string();
    assert!(inputs.contains("/cwd/pre.js") && inputs.contains("/dev/fd/9"), "{inputs}");
}

/// A file that a known command reads, and that is made after the question, is not found.
#[test]
fn a_file_for_a_command_is_not_made_after_the_question() {
    if !has(&["sqlite3"]) {
        return;
    }
    let world = world().policy_text(|text| text.replace("on-miss", "always"));
    let held = world.start(&[&*program_text("sqlite3"), ":memory:", ".read  new.sql"]);
    let asked = world.wait_for(1).remove(0);
    world.write("work/new.sql", ".print BAD");
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    let ended = held.end();
    assert!(!ended.stdout.contains("BAD"), "{} {}", ended.stdout, ended.stderr);
}

/// Some programs open a file twice (`java -jar`, emacs). What others write there meanwhile is not what runs.
#[test]
fn a_bound_file_is_read_twice_as_it_was_approved() {
    let world = world();
    executable(&world.write("bin/gmake", fs::read(program_text("make")).expect("make")));
    let text = "$(info approved)\nall: ; @:\n";
    let file = world.write("work/x.mk", text);
    let fifo = world.work().join("go");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(made.success());
    let held = world.start(&[&*path(&world, "bin/gmake"), "-f", "x.mk", "-f", "go", "-f", "x.mk"]);
    world.answer("allow-once");
    // This opens once make has read the first.
    let writer = fs::File::options().write(true).open(&fifo).expect("to let it go on");
    fs::write(&file, "$(info BAD)\nall: ; @:\n").expect("to write");
    drop(writer);
    let ended = held.end();
    assert!(ended.stdout.starts_with("approved\napproved\n"), "{} {}", ended.stdout, ended.stderr);
    assert!(!ended.stdout.contains("BAD"), "{}", ended.stdout);
}

/// A file that turns out to be data of the program's is read as the program has written it.
#[test]
fn a_bound_file_that_its_program_writes_is_read_as_it_stands() {
    let world = world();
    executable(&world.write("bin/awk", fs::read(program_text("awk")).expect("awk")));
    let text =
        "BEGIN { getline l < \"data\"; print l; close(\"data\"); print \"new\" > \"data\"; close(\"data\")
        getline l < \"data\"; print l }\n";
    world.write("work/x.awk", text);
    world.write("work/data", "old\n");
    let held = world.start(&[&*path(&world, "bin/awk"), "-f", "x.awk", "data"]);
    let asked = world.answer("allow-once");
    assert_eq!(asked["files"].as_array().map(Vec::len), Some(2), "{asked}");
    let ended = held.end();
    assert_eq!(ended.stdout, "old\nnew\n", "{}", ended.stderr);
}

/// Starts a program, checks its question with the real path of `evil`, changes that file, and then lets it run.
fn changed_meanwhile(program: &str, arguments: &[&str], evil: &str, check: impl Fn(&Value, &str)) -> Ended {
    let world = world().policy_text(|text| text.replace("on-miss", "always"));
    for directory in ["", "d/"] {
        for name in ["good", "evil"] {
            for ending in ["pl", "py", "js", "sh", "mk", "awk", "gdb", "php", "sql", "jq", "el"] {
                let text = if ending == "jq" { "1" } else { "" };
                world.write(format!("work/{directory}{name}.{ending}"), text);
            }
            world.write(format!("work/{directory}{name}.rb"), "#!ruby\n");
        }
    }
    for name in [
        "d/index.js",
        "d/__main__.py",
        "pk/evil.js",
        "both/index.js",
        "both.js",
        "marked/index.js",
        "marked/evil.js",
    ] {
        world.write(format!("work/{name}"), "");
    }
    world.write("work/pk/package.json", "{\"main\": \"evil.js\"}");
    // node takes such a mark away.
    world.write("work/marked/package.json", "\u{feff}{\"main\": \"evil.js\"}");
    // By its path: a name would be tried in each directory of PATH.
    let held = world.start(&[&[&*program_text(program)][..], arguments].concat());
    let asked = world.wait_for(1).remove(0);
    check(&asked, &path(&world, &format!("work/{evil}")));
    let bad = match evil.rsplit('.').next() {
        Some("js") => "console.log('BAD')",
        Some("mk") => "all:\n\techo BAD\n",
        Some("awk") => "BEGIN { print \"BAD\" }",
        Some("sh" | "gdb") => "echo BAD",
        Some("php") => "BAD",
        Some("sql") => ".print BAD",
        Some("jq") => "\"BAD\"",
        Some("el") => "(princ \"BAD\")",
        Some("rb") => "#!ruby\nprint(\"BAD\")",
        _ => "print(\"BAD\")",
    };
    world.write(format!("work/{evil}"), bad);
    assert_eq!(world.resolve(&asked, "allow-once").status, 0);
    held.end()
}

#[test]
fn the_newest_of_one_name_is_read() {
    let world = world();
    executable(&world.write("work/t", "#!/bin/sh\necho one\ntest \"$1\" || { mv t2 t; exec ./t again; }\n"));
    executable(&world.write("work/t2", "#!/bin/sh\necho two\n"));
    let held = world.start(&["./t"]);
    world.answer("allow-once");
    world.answer("allow-once");
    assert_eq!(held.end().stdout, "one\ntwo\n");
}

#[test]
fn a_child_that_opens_the_script_gets_it() {
    for line in ["sh \"$0\"; exit", "sh .//t; exit", "exec sh \"$PWD/t\"", "sh -c 'sh ./t; exit'; exit"] {
        let world = world();
        let text = format!(
            "#!/usr/bin/env -S sh -c 'echo up; while test -e wait; do sleep 0.1; done; {}'\necho approved\n",
            line.replace('\'', "\\'")
        );
        executable(&world.write("work/t", text));
        world.write("work/wait", "");
        let held = world.start(&["./t"]);
        world.answer("allow-once");
        until("it runs", || held.stdout().contains("up"));
        // The test replaces the script, since the tree cannot.
        fs::write(world.work().join("u"), "echo BAD\n").expect("to write");
        fs::rename(world.work().join("u"), world.work().join("t")).expect("to replace");
        fs::remove_file(world.work().join("wait")).expect("to go on");
        let ended = held.end();
        assert_eq!(ended.stdout, "up\napproved\n", "{line}: {}", ended.stderr);
    }
}

#[test]
fn once_it_is_open_others_see_what_stands_there() {
    let world = world();
    let text = "#!/bin/sh\nsed -i s/old/new/ t\ncat t | tail -n 1\nmv t u; mv u t\nrm t\n# old\n";
    executable(&world.write("work/t", text));
    let held = world.start(&["./t"]);
    world.answer("allow-once");
    let ended = held.end();
    assert_eq!((&*ended.stdout, &*ended.stderr.replace('\n', "|")), ("# new\n", &*waits(&ended)));
    assert!(!world.work().join("t").exists());
}

#[test]
fn until_it_is_open_its_names_stay() {
    for line in ["mv d/t u", "rm d/t", "mv u d/t", "mv d e", "ln -sfn ../u d/link", "mv d/link u"] {
        let world = world();
        let text = format!("#!/usr/bin/env -S sh -c '{line}; exec sh \"$0\"'\necho approved\n");
        executable(&world.write("work/d/t", text));
        world.write("work/u", "echo BAD\n");
        std::os::unix::fs::symlink("t", world.work().join("d/link")).expect("a link");
        let held = world.start(&["./d/link"]);
        world.answer("allow-once");
        let ended = held.end();
        assert_eq!(ended.stdout, "approved\n", "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("busy"), "{line}: {}", ended.stderr);
    }
}

/// Returns the one line that reports a waiting call.
fn waits(ended: &Ended) -> String {
    ended.stderr.lines().next().map(|line| format!("{line}|")).unwrap_or_default()
}

/// Starts a program and attacks its script as soon as it runs, until that succeeds or the program ends.
const ATTACK: &str = r"
import os, sys
manner, argv = sys.argv[1], sys.argv[2:]
os.symlink('bad', 'l')
pid, me = os.getpid(), os.fork()
if manner.startswith('below '):
    # The program's own child, from before it.
    if me: os.execv(argv[0], argv)
    manner = manner[6:]
elif me: pid = me
else: os.execv(argv[0], argv)
def comm(): return open('/proc/%d/comm' % pid).read()
def ended(): return pid != me and os.getppid() != pid or pid == me and os.waitpid(pid, os.WNOHANG)[0]
def swap():
    open(argv[0]).read()
    if manner == 'rename': os.rename('bad', 't')
    elif manner == 'link': os.rename('l', 't')
    elif manner == 'directory':
        os.unlink('t')
        os.rename('d', 't')
before = comm()
while comm() == before: pass
while True:
    try:
        swap()
        break
    except OSError as error: pass
    if ended(): sys.exit()
if pid == me: os.waitpid(pid, 0)
";

fn attacked(world: &World, manner: &str, argv: &[&str]) -> Ended {
    world.write("work/attack.py", ATTACK);
    let held = world.start(&[&["/usr/bin/python3", "attack.py", manner], argv].concat());
    world.answer("allow-once");
    held.end()
}

#[test]
fn an_interpreter_that_looks_before_it_opens_finds_the_script() {
    for (interpreter, good, bad) in [
        ("/usr/bin/node", "console.log('approved')", "console.log('BAD')"),
        ("/usr/bin/python3", "print('approved')", "print('BAD')"),
        ("/usr/bin/php", "<?php echo 'approved', \"\\n\";", "<?php echo 'BAD', \"\\n\";"),
        ("/usr/bin/bash", "echo approved", "echo BAD"),
    ] {
        if !Path::new(interpreter).exists() {
            println!("without {interpreter}");
            continue;
        }
        for manner in ["link", "directory", "rename", "below link", "below directory"] {
            for _ in 0..rounds(1, 10) {
                let world = world();
                executable(&world.write("work/t", format!("#!{interpreter}\n{good}\n")));
                world.write("work/bad", format!("{bad}\n"));
                world.write("work/d/__main__.py", format!("{bad}\n"));
                let ended = attacked(&world, manner, &["./t"]);
                assert!(!ended.stdout.contains("BAD"), "{interpreter}, {manner}: {ended:?}");
            }
        }
    }
}

/// The caller of the program is a subreaper, so the kernel gives it the child of a child from before the program.
#[test]
fn a_child_that_the_program_did_not_start_does_not_end_the_wait() {
    const ATTACK: &str = r"
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
pid = os.getpid()
if os.fork(): os.execv('./t', ['./t'])
while not os.path.exists('up'): time.sleep(0.01)
if os.fork(): os._exit(0)
while os.getppid() != pid: time.sleep(0.01)
for _ in range(20):
    try:
        open('t').read()
        os.rename('bad', 't')
        break
    except OSError: time.sleep(0.05)
os.unlink('wait')
";
    let world = world();
    let line = "touch up; while test -e wait; do sleep 0.1; done; sh $0; exec sh $0";
    executable(&world.write("work/t", format!("#!/usr/bin/env -S sh -c '{line}'\necho approved\n")));
    world.write("work/wait", "");
    world.write("work/bad", "echo BAD\n");
    world.write("work/attack.py", ATTACK);
    let held = world.start(&["/usr/bin/python3", "attack.py"]);
    world.answer("allow-once");
    let ended = held.end();
    assert_eq!(ended.stdout, "approved\napproved\n", "{}", ended.stderr);
}

#[test]
fn a_script_that_cannot_be_held_is_not_asked_for() {
    let world = world();
    let script = world.write("work/t", "#!/bin/sh\necho BAD\nexit\n");
    executable(&script);
    let file = fs::File::options().write(true).open(&script).expect("to open");
    file.set_len((64 << 20) + 1).expect("to grow");
    drop(file);
    let ended = world.start(&["./t"]).end();
    assert_eq!((ended.status, &*ended.stdout), (126, ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("more than 64 MiB"), "{}", ended.stderr);
}

#[test]
fn processes_of_one_script_share_what_is_held() {
    let world = world();
    let script = world.write("work/t", "#!/bin/sh\nread line < go\nexit\n");
    executable(&script);
    let file = fs::File::options().write(true).open(&script).expect("to open");
    file.set_len(40 << 20).expect("to grow");
    drop(file);
    // Twenty separate copies would be more than the guard may hold.
    let line =
        "./t & for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do ./t & done; wait; echo over";
    let fifo = std::process::Command::new("mkfifo").arg(world.work().join("go")).status().expect("mkfifo");
    assert!(fifo.success());
    let held = world.start(&["bash", "-c", &format!("exec 9<> go; {line}")]);
    let asked = world.wait_for(1).remove(0);
    assert_eq!(world.resolve(&asked, "allow-session").status, 0);
    let count = || guard_tests::descendants(held.pid()).iter().filter(|pid| is_script(**pid)).count();
    until("all of them run", || count() == 20);
    fs::write(world.work().join("go"), "\n".repeat(20)).expect("to let them go");
    let ended = held.end();
    assert_eq!(ended.stdout, "over\n", "{}", ended.stderr);
    assert!(!ended.stderr.contains("too many"), "{}", ended.stderr);
}

fn is_script(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "t\n")
}

#[test]
fn a_script_that_is_not_there_yet_cannot_be_approved() {
    let world = world();
    executable(&world.write("bin/ksh", fs::read("/bin/sh").expect("a shell")));
    let ended = world.start(&[&*path(&world, "bin/ksh"), "./x"]).end();
    assert_eq!(ended.status, 126, "{ended:?}");
    assert!(ended.stderr.contains("its script cannot be read"), "{}", ended.stderr);
}
