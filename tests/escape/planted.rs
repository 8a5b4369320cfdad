//! What one or two guarded runs leave behind must not run when the operator works on: git, hg and shells, by the
//! names that they look for, wherever the runs began and whatever they moved meanwhile.

use std::process::Command;

use guard_tests::{World, ended, exchange};

/// One attack. Every step runs with `sh -c`; `$W` is the world's directory.
pub struct Planted {
    /// The operator's preparation, in `work`.
    pub before: &'static str,
    /// The guarded runs: the directory below the world in which each begins, and what it does.
    pub runs: &'static [(&'static str, &'static str)],
    /// What the operator does afterwards, in `work`.
    pub after: &'static str,
}

/// A hook that leaves the mark.
const HOOK: &str = r##"hook() { mkdir -p "$1" && printf '#!/bin/sh\ntouch "$MARK"\n' > "$1/pre-commit" && chmod +x "$1/pre-commit"; }; "##;

/// Runs all steps. Returns whether the operator ran what was planted.
fn leaves_a_mark(planted: &Planted, made: fn() -> World, is_kept: bool) -> bool {
    let world = made().with_persistence(is_kept);
    let native = |line: &str| {
        let mut command = world.native_command();
        let line = format!("exec 2>&1; set -e; {line}");
        ended(operator(&world, &mut command).args(["sh", "-c", &line]))
    };
    let prepared = native(planted.before);
    assert_eq!(prepared.status, 0, "{}", prepared.stdout);
    let mark = world.root().join("mark");
    for (directory, attack) in planted.runs {
        let mut command = world.command();
        let line = format!("{HOOK}{attack}");
        operator(&world, &mut command).current_dir(world.root().join(directory));
        let ended = ended(command.args(["--", "sh", "-c", &line]));
        assert!(!mark.exists(), "the mark is the operator's to make: {}", ended.stderr);
    }
    native(planted.after);
    mark.exists()
}

/// A text that lives as long as the tests.
pub fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// One run, which begins in `work`.
pub fn one_run(before: &'static str, attack: String, after: &'static str) -> Planted {
    Planted { before, runs: Box::leak(Box::new([("work", leaked(attack))])), after }
}

pub fn operator<'c>(world: &World, command: &'c mut Command) -> &'c mut Command {
    let root = world.root();
    command.env("MARK", root.join("mark")).env("W", &root).env("GIT_CONFIG_NOSYSTEM", "1");
    for name in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{name}_NAME"), "u").env(format!("GIT_{name}_EMAIL"), "u@example.org");
    }
    command.env_remove("GIT_CONFIG_GLOBAL")
}

/// Checks that the operator runs nothing of it, but would if nothing were protected.
pub fn comes_to_nothing(planted: &Planted) {
    for made in [World::open, World::floored] {
        assert!(
            leaves_a_mark(planted, made, false),
            "the attack does not work where nothing is kept: {:?}",
            planted.runs
        );
        assert!(
            !leaves_a_mark(planted, made, true),
            "the operator ran what the tree left: {:?}",
            planted.runs
        );
    }
}

/// The same for the many spellings of one attack: each is tried once.
pub fn each_comes_to_nothing(planted: &Planted) {
    assert!(
        leaves_a_mark(planted, World::open, false),
        "it does not work where nothing is kept: {:?}",
        planted.runs
    );
    assert!(
        !leaves_a_mark(planted, World::floored, true),
        "the operator ran what the tree left: {:?}",
        planted.runs
    );
}

const COMMIT: &str = "cd project && git commit -q --allow-empty -m x";

#[test]
fn a_repository_is_protected_wherever_the_run_begins() {
    for (directory, path) in [("", "work/project"), ("home", "../work/project"), ("work/project/sub", "..")] {
        let attack: &'static str = Box::leak(format!("hook {path}/.git/hooks").into_boxed_str());
        let runs = Box::leak(vec![(directory, attack)].into_boxed_slice());
        comes_to_nothing(&Planted { before: "git init -q project; mkdir project/sub", runs, after: COMMIT });
    }
}

#[test]
fn a_configuration_is_protected_wherever_the_run_begins() {
    let set = r#"printf '[core]\nfsmonitor = touch \\"$MARK\\"; false\n' >> work/project/.git/config"#;
    let runs = Box::leak(vec![("", set)].into_boxed_slice());
    comes_to_nothing(&Planted { before: "git init -q project", runs, after: "cd project && git status" });
}

