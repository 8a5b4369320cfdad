//! What the operator's git makes beside a run, while it goes on, in what the tree has made: it is the operator's.

use guard_tests::{World, ended, status_of, until};

use crate::planted::operator;

/// What a run and the operator do in turn.
struct Turns {
    /// The operator's preparation, in `work`.
    before: &'static str,
    /// The run, in `work`. It lets the operator go on with `step 1`, `step 2` and so on.
    run: String,
    /// What the operator does at each step, in `work`.
    meanwhile: &'static [&'static str],
    /// What the operator does when the run has ended, in `work`.
    after: &'static str,
}

/// `hook` makes a hook that leaves the mark, in a directory; `conf` a configuration that leaves it.
const TOOLS: &str = r##"hook() { mkdir -p "$1" && printf '#!/bin/sh\ntouch "$MARK"\n' > "$1/$2" && chmod +x "$1/$2"; }
conf() { printf '[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = touch \\"$MARK\\"; false\n' > "$1"; }
step() { touch "ready$1"; until [ -e "go$1" ]; do sleep 0.02; done; }
"##;

/// Returns whether the operator ran what was planted.
fn leaves_a_mark(turns: &Turns, is_kept: bool) -> bool {
    let world = World::open().with_persistence(is_kept);
    let native = |line: &str| {
        let mut command = world.native_command();
        let line = format!("exec 2>&1; set -e; {line}");
        ended(operator(&world, &mut command).args(["sh", "-c", &line]))
    };
    let prepared = native(turns.before);
    assert_eq!(prepared.status, 0, "{}", prepared.stdout);
    let mut command = world.command();
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let line = format!("{TOOLS}{}", turns.run);
    let mut run = operator(&world, &mut command).args(["--", "sh", "-c", &line]).spawn().expect("the guard");
    for (number, line) in (1..).zip(turns.meanwhile) {
        until("the tree has come to the step", || world.work().join(format!("ready{number}")).exists());
        let done = native(&format!("{line}; touch \"$W/work/go{number}\""));
        assert_eq!(done.status, 0, "{line}: {}", done.stdout);
    }
    status_of(&mut run);
    let mark = world.root().join("mark");
    assert!(!mark.exists(), "the mark is the operator's to make");
    native(turns.after);
    mark.exists()
}

fn comes_to_nothing(turns: &Turns) {
    assert!(leaves_a_mark(turns, false), "it does not work where nothing is kept: {}", turns.run);
    assert!(!leaves_a_mark(turns, true), "the operator ran what the tree left: {}", turns.run);
}

const PROJECT: &str = "git init -q project; git -C project commit -q --allow-empty -m x";
/// The ways in which the tree puts another file in the place of `wt/.git`.
const REPLACED: [&str; 3] = [
    "echo 'gitdir: ../evil' > wt/.git",
    "echo 'gitdir: ../evil' > g; mv g wt/.git",
    "rm wt/.git; echo 'gitdir: ../evil' > wt/.git",
];

/// git opens the file that is there, and empties it.
#[test]
fn a_git_file_that_git_has_written_is_the_operators_whoever_made_it() {
    for made in ["echo > wt/.git", "echo > g; mv g wt/.git", "echo 'gitdir: ../own/.git' > wt/.git"] {
        for replaced in REPLACED {
            comes_to_nothing(&Turns {
                before: PROJECT,
                run: format!(
                    "cp -r project/.git evil; conf evil/config; git init -q own; mkdir wt; {made}; step 1; {replaced}"
                ),
                meanwhile: &[
                    r#"git -C project worktree add -q ../other HEAD; echo "$W/work/wt/.git" > project/.git/worktrees/other/gitdir
                    cat other/.git > wt/.git; rm -r other"#,
                ],
                after: "cd wt; git status",
            });
        }
    }
}

#[test]
fn a_git_file_stays_the_operators_while_the_repository_is_moved_away() {
    for replaced in REPLACED {
        comes_to_nothing(&Turns {
            before: PROJECT,
            run: format!("cp -r project/.git evil; conf evil/config; mkdir wt; step 1; {replaced}; step 2"),
            meanwhile: &[
                "git -C project worktree add -q ../wt HEAD; mv project away",
                "mv away project; git -C project worktree list",
            ],
            after: "cd wt; git status",
        });
    }
}

/// The kernel gives the inode number of a file that is gone to the next one.
#[test]
fn a_git_file_is_not_taken_for_one_that_the_tree_has_removed() {
    let spin = r#"mkdir spin $(seq -f wt%g 40)
        (until [ -e go1 ]; do for i in 1 2 3 4 5 6 7 8 9; do : > spin/.git; rm spin/.git; done; done) & step 1; wait
        for i in $(seq 40); do rm -f wt$i/.git; [ -e wt$i/.git ] || touch lost; done"#;
    let lost = |is_kept| {
        leaves_a_mark(
            &Turns {
                before: PROJECT,
                run: spin.to_owned(),
                meanwhile: &["for i in $(seq 40); do git -C project worktree add -q ../wt$i HEAD; done"],
                after: r#"[ ! -e lost ] || touch "$MARK""#,
            },
            is_kept,
        )
    };
    assert!(lost(false) && !lost(true));
}

