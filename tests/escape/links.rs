//! Links of the tree's that the operator's programs would follow: an editor, `tar x`, `cp`, git.

use guard_tests::{World, ended, exchange};

use crate::planted::{Planted, comes_to_nothing, each_comes_to_nothing, operator};

/// The operator writes what the tree would have them write, wherever the link is, and starts the next shell.
const WRITTEN: &str = r#"w() { printf 'touch "$MARK"\n' > "$1"; }
        if [ -d out ]; then w out/.bashrc; elif [ -L c/out ]; then w c/out; elif [ -L out ]; then w out; fi; sh -c '. ~/.bashrc'"#;

fn led(attack: &'static str) -> Planted {
    Planted {
        before: "echo : > ~/.bashrc; mkdir -p d/e",
        runs: Box::leak(Box::new([("work", attack)])),
        after: WRITTEN,
    }
}

#[test]
fn no_link_leads_to_what_is_protected() {
    comes_to_nothing(&led("ln -s ~/.bashrc out"));
    for attack in [
        "ln -s ../home/.bashrc out",
        "ln -s d/../../home/.bashrc out",
        "ln -s ~ out",
        "ln -s ../home/ out",
        "ln -s / root; ln -s \"root$(echo ~)/.bashrc\" out",
        // It leads elsewhere from its new place: by its own move, as a hard link, or in a directory.
        "ln -s ../home/.bashrc d/out; mv d/out out",
        "ln -s ../home/.bashrc d/out; ln d/out out",
        "ln -s ../../home/.bashrc d/e/out; mv d/e c",
        concat!("echo > out; ln -s ../home/.bashrc d/out; ", exchange!(), " out d/out"),
        // What is missing is made later, as a link.
        "ln -s m/../home/.bashrc out; ln -s \"$W/work\" m",
        "ln -s d/e/.bashrc out; rmdir d/e; ln -s ~ d/e",
    ] {
        each_comes_to_nothing(&led(attack));
    }
}

/// The operator stands in the home, and names the link from there.
#[test]
fn no_link_leads_to_the_directory_of_whoever_follows_it() {
    let from_home = |attack: &'static str| Planted {
        after: r#"cd ~; printf 'touch "$MARK"\n' > "$W/work/out"; sh -c '. ~/.bashrc'"#,
        ..led(attack)
    };
    comes_to_nothing(&from_home("ln -s /proc/self/cwd/.bashrc out"));
    for attack in [
        "ln -s /proc/self p; ln -s p/cwd/.bashrc out",
        "ln -s p/cwd/.bashrc out; ln -s /proc/self p",
        "ln -s /proc p; ln -s p/thread-self/cwd/.bashrc out",
        "ln -s /proc/self/fd p; ln -s p/../cwd/.bashrc out",
        "ln -s p/../cwd/.bashrc out; ln -s /proc/self/fd p",
        "ln -s /proc/self/cwd/.bashrc d/out; mv d/out out",
    ] {
        each_comes_to_nothing(&from_home(attack));
    }
}

/// Processes of the tree's choose later what their names in /proc lead to.
#[test]
fn no_link_leads_through_a_process() {
    let world = World::bare();
    for target in [
        "/proc/$$/fd/9/.bashrc",
        "/proc/$$/fd",
        "/proc/$$/root$HOME/.bashrc",
        "/proc/4194303/root$HOME/.bashrc",
        "/proc/$$/task/$$/cwd/x",
        "/proc/self/fd/9/.bashrc",
        "/proc/self/task",
    ] {
        let ended = world.sh(&format!("exec 9< .; ln -s {target} out"));
        let is_there = std::fs::symlink_metadata(world.work().join("out")).is_ok();
        assert!(
            !is_there && ended.stderr.contains("would lead your programs there"),
            "{target}: {}",
            ended.stderr
        );
    }
    let fine = world.sh("ln -s /proc/self/fd/0 in && ln -s /proc/self/mounts mtab && ln -s /proc/self/fd fd");
    assert_eq!((fine.status, fine.guard_lines()), (0, vec![]), "{}", fine.stderr);
}