#[test]
fn a_repository_that_lost_its_head_meanwhile_is_one() {
    for part in ["HEAD", "refs", "objects"] {
        let runs = [
            ("work/project", format!("mv .git/{part} .git/away")),
            ("work/project", format!("hook .git/hooks; mv .git/away .git/{part}")),
        ];
        let runs = runs.map(|(directory, attack)| (directory, &*Box::leak(attack.into_boxed_str())));
        comes_to_nothing(&Planted {
            before: "git init -q project",
            runs: Box::leak(Box::new(runs)),
            after: COMMIT,
        });
    }
}

#[test]
fn a_bare_repository_that_lost_its_objects_meanwhile_is_one() {
    comes_to_nothing(&Planted {
        before:
            "git init -q --bare bare.git; git init -q project; git -C project commit -q --allow-empty -m x
            cp -r bare.git/objects saved",
        runs: &[
            ("work", "rm -rf bare.git/objects"),
            ("work", "hook bare.git/hooks; mv bare.git/hooks/pre-commit bare.git/hooks/post-update"),
        ],
        after: "cp -rn saved/. bare.git/objects; git -C project push -q ../bare.git HEAD",
    });
}

#[test]
fn a_repository_that_cannot_be_searched_is_one() {
    comes_to_nothing(&Planted {
        before: "git init -q --bare bare.git; git init -q project; git -C project commit -q --allow-empty -m x",
        runs: &[(
            "work",
            r##"python3 -c '
import os
hooks = os.open("bare.git/hooks", os.O_RDONLY)
os.chmod("bare.git", 0)
try: os.write(os.open("post-update", os.O_WRONLY | os.O_CREAT, 0o755, dir_fd=hooks), b"#!/bin/sh\ntouch \"$MARK\"\n")
finally: os.chmod("bare.git", 0o755)'"##,
        )],
        after: "git -C project push -q ../bare.git HEAD",
    });
}

/// A work tree may lie in a bare repository. What makes a directory one is not the tree's to make there.
#[test]
fn a_directory_of_a_bare_repository_does_not_become_a_work_tree() {
    const BEFORE: &str = "git init -q project; git -C project commit -q --allow-empty -m x; git init -q --bare bare
        git -C bare config core.hooksPath custom; mkdir bare/custom; echo '#!/bin/sh' > bare/custom/post-update
        chmod +x bare/custom/post-update";
    const PLANT: &str = r##"printf '#!/bin/sh\ntouch "$MARK"\n' > bare/custom/post-update"##;
    let make = [
        "mkdir bare/custom/.git",
        "mkdir x; mv x bare/custom/.git",
        "git init -q bare/custom",
        "mkdir bare/custom/.GIT",
    ];
    for make in make {
        let at_once = Box::leak(format!("{make}; {PLANT}").into_boxed_str());
        for runs in [vec![("work", &*at_once)], vec![("work", make), ("work", PLANT)]] {
            let runs = Box::leak(runs.into_boxed_slice());
            comes_to_nothing(&Planted { before: BEFORE, runs, after: "git -C project push -q ../bare HEAD" });
        }
    }
}

/// A directory on the way from a protected link is shut meanwhile, so that nothing shows where the link leads.
#[test]
fn the_way_of_a_link_is_not_hidden_for_a_moment() {
    comes_to_nothing(&Planted {
        before: "mkdir -p O/project; cd O/project; git init -q; rm -rf .git/hooks; mkdir -p cfg shared/hooks
            ln -s ../cfg/hooks .git/hooks; ln -s ../shared/hooks cfg/hooks",
        runs: &[("work/O/project", "chmod a-x cfg; sleep 1.5; hook shared/hooks; chmod a+x cfg")],
        after: "cd O/project; git commit -q --allow-empty -m x",
    });
}