/// Files of the tree's own go as they come, also those that lead to what is gone, and copies of work trees.
#[test]
fn git_files_of_the_trees_are_its_own() {
    let world = World::open().with_persistence(true);
    let mut command = world.native_command();
    let before = "git init -q project; git -C project commit -q --allow-empty -m x; git -C project worktree add -q ../theirs HEAD";
    ended(operator(&world, &mut command).args(["sh", "-c", before]));
    let script = r#"set -e; git init -q own; git -C own commit -q --allow-empty -m x; git -C own worktree add -q ../mine HEAD
        rm -rf own; rm mine/.git; rm -rf mine; cp -a theirs copy; rm -rf copy; mkdir a; touch a/.git; mv a b; rm -r b
        mkdir c; echo 'gitdir: ../nowhere' > c/.git; echo 'gitdir: ../there' > c/.git; rm -r c; mkdir there; mkdir d
        echo 'gitdir: ../there' > d/.git; rm -r there; rm -r d; echo done"#;
    let mut command = world.command();
    let ended = ended(operator(&world, &mut command).args(["--", "sh", "-c", script]));
    assert_eq!((ended.stdout.as_str(), ended.status), ("done\n", 0), "{}", ended.stderr);
    assert_eq!(ended.guard_lines(), [""; 0]);
}

/// Without the remote, git takes its name for a path.
#[test]
fn a_remote_that_the_operator_has_changed_is_not_removed() {
    let add = "cd project; git remote add up https://h.invalid/r; cd ..; step 1; cd project";
    let evil = "git init -q --bare up; hook up/hooks pre-receive";
    for (meanwhile, way) in [
        (&["git -C project remote set-url up https://h.invalid/other"], "git remote remove up"),
        (&["git -C project remote set-url --add up https://h.invalid/other"], "git remote remove up"),
        (
            &["git -C project config remote.up.pushUrl https://h.invalid/other"],
            "git config --remove-section remote.up",
        ),
        (
            &["git -C project remote set-url up https://h.invalid/other"],
            "git config user.name u; git remote rename up away",
        ),
        (
            &["git -C project remote set-url up https://h.invalid/other"],
            "git remote set-url up https://h.invalid/r; git remote remove up",
        ),
    ] {
        comes_to_nothing(&Turns {
            before: PROJECT,
            run: format!("{add}; {way}; {evil}"),
            meanwhile,
            after: "cd project; timeout 20 git push -q up HEAD:main || true",
        });
    }
}

/// Its `.git` is not the tree's, and what that leads to runs.
#[test]
fn a_repository_that_git_has_made_in_a_directory_of_the_trees_is_the_operators() {
    let clone = "git clone -q project mine; mkdir -p mine/tools/hooks; rm -rf mine/.git/hooks; ln -s ../tools/hooks mine/.git/hooks";
    for (made, meanwhile, attack, after) in [
        ("mkdir mine", clone, "hook mine/tools/hooks pre-commit", "cd mine"),
        ("mkdir mine", clone, "hook new pre-commit; mv new/pre-commit mine/tools/hooks/", "cd mine"),
        (
            "mkdir mine",
            "git clone -q project mine; git -C mine config core.hooksPath .husky",
            "hook mine/.husky pre-commit",
            "cd mine",
        ),
        // Beside the repository: the directory around both is the tree's.
        (
            "mkdir all",
            "cd all; git clone -q ../project mine; mkdir tools; rm -rf mine/.git/hooks; ln -s ../../tools mine/.git/hooks",
            "sleep 2; hook all/tools pre-commit",
            "cd all/mine",
        ),
        (
            "mkdir mine",
            "git clone -q project mine; mkdir tools; rm -rf mine/.git/hooks; ln -s ../../tools mine/.git/hooks",
            "sleep 2; hook tools pre-commit",
            "cd mine",
        ),
        // While nobody finds what is in it.
        (
            "mkdir mine",
            clone,
            "cd mine/tools/hooks; chmod a-x ../..; hook . pre-commit; chmod u+x ../..",
            "cd mine",
        ),
    ] {
        comes_to_nothing(&Turns {
            before: PROJECT,
            run: format!("{made}; step 1; {attack}"),
            meanwhile: Box::leak(Box::new([meanwhile])),
            after: Box::leak(format!("{after}; git commit -q --allow-empty -m y").into_boxed_str()),
        });
    }
}

/// git reads its user's configuration at each command, and an agent its state at each start.
#[test]
fn what_the_home_names_meanwhile_is_the_operators() {
    for (before, meanwhile, attack, after) in [
        (
            "git init -q project; mkdir project/tools",
            "git config --global core.hooksPath \"$W/work/project/tools\"",
            "hook project/tools pre-commit",
            "cd project; git commit -q --allow-empty -m y",
        ),
        (
            "git init -q project; mkdir project/.gh",
            "git config --global core.hooksPath .gh",
            "hook project/.gh pre-commit",
            "cd project; git commit -q --allow-empty -m y",
        ),
        (
            "git init -q project; mkdir ~/tools",
            "mkdir ~/conf; git config --global include.path ~/conf/git; git config -f ~/conf/git core.hooksPath ~/tools",
            "hook ~/tools pre-commit",
            "cd project; git commit -q --allow-empty -m y",
        ),
        (
            "mkdir ~/tools; echo : > ~/tools/x.sh",
            r#"echo "{\"mcpServers\": {\"x\": {\"command\": \"$HOME/tools/x.sh\"}}}" > ~/.claude.json"#,
            r#"echo 'touch "$MARK"' > ~/tools/x.sh"#,
            "sh ~/tools/x.sh",
        ),
    ] {
        comes_to_nothing(&Turns {
            before,
            // What was found before counts for up to two seconds.
            run: format!("step 1; sleep 3; {attack}"),
            meanwhile: Box::leak(Box::new([meanwhile])),
            after,
        });
    }
}