/// A copy of the operator's would write the protected file in it.
#[test]
fn no_link_leads_to_a_directory_that_holds_what_is_protected() {
    let copied = |attack: &'static str| Planted {
        before: "mkdir -p ~/.cargo new d; echo : > ~/.cargo/env; printf 'touch \"$MARK\"\n' > new/env",
        after: "cp new/env out/; sh -c '. ~/.cargo/env'",
        ..led(attack)
    };
    comes_to_nothing(&copied("ln -s ~/.cargo out"));
    each_comes_to_nothing(&copied("ln -s ~/.cargo d/out; mv d/out out"));
}

/// The first is judged while its names lead to what the tree has made. The second exchanges one of them.
#[test]
fn no_two_links_together_lead_to_what_is_protected() {
    let committed = |attack: &'static str| Planted {
        before: "git init -q .",
        after: r##"if [ -L out ]; then printf '#!/bin/sh\ntouch "$MARK"\n' > out; chmod +x out; fi; git commit -q --allow-empty -m x"##,
        ..led(attack)
    };
    comes_to_nothing(&committed(
        "mkdir -p q/.git/hooks; ln -s q/.git/hooks/pre-commit out; rm -r q; ln -s . q",
    ));
    for attack in [
        "mkdir -p q/.git/hooks; ln -s \"$PWD/q/.git/hooks/pre-commit\" out; rm -r q; ln -s . q",
        "mkdir -p d q/.git/hooks; ln -s ../q/.git d/g; ln -s d/g/hooks/pre-commit out; rm -r q; ln -s . q",
        "mkdir -p q/.git/hooks; ln -s q/.git/hooks hooks; ln -s hooks/pre-commit out; rm -r q; ln -s . q",
    ] {
        each_comes_to_nothing(&committed(attack));
    }
    // A bare repository is one by what is in it.
    each_comes_to_nothing(&Planted {
        before: "git init -q --bare r.git; git init -q p; git -C p commit -q --allow-empty -m x",
        runs: &[("work", "mkdir -p q/hooks; ln -s q/hooks/post-update out; rm -r q; ln -s r.git q")],
        after: r##"if [ -L out ]; then printf '#!/bin/sh\ntouch "$MARK"\n' > out; chmod +x out; fi; git -C p push -q ../r.git HEAD"##,
    });
    // What is protected by its own path.
    each_comes_to_nothing(&Planted {
        before: "mkdir ~/.cargo; echo : > ~/.cargo/env",
        runs: &[("home/.cargo", "mkdir q; echo > q/env; ln -s q/env out; rm -r q; ln -s . q")],
        after: r#"cd ~/.cargo; if [ -L out ]; then printf 'touch "$MARK"\n' > out; fi; sh -c '. ~/.cargo/env'"#,
    });
}

/// Where the tree may start programs, a link to one of them is fine. A copy of the operator's makes what is missing.
#[test]
fn no_link_leads_to_where_a_program_would_be_made() {
    let started = |attack: &'static str| Planted {
        before: "mkdir -p ~/.local/bin",
        after: r##"if [ -d out ]; then out=out/tool; else out=out; fi
            if [ -L out ]; then printf '#!/bin/sh\ntouch "$MARK"\n' > $out; chmod +x $out; fi; ~/.local/bin/tool"##,
        ..led(attack)
    };
    comes_to_nothing(&started("ln -s ~/.local/bin/tool out"));
    each_comes_to_nothing(&started("ln -s ~/.local/bin out"));
}

