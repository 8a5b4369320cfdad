//! Random sequences of runs, moves, links and git commands never change what the operator's next command runs. Whatever
//! the tree writes leaves a mark when it runs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_tests::{World, ended, program_text, rounds};

/// Makes random calls on names that matter and names that do not.
const TREE: &str = r##"
import ctypes, os, random, shutil, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
seed, root = sys.argv[1], sys.argv[2]
random.seed(seed)
HOOK = "#!/bin/sh\ntouch \"$MARK\"\n"
CONFIG = "[core]\n\tbare = false\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch \\\"$MARK\\\"; false\"\n"
BEGIN = ["project", "project", "project/.git", "project/.git", "bare.git", "plain", "project/sub", ".", "new", "away"]
MIDDLE = ["hooks", ".git", "info", "modules", "sub", "worktrees", "refs", "objects", ".vscode", "new", "away"]
LAST = ["pre-commit", "post-update", "config", "HEAD", "attributes", ".envrc", "tasks.json", "hooks", ".git", "refs", "objects", "gone", "x"]
def path():
    parts = [random.choice(BEGIN)] + random.choices(MIDDLE, k=random.choice([0, 0, 1, 1, 2])) + random.choices(LAST, k=random.choice([0, 1, 1]))
    return os.path.join(root, *parts)
def put(name, text):
    with open(name, "w") as file: file.write(text)
    os.chmod(name, 0o755)
def exchange(a, b): libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
def git(*words): subprocess.run(["git", "-c", "protocol.file.allow=always", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
def repository(name):
    git("init", "-q", name)
    os.makedirs(f"{name}/.git/hooks", exist_ok=True)
    put(f"{name}/.git/hooks/pre-commit", HOOK)
CALLS = [
    lambda: os.mkdir(path()), lambda: os.makedirs(path(), exist_ok=True),
    lambda: put(path(), HOOK), lambda: put(path(), HOOK), lambda: put(path(), CONFIG),
    lambda: os.rename(path(), path()), lambda: os.rename(path(), path()), lambda: os.rename(path(), path()),
    lambda: exchange(path(), path()), lambda: os.link(path(), path()), lambda: os.symlink(path(), path()),
    lambda: os.unlink(path()), lambda: os.rmdir(path()), lambda: shutil.rmtree(path()),
    lambda: subprocess.run(["cp", "-r", path(), path()], stderr=subprocess.DEVNULL), lambda: os.chmod(path(), 0o755),
    lambda: repository(path()), lambda: git("clone", "-q", f"{root}/project", path()),
    lambda: os.chdir(path()), lambda: put(random.choice(LAST), HOOK), lambda: os.rename(random.choice(MIDDLE), random.choice(LAST)),
]
for _ in range(int(sys.argv[3])):
    try: random.choice(CALLS)()
    except (OSError, shutil.Error): pass
"##;

/// The repository around the others is where git looks if one of them is damaged.
const OPERATOR: &str = "git init -q . && git init -q project && mkdir project/sub plain && git -C project commit -q --allow-empty -m x \
    && git clone -q --bare project bare.git && git -C project remote add origin ../bare.git";

/// The operator works on, whatever the state of things.
const AFTER: &str = "git -C project status; git -C project commit -q --allow-empty -m x; git -C project push -q origin HEAD; \
    git -C bare.git log; for file in .envrc plain/.envrc project/.envrc; do [ ! -e $file ] || . ./$file; done";

/// Returns the files below a directory, with their content.
fn files(directory: &Path, found: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&path, found),
            Ok(kind) if kind.is_file() => {
                found.insert(path.as_os_str().as_bytes().to_vec(), fs::read(&path).unwrap_or_default());
            }
            _ => {}
        }
    }
}

/// What the operator's repositories run, with its content: of a configuration what git itself may not change.
fn executed(work: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut found = BTreeMap::new();
    for repository in [".git", "project/.git", "bare.git"] {
        let repository = work.join(repository);
        files(&repository.join("hooks"), &mut found);
        for name in ["config", "info/attributes"] {
            if let Ok(content) = fs::read(repository.join(name)) {
                let is_trial = |line: &&[u8]| line.trim_ascii().starts_with(b"filemode = ");
                let lines: Vec<&[u8]> =
                    content.split(|byte| *byte == b'\n').filter(|line| !is_trial(line)).collect();
                found.insert(repository.join(name).as_os_str().as_bytes().to_vec(), lines.join(&b'\n'));
            }
        }
    }
    found
}

/// Plays three runs, which begin in different places, and returns whether the operator then ran what the tree wrote.
fn leaves_a_mark(seed: usize, is_kept: bool) -> bool {
    let made = if seed.is_multiple_of(2) { World::open } else { World::floored };
    let world = made().with_persistence(is_kept);
    world.write("home/tree.py", TREE);
    let mark = world.root().join("mark");
    let environment = |command: &mut std::process::Command| {
        command.env("MARK", &mark).env("GIT_CONFIG_NOSYSTEM", "1").env_remove("GIT_CONFIG_GLOBAL");
        for name in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{name}_NAME"), "u").env(format!("GIT_{name}_EMAIL"), "u@example.org");
        }
    };
    let native = |line: &str| {
        let mut command = world.native_command();
        environment(&mut command);
        ended(command.args(["sh", "-c", line]))
    };
    let prepared = native(OPERATOR);
    assert_eq!(prepared.status, 0, "{}", prepared.stderr);
    let before = executed(&world.work());
    for (run, directory) in ["work", "work/project/sub", ""].into_iter().enumerate() {
        let directory = world.root().join(directory);
        let mut command = world.command();
        environment(&mut command);
        command.current_dir(if directory.is_dir() { directory } else { world.root() });
        command.args(["-q", "--", &program_text("python3")]).arg(world.root().join("home/tree.py"));
        let _ = ended(command.arg(format!("{seed}-{run}")).arg(world.work()).arg("60"));
    }
    if is_kept {
        let after = executed(&world.work());
        let shown = |path: &Vec<u8>| String::from_utf8_lossy(path).into_owned();
        let changed: Vec<String> = after
            .iter()
            .filter(|(path, content)| before.get(*path) != Some(content))
            .map(|(path, _)| shown(path))
            .collect();
        assert!(changed.is_empty(), "seed {seed}: the tree changed {changed:?}");
    }
    native(AFTER);
    mark.exists()
}

#[test]
fn no_sequence_changes_what_the_operator_runs() {
    let first = std::env::var("GUARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = match first {
        Some(seed) => seed..seed + 1,
        None => 0..rounds(6, 400),
    };
    for seed in seeds.clone() {
        assert!(!leaves_a_mark(seed, true), "seed {seed}: the operator ran what the tree wrote");
    }
    assert!(
        first.is_some() || seeds.into_iter().any(|seed| leaves_a_mark(seed, false)),
        "the attacks do not work"
    );
}