/// Nothing shows meanwhile that a link in it leads to where the hooks are.
#[test]
fn a_repository_is_not_hidden_for_a_moment() {
    const BEFORE: &str =
        "git init -q project; git -C project commit -q --allow-empty -m x; git init -q --bare bare
        rm -rf bare/hooks; mkdir shared; ln -s ../shared bare/hooks";
    const PLANT: &str = "hook shared; mv shared/pre-commit shared/post-update";
    // An access control list as in acl(5): version 2, and the entries of owner, group and others without rights.
    const LIST: &str = r#"python3 -c '
import os, struct
entries = b"".join(struct.pack("<HHI", tag, 0, 0xffffffff) for tag in (1, 4, 32))
os.setxattr("bare", "system.posix_acl_access", struct.pack("<I", 2) + entries)'"#;
    for hide in [
        "chmod a-x bare",
        "chmod a-r bare",
        "python3 -c 'import os; os.fchmod(os.open(\"bare\", 0), 0)'",
        LIST,
    ] {
        let attack = Box::leak(format!("{hide}; {PLANT}; chmod 755 bare").into_boxed_str());
        let runs = Box::leak(Box::new([("work", &*attack)]));
        comes_to_nothing(&Planted { before: BEFORE, runs, after: "git -C project push -q ../bare HEAD" });
    }
}

#[test]
fn a_directory_does_not_become_a_worktree() {
    comes_to_nothing(&Planted {
        before: "git init -q project; git -C project commit -q --allow-empty -m x",
        runs: &[(
            "",
            r#"cd work; cp -r project/.git evil
printf '[core]\nrepositoryformatversion = 1\nfsmonitor = touch \\"$MARK\\"; false\n[extensions]\nworktreeConfig = true\n' > evil/config
cd project; echo x > .git/HEAD; echo ref: refs/heads/main > HEAD; echo ../evil > commondir
printf '[core]\nbare = false\nworktree = %s\n' "$PWD" > config.worktree"#,
        )],
        after: "cd project && git status",
    });
}

#[test]
fn a_submodule_is_not_planted_before_it_is_initialised() {
    comes_to_nothing(&Planted {
        before: "git init -q other; git -C other commit -q --allow-empty -m x; git init -q up; cd up
            git -c protocol.file.allow=always submodule add -q ../other sub; git commit -q -m x; cd ..
            git clone -q up project",
        runs: &[(
            "work/project",
            r#"git init -q --bare .git/modules/sub
printf '[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = touch \\"$MARK\\"; false\n' > .git/modules/sub/config"#,
        )],
        after: "cd project; git -c protocol.file.allow=always submodule update --init; git status",
    });
}

#[test]
fn a_file_with_another_name_is_no_configuration() {
    let set = r#"printf '[core]\nfsmonitor = touch \\"$MARK\\"; false\n' >> x"#;
    let runs = vec![
        (
            "work",
            "printf '[core]\\nbare = false\\n' > x; ln x y; git init -q r; rm r/.git/config; mv y r/.git/config",
        ),
        ("work", set),
    ];
    comes_to_nothing(&Planted {
        before: ":",
        runs: Box::leak(runs.into_boxed_slice()),
        after: "cd r && git status",
    });
}

#[test]
fn a_repository_around_others_does_not_hide_them() {
    comes_to_nothing(&Planted {
        before: "git init -q project",
        runs: &[("work", "git init -q ."), ("work", "hook project/.git/hooks")],
        after: COMMIT,
    });
}

#[test]
fn many_names_hide_no_repository() {
    comes_to_nothing(&Planted {
        before: "git init -q zproject; for i in $(seq 3000); do echo a$i; done | xargs mkdir",
        runs: &[("work", "hook zproject/.git/hooks")],
        after: "cd zproject && git commit -q --allow-empty -m x",
    });
}

#[test]
fn many_worktrees_hide_no_submodule() {
    let submodule =
        "git init -q other; git -C other commit -q --allow-empty -m x; git init -q project; cd project
        git -c protocol.file.allow=always submodule add -q ../other sub";
    comes_to_nothing(&Planted {
        before: submodule,
        runs: &[
            ("work/project", "for i in $(seq 300); do echo .git/worktrees/w$i; done | xargs mkdir -p"),
            ("work/project", "hook .git/modules/sub/hooks"),
        ],
        after: "cd project/sub && git commit -q --allow-empty -m x",
    });
}

#[test]
fn a_repository_is_not_exchanged_for_one_of_the_trees() {
    let attacks = [
        "mv .git away; cp -r away .git; hook .git/hooks",
        "cp -r .git new; hook new/hooks; mv .git away; mv new .git",
        concat!("cp -r .git new; hook new/hooks; ", exchange!(), " .git new"),
        "cp -r .git new; hook new/hooks; rm -rf .git; mv new .git",
        "cp -r .git new; hook new/hooks; mv .git away; ln -s new .git",
        "cp -r .git new; hook new/hooks; mv .git away; echo 'gitdir: new' > .git",
        "cd ..; mv project away; cp -r away project; hook project/.git/hooks",
        "cd ..; cp -r project new; hook new/.git/hooks; mv project away; mv new project",
        "hook own; mv .git/hooks away; mv own .git/hooks",
        "hook own; mv .git/hooks away; ln -sfT ../own .git/hooks",
        "cp .git/config c; git config -f c core.hooksPath own; hook own; mv c .git/config",
    ];
    for attack in attacks {
        let runs = Box::leak(vec![("work/project", attack)].into_boxed_slice());
        comes_to_nothing(&Planted { before: "git init -q project", runs, after: COMMIT });
    }
}