/// The same with a file that a rule withholds, and with a repository of the operator's in the workspace.
#[test]
fn no_link_leads_to_what_may_not_be_written() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rwx", "~/notes/**": "r--", "@/holds/**": "rw-"},
            "deny": ["@/shut/**", "@/holds/token"], "default": "---"}}}"#,
    );
    let mut command = world.native_command();
    let before =
        "git init -q project; mkdir ~/notes ../shut ../holds; echo x > ~/notes/x; echo x > ../shut/x";
    assert_eq!(ended(operator(&world, &mut command).args(["sh", "-c", before])).status, 0);
    for target in [
        "~/notes/x",
        "~/notes/new",
        "~/missing/x",
        "../shut/x",
        "../holds",
        "project/.git/hooks/pre-commit",
        "project/.git",
    ] {
        let ended = world.sh(&format!("ln -s {target} out"));
        assert_ne!(ended.status, 0, "{target}");
        assert!(
            ended.stderr.contains("/work/out would lead your programs there"),
            "{target}: {}",
            ended.stderr
        );
        assert!(std::fs::symlink_metadata(world.work().join("out")).is_err(), "{target}");
    }
}

#[test]
fn no_name_and_no_directory_takes_a_link_past_the_rules() {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"}, "permissions": {"filesystem": {
            "rules": {SYSTEM, "@/work/**": "rwx", "@/work/testing/**": "---", "~/notes/**": "r--"}, "default": "---"}}}"#,
    );
    std::fs::create_dir_all(world.work().join("theirs")).expect("a directory");
    std::os::unix::fs::symlink(world.home().join(".bashrc"), world.work().join("theirs/out"))
        .expect("a link");
    for (line, name) in
        [("ln -s testing x", "x"), ("ln -s testing tAbCdEf", "tAbCdEf"), ("mv theirs moved", "moved/out")]
    {
        world.write("work/testing/f", "x");
        let ended = world.sh(line);
        assert!(std::fs::symlink_metadata(world.work().join(name)).is_err(), "{line}: {}", ended.stderr);
    }
}

/// Links of everyday work.
#[test]
fn links_of_everyday_work_are_made_silently() {
    let script = r#"set -e; PATH=/usr/bin:/bin
        ln -s /usr/bin/python3 python; ln -s missing dangling; ln -s . here; ln -s /etc/localtime time
        mkdir -p node_modules/.bin node_modules/x packages/y; echo > node_modules/x/cli.js
        ln -s ../x/cli.js node_modules/.bin/x; ln -s ../packages/y node_modules/y; mv node_modules nm; mv nm node_modules
        ln -s ../../node_modules packages/y/node_modules; mv packages/y packages/z; mv packages/z/node_modules packages/nm
        ln -s "$PWD/packages/../python" again; cp -a packages copy; mv again other; ln other third
        python3 -m venv --without-pip .venv; .venv/bin/python -c 'print("runs")'; mv .venv venv; rm -r venv
        git init -q own; ln -s ../../hook own/.git/hooks/x; mkdir own/.vscode; (cd own; ln -s .vscode settings; ln -s .git git); rm -rf own
        mkdir -p root/etc/alternatives root/usr/bin; ln -s /etc/alternatives/awk root/usr/bin/awk; ln -s /proc/self/mounts root/etc/mtab
        ln -s /lib/systemd/system/x.service root/etc/x.service; tar cf t.tar root; rm -r root; tar xf t.tar; echo done"#;
    for made in [World::open, World::floored] {
        let world = made().with_persistence(true);
        let mut command = world.command();
        let ended = ended(operator(&world, &mut command).args(["--", "sh", "-c", script]));
        assert_eq!((ended.stdout.as_str(), ended.status), ("runs\ndone\n", 0), "{}", ended.stderr);
        assert_eq!(ended.guard_lines(), [""; 0]);
    }
}

/// What a protected name of the operator's leads to runs by that name.
#[test]
fn what_a_protected_name_leads_to_is_protected() {
    let before = "git init -q project; mkdir -p project/tools/hooks; rm -rf project/.git/hooks
        ln -s ../tools/hooks project/.git/hooks";
    let commit = "cd project && git commit -q --allow-empty -m x";
    for attack in [
        "hook project/tools/hooks",
        "cd project/tools; hook hooks",
        "mkdir new; hook new; mv new/pre-commit project/tools/hooks/",
        "mkdir new; hook new; rm -r project/tools/hooks; mv new project/tools/hooks",
        "mkdir -p new/hooks; hook new/hooks; mv project/tools away; mv new project/tools",
        "mkdir -p new/hooks; hook new/hooks; mv project/tools away; ln -s ../new project/tools",
        "mkdir new; hook new; rmdir project/tools/hooks; ln -s ../../new project/tools/hooks",
        concat!("mkdir new; hook new; ", exchange!(), " new project/tools/hooks"),
        // The operator may not list the directory that the link is in, but git does not need to.
        "chmod a-r project project/.git; hook project/tools/hooks; chmod u+r project project/.git",
    ] {
        each_comes_to_nothing(&Planted {
            before,
            runs: Box::leak(Box::new([("work", attack)])),
            after: commit,
        });
    }
    each_comes_to_nothing(&Planted {
        before: "git init -q project; mkdir -p project/tools/hooks; rm -rf project/.git/hooks
            ln -s ../tools/hooks project/.git/hooks; cd project; seq 100001 | xargs touch",
        runs: &[("work", "hook project/tools/hooks")],
        after: commit,
    });
    let editor = "mkdir -p project/shared; ln -s shared/vscode project/.vscode";
    let settings = "mkdir -p project/shared/vscode; echo > project/shared/vscode/tasks.json";
    let after = r#"[ ! -e project/.vscode/tasks.json ] || touch "$MARK""#;
    each_comes_to_nothing(&Planted {
        before: editor,
        runs: Box::leak(Box::new([("work", settings)])),
        after,
    });
}

/// Whoever exchanges a link on the way chooses what the protected name leads to.
#[test]
fn a_link_that_a_protected_name_passes_through_is_protected() {
    let commit = "cd project && git commit -q --allow-empty -m x";
    for (before, attacks) in [
        (
            "git init -q project; mkdir project/v1; rm -rf project/.git/hooks
            ln -s ../cur project/.git/hooks; ln -s v1 project/cur",
            &[
                "mkdir new; hook new; rm project/cur; ln -s ../new project/cur",
                "hook project/v2; ln -s v2 project/c2; mv -T project/c2 project/cur",
                concat!("hook project/v2; ln -s v2 project/c2
                ", exchange!(), " project/c2 project/cur"),
                "rm project/cur; hook project/cur",
                "mv project/cur project/old; hook project/v2; mv project/v2 project/cur",
            ][..],
        ),
        (
            "git init -q project; mkdir -p project/v1/hooks; rm -rf project/.git/hooks
            ln -s ../cur/hooks project/.git/hooks; ln -s v1 project/cur",
            &["hook new/hooks; rm project/cur; ln -s ../new project/cur"],
        ),
        (
            "git init -q a; mkdir project; mv a/.git a/a.git; ln -s a/a.git link; ln -s ../link project/.git",
            &["git init -q b; hook b/.git/hooks; rm link; ln -s b/.git link"],
        ),
        (
            "git init -q project; mkdir -p tools/v1; rm -rf project/.git/hooks; ln -s ../../tools/cur project/.git/hooks
            ln -s v1 tools/cur",
            &["hook tools/v1", "hook tools/v2; rm tools/cur; ln -s v2 tools/cur"],
        ),
    ] {
        for attack in attacks {
            each_comes_to_nothing(&Planted {
                before,
                runs: Box::leak(Box::new([("work", *attack)])),
                after: commit,
            });
        }
    }
}

/// `.git` is not the only name that a git directory has.
#[test]
fn what_a_git_directory_of_any_name_leads_to_is_protected() {
    let before = "git init -q --bare r.git; mkdir -p tools/hooks tools/v1; rm -rf r.git/hooks; ln -s ../tools/hooks r.git/hooks
        cd r.git; git symbolic-ref HEAD refs/heads/x";
    let after = "git --git-dir r.git --work-tree . commit -q --allow-empty -m x";
    for attack in [
        "hook tools/hooks",
        "cd tools; hook hooks",
        "mkdir new; hook new; mv new/pre-commit tools/hooks/",
        "mkdir -p new/hooks; hook new/hooks; mv tools away; mv new tools",
    ] {
        each_comes_to_nothing(&Planted { before, runs: Box::leak(Box::new([("work", attack)])), after });
    }
}

/// The guard cannot look into a directory that its own user may not search.
#[test]
fn what_a_name_leads_to_is_protected_while_the_name_is_hidden() {
    for attack in [
        "cd project/tools; chmod a-x ..; hook hooks; chmod u+x ..",
        "chmod a-x project/.git; hook project/tools/hooks; chmod u+x project/.git",
        "chmod 0 project/.git; hook project/tools/hooks; chmod 755 project/.git",
    ] {
        each_comes_to_nothing(&Planted {
            before: "git init -q project; mkdir -p project/tools/hooks; rm -rf project/.git/hooks
                ln -s ../tools/hooks project/.git/hooks",
            runs: Box::leak(Box::new([("work", attack)])),
            after: "cd project && git commit -q --allow-empty -m x",
        });
    }
}
