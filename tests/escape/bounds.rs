//! An earlier run leaves so much that the guard does not read all of it. What is the operator's is read all the same.

use guard_tests::{World, ended};

use crate::planted::{Planted, each_comes_to_nothing, leaked, one_run};

/// Puts 4,200 keys that run nothing before a repository's own.
const FILL: &str = r#"python3 -c '
import os
path = "g/repo/.git/config"
keys = "".join("[submodule \"s%d\"]\n\tupdate = none\n" % number for number in range(4200))
text = keys + open(path).read()
with open(path + ".lock", "x") as lock: lock.write(text)
os.rename(path + ".lock", path)'; "#;

#[test]
fn keys_that_run_nothing_hide_no_others() {
    for (key, value, attack, after) in [
        ("core.hooksPath", "hooks", "hook g/hooks", "git commit -q --allow-empty -m x"),
        (
            "include.path",
            "conf",
            r#"hook g/x; git config -f g/conf core.hooksPath "$PWD/g/x""#,
            "git commit -q --allow-empty -m x",
        ),
        (
            "core.fsmonitor",
            "f",
            r##"printf '#!/bin/sh\ntouch "$MARK"\n' > g/f; chmod +x g/f"##,
            "git status >&2",
        ),
    ] {
        let before =
            leaked(format!("mkdir g; git init -q g/repo; git -C g/repo config {key} \"$W/work/g/{value}\""));
        let runs = Box::leak(Box::new([("work", FILL), ("work", attack)]));
        each_comes_to_nothing(&Planted { before, runs, after: leaked(format!("cd g/repo && {after}")) });
    }
}

#[test]
fn settings_of_the_trees_repositories_hide_none_of_the_operators() {
    const MANY: &str = r#"python3 -c '
import os
for number in range(40):
    os.makedirs("e%02d/.git" % number)
    with open("e%02d/.mcp.json" % number, "w") as file: file.write("{\"a\": [" + "0," * 150000 + "0]}")'"#;
    let before = r##"mkdir -p g/zz g/tools; git init -q g/zz; printf '#!/bin/sh\n' > g/tools/srv.sh; chmod +x g/tools/srv.sh
        echo '{"mcpServers": {"x": {"command": "../tools/srv.sh"}}}' > g/zz/.mcp.json"##;
    let runs = &[("work/g", MANY), ("work/g", r#"echo 'touch "$MARK"' >> tools/srv.sh"#)];
    each_comes_to_nothing(&Planted { before, runs, after: "g/tools/srv.sh" });
}

#[test]
fn names_in_a_project_hide_none_of_its_settings() {
    let before = r##"mkdir -p g/proj ~/far; printf '#!/bin/sh\n' > ~/far/run.sh; chmod +x ~/far/run.sh
        printf '{"mcpServers": {"x": {"command": "%s/far/run.sh"}}}' "$HOME" > g/proj/.mcp.json"##;
    const MANY: &str = "python3 -c 'for number in range(4200): open(str(number), \"w\")'";
    let runs = &[("work/g/proj", MANY), ("work/g/proj", r#"echo 'touch "$MARK"' >> ~/far/run.sh"#)];
    each_comes_to_nothing(&Planted { before, runs, after: "~/far/run.sh" });
}

/// uv's cache of sources has an empty `.git`, so that git looks for no repository around it.
const CACHE: &str = "mkdir -p c/sdists-v9/pypi; : > c/sdists-v9/.git";

#[test]
fn the_mark_in_uvs_cache_stays_empty() {
    let made = "git init -q --bare ev; git -C ev config core.bare false
        git -C ev config core.fsmonitor 'touch \"$MARK\"; false'; ";
    for put in ["cat own >", "cat own >>", "cp own", "ln -f own", "mv own", "ln -sf ../../own"] {
        let attack = format!("{made} echo \"gitdir: $PWD/ev\" > own; {put} c/sdists-v9/.git");
        each_comes_to_nothing(&one_run(CACHE, attack, "cd c/sdists-v9/pypi && git status >&2"));
    }
}

#[test]
fn uv_opens_its_mark_at_each_start() {
    let world = World::open().with_persistence(true);
    world.write("work/c/sdists-v9/.git", "");
    let open = "import os
for flags in [os.O_WRONLY | os.O_CREAT, os.O_RDWR | os.O_CREAT]:
    file = os.open('c/sdists-v9/.git', flags, 0o666)
    try: os.write(file, b'x')
    except OSError as error: print(error.errno)";
    let ended = ended(world.command().args(["--", "python3", "-c", open]));
    assert_eq!(ended.stdout, "9\n9\n", "{}", ended.stderr);
    assert_eq!(world.read("work/c/sdists-v9/.git").as_deref(), Some(""));
}