#[test]
fn a_bare_repository_is_known_by_what_is_in_it() {
    let hook = r##"printf '#!/bin/sh\ntouch "$MARK"\n' > hooks/update; chmod +x hooks/update"##;
    let attacks: [&[String]; 5] = [
        &[format!("cd work/bare; {hook}")],
        &["mv work/bare/HEAD work/bare/H".into(), format!("cd work/bare; {hook}; mv H HEAD")],
        &["cd work/bare; mv HEAD H; mv refs r".into(), format!("cd work/bare; {hook}; mv r refs; mv H HEAD")],
        &[format!("cd work; cp -r bare new; cd new; {hook}; cd ..; mv bare away; mv new bare")],
        &[format!("cd work; mkdir h; ln bare/hooks/update h/update; mkdir hooks; cd bare; {hook}")],
    ];
    for attack in attacks {
        let leaked = |text: &String| ("", &*Box::leak(text.clone().into_boxed_str()));
        let runs: Vec<(&'static str, &'static str)> = attack.iter().map(leaked).collect();
        comes_to_nothing(&Planted {
            before: "git init -q --bare bare; git clone -q bare clone",
            runs: Box::leak(runs.into_boxed_slice()),
            after: "cd clone && git commit -q --allow-empty -m x && git push -q origin HEAD",
        });
    }
}

#[test]
fn hooks_that_the_global_configuration_names_are_protected_in_every_work_tree() {
    comes_to_nothing(&Planted {
        before: "git config --global core.hooksPath .githooks; git init -q project",
        runs: &[("", "hook work/project/.githooks")],
        after: COMMIT,
    });
}

#[test]
fn startup_files_of_shells_and_editors_are_protected_in_every_directory() {
    for name in [".envrc", ".vscode/tasks.json", ".idea/workspace.xml", ".claude/settings.json"] {
        let attack =
            format!("mkdir -p $(dirname deep/er/{name}); echo evil > deep/er/{name}; echo evil > new/{name}");
        let after = format!("[ ! -e deep/er/{name} ] || touch \"$MARK\"");
        comes_to_nothing(&Planted {
            before: "mkdir -p deep/er",
            runs: Box::leak(vec![("work", &*Box::leak(attack.into_boxed_str()))].into_boxed_slice()),
            after: Box::leak(after.into_boxed_str()),
        });
    }
}

#[test]
fn other_repositories_are_protected_too() {
    for name in [
        ".hg/hgrc",
        ".hg/requires",
        ".hg/sharedpath",
        ".jj/repo/config.toml",
        ".jj/repo/store/git_target",
        "CVS/Root",
        ".bzr/branch/location",
        ".repo/repo/main.py",
        ".gclient",
    ] {
        comes_to_nothing(&Planted {
            before: "mkdir -p deep/.hg deep/.jj/repo/store deep/CVS deep/.bzr/branch deep/.repo/repo",
            runs: Box::leak(
                vec![("", &*Box::leak(format!("echo > work/deep/{name}").into_boxed_str()))]
                    .into_boxed_slice(),
            ),
            after: Box::leak(format!("[ ! -e deep/{name} ] || touch \"$MARK\"").into_boxed_str()),
        });
    }
}

#[test]
fn other_repositories_are_not_cleared_away() {
    let kept = [
        (".hg", "requires", "hgrc"),
        (".jj", "repo/store/type", "repo/config.toml"),
        (".sl", "requires", "config"),
    ];
    for (name, part, config) in kept {
        for away in ["rm -rf", "mv -t away"] {
            let leak = |text: String| &*Box::leak(text.into_boxed_str());
            let line = format!(
                "cd work/deep; mkdir away; {away} {name}; mkdir -p {name}/repo; echo > {name}/{config}"
            );
            comes_to_nothing(&Planted {
                before: leak(format!("mkdir -p deep/{name}/repo/store; echo > deep/{name}/{part}")),
                runs: Box::leak(vec![("", leak(line))].into_boxed_slice()),
                after: leak(format!("[ ! -e deep/{name}/{config} ] || touch \"$MARK\"")),
            });
        }
    }
}

#[test]
fn what_git_is_about_to_rename_to_its_configuration_is_protected() {
    for to in ["project/.git/config.lock", "other"] {
        let attack = format!(
            r#"cd work; [ -e {to} ] || ln project/.git/config.lock {to}
printf '[core]\nfsmonitor = touch \\"$MARK\\"; false\n' >> {to}"#
        );
        comes_to_nothing(&Planted {
            // git makes the file with the lock's name, writes it, and renames it (git's lockfile.h).
            before: "git init -q project; cp project/.git/config project/.git/config.lock",
            runs: Box::leak(vec![("", &*Box::leak(attack.into_boxed_str()))].into_boxed_slice()),
            after: "cd project; mv .git/config.lock .git/config; git status",
        });
    }
}

#[test]
fn hooks_around_those_of_husky_are_protected() {
    comes_to_nothing(&Planted {
        before: r#"git init -q project; cd project; git config core.hooksPath .husky/_; mkdir -p .husky/_ sub
            printf '#!/bin/sh\nsh .husky/pre-commit\n' > .husky/_/pre-commit; chmod +x .husky/_/pre-commit
            echo true > .husky/pre-commit"#,
        runs: &[("work/project/sub", r#"echo 'touch "$MARK"' > ../.husky/pre-commit"#)],
        after: COMMIT,
    });
}

#[test]
fn a_directory_of_path_does_not_become_a_virtual_environment() {
    for made in [World::open, World::floored] {
        let planted = |is_kept: bool| {
            let world = made().with_persistence(is_kept);
            std::fs::create_dir_all(world.root().join("work/tools/bin")).expect("a directory");
            let path = format!("{}/work/tools/bin:/usr/bin:/bin", world.root().display());
            for attack in ["echo > tools/pyvenv.cfg", "echo evil > tools/bin/ls"] {
                let mut command = world.command();
                ended(command.env("PATH", &path).args(["--", "sh", "-c", attack]));
            }
            world.root().join("work/tools/bin/ls").exists()
        };
        assert!(planted(false) && !planted(true));
    }
}

/// bash-completion looks for completions beside each directory of `PATH`.
#[test]
fn completions_beside_a_directory_of_path_are_not_written() {
    let planted = |is_kept: bool| {
        let world = World::floored().with_persistence(is_kept);
        std::fs::create_dir_all(world.root().join("work/tools/bin")).expect("a directory");
        let path = format!("{}/work/tools/bin:/usr/bin:/bin", world.root().display());
        let attack = "cd tools; d=share/bash-completion/completions; mkdir -p $d; echo evil > $d/node";
        ended(world.command().env("PATH", &path).args(["--", "sh", "-c", attack]));
        world.root().join("work/tools/share/bash-completion/completions/node").exists()
    };
    assert!(planted(false) && !planted(true));
}

/// What the tree makes itself works as without a guard.
#[test]
fn repositories_of_the_trees_own_work() {
    let script = "set -e; git init -q one; cd one; git config user.name u; git config user.email u@example.org
        echo x > x; echo y > .envrc; mkdir .vscode; echo '{}' > .vscode/settings.json; git add .; git commit -q -m x
        cd ..; git clone -q one two; cat two/.envrc two/.vscode/settings.json
        git init -q --bare three; cd two; git remote add other ../three; git push -q other HEAD
        git worktree add -q ../four HEAD; cd ../four; git status --short; git commit -q --allow-empty -m z; cd ..
        git init -q five; cd five; git config user.name u; git config user.email u@example.org
        git -c protocol.file.allow=always submodule add -q ../one sub; git commit -q -m s; cd ..
        mv two moved; git -C moved log --oneline | wc -l; mkdir new; mv moved new/two; tar cf - new | tar xf - -C five
        rm -rf one five; echo done";
    for made in [World::open, World::floored] {
        let world = made().with_persistence(true);
        let mut command = world.command();
        let ended = ended(operator(&world, &mut command).args(["--", "sh", "-c", script]));
        assert_eq!((ended.stdout.as_str(), ended.status), ("y\n{}\n1\ndone\n", 0), "{}", ended.stderr);
    }
}
